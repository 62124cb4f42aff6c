import { encodeEvents } from '../limits.js';
import { EventStoreUnavailable } from '../port.js';
import { ConnectionClosed } from './connection.js';
import { explain } from './explain.js';
import { Patience } from './patience.js';
import { Slots } from './slots.js';
import type { Millis, Random, Timers } from '#kernel';
import type { EncodedEvent } from '../limits.js';
import type { AppendResult, ExpectedRevision, NewEvent } from '../port.js';
import type { BatchStream } from './batch-stream.js';
import type { Reader } from './reader.js';

export interface AppenderOptions {
  readonly timers: Timers;
  readonly random: Random;
  readonly timeout: Millis;
  readonly maxInFlight: number;
}

/** A try is given up and repeated after this share of the whole timeout. */
const TRIES_PER_TIMEOUT = 4;

/**
 * Appends until the outcome is known. Whatever goes wrong with a try leaves it open whether the events are stored, so
 * it is repeated with the same ids at the same explicit revision: the server then recognises what it has already.
 */
export class Appender {
  private readonly slots: Slots;
  /** The last append at the end of each stream that has one under way. */
  private readonly ends = new Map<string, Promise<AppendResult>>();

  constructor(
    private readonly batches: BatchStream,
    private readonly reader: Reader,
    private readonly options: AppenderOptions,
  ) {
    this.slots = new Slots(options.maxInFlight, options.timers);
  }

  async append(stream: string, events: readonly NewEvent[], expected: ExpectedRevision): Promise<AppendResult> {
    const encoded = encodeEvents(events);
    if (expected !== 'any')
      return this.inTurn(stream, (patience) => this.appendAt(stream, encoded, expected, patience));
    return this.afterOthers(stream, () =>
      this.inTurn(stream, (patience) => this.appendAtEnd(stream, encoded, patience)),
    );
  }

  /** When one of the places is free, with all the patience from then on. */
  private async inTurn(stream: string, act: (patience: Patience) => Promise<AppendResult>): Promise<AppendResult> {
    const { timers, random, timeout } = this.options;
    if (!(await this.slots.take(timeout))) {
      throw new EventStoreUnavailable(`the append to ${stream} waited ${timeout} ms for its turn and was not sent`);
    }
    const patience = new Patience(timers, random, timeout);
    try {
      return await act(patience);
    } finally {
      this.slots.giveBack(!patience.exhausted);
      patience.end();
    }
  }

  /** Appends at the end of one stream go one after the other, or each would conflict with all its neighbours. */
  private async afterOthers(stream: string, act: () => Promise<AppendResult>): Promise<AppendResult> {
    const before = this.ends.get(stream);
    const mine = before ? before.then(act, act) : act();
    this.ends.set(stream, mine);
    try {
      return await mine;
    } finally {
      if (this.ends.get(stream) === mine) this.ends.delete(stream);
    }
  }

  /** `any` becomes the revision that the stream has now: only an explicit revision makes a retry safe. */
  private async appendAtEnd(
    stream: string,
    events: readonly EncodedEvent[],
    patience: Patience,
  ): Promise<AppendResult> {
    for (;;) {
      const end = await this.reader.lastRevision(stream);
      const result = await this.appendAt(stream, events, end, patience);
      if (result.kind === 'appended') return result;
      // A conflict is a certain answer, and another writer's progress.
      patience.renew();
    }
  }

  private async appendAt(
    stream: string,
    events: readonly EncodedEvent[],
    expected: 'none' | bigint,
    patience: Patience,
  ): Promise<AppendResult> {
    let uncertain = false;
    for (;;) {
      const outcome = await this.batches.send({ stream, events, expected }, this.options.timeout / TRIES_PER_TIMEOUT);
      switch (outcome.kind) {
        case 'stored': {
          const { revision, position } = outcome;
          if (position !== undefined && !uncertain) return { kind: 'appended', revision, position };
          // The answer to a retry may tell another place than the last event's.
          return (await this.storedPlace(stream, events, expected)) ?? gone(stream);
        }
        case 'conflict':
          return (await this.storedPlace(stream, events, expected)) ?? { kind: 'conflict', actual: outcome.actual };
        case 'refused':
          throw outcome.error;
        case 'unknown': {
          uncertain = true;
          if (outcome.error instanceof ConnectionClosed) throw outcome.error;
          await patience.pause();
          if (patience.exhausted) throw unavailable(stream, this.options.timeout, outcome.error);
        }
      }
    }
  }

  /** Our own events' place, if they are what is stored after the expected revision. */
  private async storedPlace(
    stream: string,
    events: readonly EncodedEvent[],
    expected: 'none' | bigint,
  ): Promise<Extract<AppendResult, { kind: 'appended' }> | undefined> {
    const from = expected === 'none' ? 0n : expected + 1n;
    let index = 0;
    for await (const stored of this.reader.stream(stream, from, events.length)) {
      if (stored.id !== events[index]?.id || stored.revision !== from + BigInt(index)) return undefined;
      index += 1;
      if (index === events.length) return { kind: 'appended', revision: stored.revision, position: stored.position };
    }
    return undefined;
  }
}

const unavailable = (stream: string, timeout: Millis, error: Error): EventStoreUnavailable =>
  new EventStoreUnavailable(
    `no certain answer to an append to ${stream} within ${timeout} ms, it may be stored: ${explain(error)}`,
    { cause: error },
  );

const gone = (stream: string): never => {
  throw new EventStoreUnavailable(`the append to ${stream} is stored, but its events cannot be read back`);
};
