import type { RecordedEvent } from '#event-store';

interface Event {
  readonly type: string;
  readonly data: object;
}

/** Positions are never consecutive. */
const DISTANCE = 137n;

/** A log in which each event follows the one before, as the store would have recorded it. */
export const recordedLog = (entries: readonly (readonly [stream: string, event: Event])[]): RecordedEvent[] => {
  const lengths = new Map<string, bigint>();
  return entries.map(([stream, { type, data }], index) => {
    const revision = lengths.get(stream) ?? 0n;
    lengths.set(stream, revision + 1n);
    const id = `00000000-0000-7000-8000-${index.toString(16).padStart(12, '0')}`;
    const metadata = { schemaVersion: 1, actor: 'ana' };
    const position = BigInt(index + 1) * DISTANCE;
    return { id, type, data, metadata, stream, revision, position, recordedAt: 1_764_000_000_000 + index };
  });
};
