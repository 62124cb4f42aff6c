import { EventTooLarge, START } from './port.js';
import { StateCache } from './state-cache.js';
import type { Decider, Ids, Rejection } from '#kernel';
import type { EventMetadata, EventStore, NewEvent, Position, RecordedEvent } from './port.js';
import type { Known } from './state-cache.js';

/** A decider whose events live in a stream. */
export interface StreamDecider<C, E extends StreamEvent, S> extends Decider<C, E, S> {
  /** The schema version that events of this type are written with. Default 1. */
  readonly schemaVersion?: (type: string) => number;
  /** Makes today's event of a recorded one. Default: its type and data as they are. */
  readonly upcast?: (recorded: RecordedEvent) => E;
}

export interface StreamEvent {
  readonly type: string;
  readonly data: object;
}

export interface CommandContext {
  /** The account (or `system:<part>`, `node:<id>`) that acts. */
  readonly actor: string;
  readonly correlationId?: string;
  readonly causationId?: string;
  /** The revision that the caller saw last (If-Match); the command is refused when the stream has another by its turn. */
  readonly expected?: bigint;
}

/**
 * The outcome of a command. `revision` is the stream's as of the command's turn, -1n for a stream without events;
 * `position` is at or after the command's own events, so waiting for it shows them.
 */
export type Handled<S> =
  | {
      readonly kind: 'done';
      readonly state: S;
      readonly revision: bigint;
      readonly position: Position;
      readonly events: number;
    }
  | {
      readonly kind: 'rejected';
      readonly rejection: Rejection;
      readonly state: S;
      readonly revision: bigint | undefined;
    }
  | { readonly kind: 'revision-mismatch'; readonly actual: bigint | 'none' };

export interface CommandHandlerOptions {
  /** How many streams' states are kept. Default 10,000. */
  readonly cacheSize?: number;
  /** How many conflicts in a row one batch bears before it throws `ContendedStream`. Default 10. */
  readonly maxConflicts?: number;
}

/** Other writers won every time; nothing of the command is stored. */
export class ContendedStream extends Error {
  override readonly name = 'ContendedStream';
  constructor(
    readonly stream: string,
    readonly conflicts: number,
  ) {
    super(`other writers won ${conflicts} times in a row on ${stream}`);
  }
}

/** Commands decided together at most; bounds the size of one append and the work lost in a conflict. */
const MAX_BATCH = 128;

/**
 * The one way from a command to stored events: state, decide, append at the revision that the decision saw.
 *
 * Commands on one stream run one after the other within this process. Those that arrive while an append is under way
 * are decided together afterwards, each on the state that the one before it left, and stored in one append; each gets
 * its own answer, and one that is rejected does not stop the others. Nothing is answered from a state that may be old:
 * a batch that stores something is proved current by its append, and one that does not is by a read.
 *
 * A stream's queue has two modes. *Idle*: no entry. *Running* starts with the first command and takes batch after batch
 * until none is left.
 */
export class CommandHandler<C, E extends StreamEvent, S> {
  private readonly cache: StateCache<S>;
  private readonly queues = new Map<string, Pending<C, S>[]>();
  private readonly maxConflicts: number;

  constructor(
    private readonly decider: StreamDecider<C, E, S>,
    private readonly store: EventStore,
    private readonly ids: Ids,
    options: CommandHandlerOptions = {},
  ) {
    this.cache = new StateCache(options.cacheSize ?? 10_000);
    this.maxConflicts = options.maxConflicts ?? 10;
  }

  /**
   * Decides and stores. Rejects with `EventStoreUnavailable` when the outcome is unknown, `EventTooLarge` when the
   * command's events are over the limit, `ContendedStream`, or what the decider threw.
   */
  handle(stream: string, command: C, context: CommandContext): Promise<Handled<S>> {
    return new Promise((resolve, reject) => {
      const pending = { command, context, resolve, reject };
      const queue = this.queues.get(stream);
      if (queue) queue.push(pending);
      else {
        this.queues.set(stream, [pending]);
        void this.run(stream);
      }
    });
  }

  /** The stream's present state, read on from the one that is kept. */
  async load(stream: string): Promise<{ state: S; revision: bigint | undefined }> {
    const { state, revision } = await this.readOn(stream, this.cache.get(stream));
    return { state, revision };
  }

  private async run(stream: string): Promise<void> {
    // Commands given in one go are one batch.
    await Promise.resolve();
    const queue = this.queues.get(stream) ?? [];
    while (queue.length > 0) await this.settle(stream, queue.splice(0, MAX_BATCH));
    this.queues.delete(stream);
  }

  /** Every command of the batch has its answer when this returns; it never rejects. */
  private async settle(stream: string, batch: readonly Pending<C, S>[]): Promise<void> {
    try {
      await this.turn(stream, batch);
    } catch (error) {
      this.cache.drop(stream);
      if (!(error instanceof EventTooLarge) || batch.length === 1) {
        for (const { reject } of batch) reject(error);
        return;
      }
      // Only together are they too large, or one of them is: that one alone must fail.
      const middle = batch.length >>> 1;
      await this.settle(stream, batch.slice(0, middle));
      await this.settle(stream, batch.slice(middle));
    }
  }

  private async turn(stream: string, batch: readonly Pending<C, S>[]): Promise<void> {
    // A stream that is not kept is taken for a new one first: most are, and the append says so if not.
    let known = this.cache.get(stream) ?? this.nothing();
    let current = false;
    for (let conflicts = 0; conflicts <= this.maxConflicts;) {
      const plan = this.plan(batch, known);
      if (plan.events.length === 0) {
        if (current) {
          plan.answer(known.position);
          return;
        }
        known = await this.readOn(stream, known);
        current = true;
        continue;
      }
      const result = await this.store.append(stream, plan.events, known.revision ?? 'none');
      if (result.kind === 'appended') {
        this.cache.put(stream, { state: plan.state, revision: result.revision, position: result.position });
        plan.answer(result.position);
        return;
      }
      conflicts += 1;
      known = await this.readOn(stream, known);
      current = true;
    }
    throw new ContendedStream(stream, this.maxConflicts + 1);
  }

  /** Decides the batch on a known state, in order, each command on what the ones before it left. */
  private plan(batch: readonly Pending<C, S>[], known: Known<S>): Plan<S> {
    const events: NewEvent[] = [];
    const answers: ((position: Position) => void)[] = [];
    let { state, revision = -1n } = known;
    for (const pending of batch) {
      const outcome = this.decide(pending, state, revision);
      if (outcome.kind === 'done') {
        events.push(...outcome.events);
        state = outcome.state;
        revision += BigInt(outcome.events.length);
      }
      answers.push(answerOf(pending, outcome, state, revision));
    }
    return { events, state, answer: (position) => answers.forEach((answer) => answer(position)) };
  }

  /** One command alone: a fault in it fails it and not its neighbours. */
  private decide({ command, context }: Pending<C, S>, before: S, revision: bigint): Outcome<S> {
    if (context.expected !== undefined && context.expected !== revision) return { kind: 'mismatch' };
    try {
      const decision = this.decider.decide(command, before);
      if (decision.kind === 'rejected') return decision;
      let state = before;
      for (const event of decision.events) state = this.decider.evolve(state, event);
      return { kind: 'done', state, events: decision.events.map((event) => this.toStore(event, context)) };
    } catch (error) {
      return { kind: 'fault', error };
    }
  }

  private toStore({ type, data }: E, context: CommandContext): NewEvent {
    const metadata: EventMetadata = {
      schemaVersion: this.decider.schemaVersion?.(type) ?? 1,
      actor: context.actor,
      ...(context.correlationId === undefined ? {} : { $correlationId: context.correlationId }),
      ...(context.causationId === undefined ? {} : { $causationId: context.causationId }),
    };
    return { id: this.ids.next(), type, data, metadata };
  }

  private nothing(): Known<S> {
    return { state: this.decider.initialState(), revision: undefined, position: START };
  }

  /** Folds what was stored after the known revision. Starts over when the stream was truncated beyond it. */
  private async readOn(stream: string, from: Known<S> | undefined): Promise<Known<S>> {
    let known = from ?? this.nothing();
    const next = (known.revision ?? -1n) + 1n;
    for await (const recorded of this.store.readStream(stream, { from: next })) {
      if (from?.revision !== undefined && known === from && recorded.revision !== next) {
        return this.readOn(stream, undefined);
      }
      const event = this.decider.upcast?.(recorded) ?? (recorded as StreamEvent as E);
      known = {
        state: this.decider.evolve(known.state, event),
        revision: recorded.revision,
        position: recorded.position,
      };
    }
    this.cache.put(stream, known);
    return known;
  }
}

interface Pending<C, S> {
  readonly command: C;
  readonly context: CommandContext;
  readonly resolve: (handled: Handled<S>) => void;
  readonly reject: (error: unknown) => void;
}

/** What a batch comes to on a given state: the events to store, the state after them, and how to tell the callers. */
interface Plan<S> {
  readonly events: readonly NewEvent[];
  readonly state: S;
  readonly answer: (position: Position) => void;
}

type Outcome<S> =
  | { readonly kind: 'done'; readonly state: S; readonly events: readonly NewEvent[] }
  | { readonly kind: 'rejected'; readonly rejection: Rejection }
  | { readonly kind: 'mismatch' }
  | { readonly kind: 'fault'; readonly error: unknown };

/** The answer to one command; held back until its batch is stored, since it may rest on its neighbours' events. */
const answerOf = <C, S>(
  { resolve, reject }: Pending<C, S>,
  outcome: Outcome<S>,
  state: S,
  revision: bigint,
): ((position: Position) => void) => {
  switch (outcome.kind) {
    case 'done':
      return (position) => resolve({ kind: 'done', state, revision, position, events: outcome.events.length });
    case 'rejected':
      return () =>
        resolve({
          kind: 'rejected',
          rejection: outcome.rejection,
          state,
          revision: revision < 0n ? undefined : revision,
        });
    case 'mismatch':
      return () => resolve({ kind: 'revision-mismatch', actual: revision < 0n ? 'none' : revision });
    case 'fault':
      return () => reject(outcome.error);
  }
};
