import { encodedSize } from '../limits.js';
import { START } from '../port.js';
import type { EncodedEvent } from '../limits.js';
import type { AppendResult, EventMetadata, ExpectedRevision, Position, RecordedEvent } from '../port.js';

/** Bytes that a record takes besides its content. Positions count bytes, as in the real log, so they are never consecutive. */
const RECORD_OVERHEAD = 96n;

/**
 * The log that memory stores share: what survives when one of them is closed or crashes. Appends take effect at once
 * and in the order they are called.
 */
export class MemoryLog {
  readonly events: RecordedEvent[] = [];
  private readonly streams = new Map<string, RecordedEvent[]>();
  private readonly placeOf = new Map<string, RecordedEvent[]>();
  private readonly watchers = new Set<() => void>();
  private end: Position = 0n;

  /** The position of the newest event, or START. */
  head(): Position {
    return this.events.at(-1)?.position ?? START;
  }

  stream(name: string): readonly RecordedEvent[] {
    return this.streams.get(name) ?? [];
  }

  /** The index in `events` of the first event after a position. */
  indexAfter(position: Position): number {
    let low = 0;
    let high = this.events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.events[middle] as RecordedEvent).position <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Calls `run` after each append until the answer is called. */
  watch(run: () => void): () => void {
    this.watchers.add(run);
    return () => void this.watchers.delete(run);
  }

  append(
    stream: string,
    events: readonly EncodedEvent[],
    expected: ExpectedRevision,
    recordedAt: number,
  ): AppendResult {
    const stored = this.stream(stream);
    const actual = BigInt(stored.length) - 1n;
    const conflict = (): AppendResult => ({ kind: 'conflict', actual: actual < 0n ? 'none' : actual });
    const verdict = expected === 'any' ? this.checkAny(stream, events) : checkExplicit(stored, events, expected);
    if (verdict === 'conflict') return conflict();
    if (verdict === 'write') this.write(stream, events, recordedAt);
    const last = verdict === 'write' ? this.events.at(-1) : verdict;
    if (!last) throw new Error('an append must have a last event');
    return { kind: 'appended', revision: last.revision, position: last.position };
  }

  /** Under `any` the ids alone tell a retry: all stored already is a retry, some of them is refused, none is new. */
  private checkAny(stream: string, events: readonly EncodedEvent[]): Verdict {
    const found = events.map(({ id }) => this.placeOf.get(id)?.find((place) => place.stream === stream));
    const last = found.at(-1);
    if (found[0] === undefined) return 'write';
    return found.includes(undefined) || last === undefined ? 'conflict' : last;
  }

  private write(stream: string, events: readonly EncodedEvent[], recordedAt: number): void {
    const stored = this.streams.get(stream) ?? [];
    this.streams.set(stream, stored);
    for (const event of events) {
      const recorded = this.record(stream, BigInt(stored.length), event, recordedAt);
      stored.push(recorded);
      this.events.push(recorded);
      const places = this.placeOf.get(event.id);
      if (places) places.push(recorded);
      else this.placeOf.set(event.id, [recorded]);
    }
    for (const run of [...this.watchers]) run();
  }

  private record(stream: string, revision: bigint, event: EncodedEvent, recordedAt: number): RecordedEvent {
    const position = this.end;
    this.end += RECORD_OVERHEAD + BigInt(encodedSize(event) + stream.length);
    const data = freeze(JSON.parse(event.data) as object);
    const metadata = freeze(JSON.parse(event.metadata) as EventMetadata);
    return Object.freeze({ id: event.id, type: event.type, data, metadata, stream, revision, position, recordedAt });
  }
}

/** Write it, refuse it, or it is stored already (then its last event). */
type Verdict = 'write' | 'conflict' | RecordedEvent;

/** The server's rule for an explicit revision: at the head ids are not looked at; below it they tell a retry. */
const checkExplicit = (
  stored: readonly RecordedEvent[],
  events: readonly EncodedEvent[],
  expected: 'none' | bigint,
): Verdict => {
  const first = expected === 'none' ? 0 : Number(expected) + 1;
  if (first === stored.length) return 'write';
  if (first > stored.length) return 'conflict';
  const matches = events.every(({ id }, index) => stored[first + index]?.id === id);
  return matches ? (stored[first + events.length - 1] as RecordedEvent) : 'conflict';
};

/** Facts do not change: a reader that writes into an event is a fault, and shows at once. */
const freeze = <Value>(value: Value): Value => {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) freeze(inner);
  }
  return value;
};
