import { Inject, Injectable } from '@nestjs/common';
import { START } from '#event-store';
import type { EventStore } from '#event-store';
import type { Clock, Millis, Timers } from '#kernel';
import { ProblemException } from '#platform/http';
import { CLOCK, EVENT_STORE, TIMERS } from '#platform/ports';
import { decisionPoints } from '#scheduling';
import type { DecisionRange, DerivationPoint } from '#scheduling';
import { inTurns } from '../explain/in-turns.js';

/** How far a derivation is; `fraction` is 0…1 of the log. */
export interface AuditProgress {
  readonly position: string;
  readonly fraction: number;
  /** Looked at so far. */
  readonly decisions: number;
}

/** What whoever asked is told of while it goes on. Throws `ReaderLeft` to end it. */
export interface AuditReader {
  progress(progress: AuditProgress): Promise<void>;
}

/** Nobody listens any more. */
export class ReaderLeft extends Error {
  override readonly name = 'ReaderLeft';
}

/** The log is folded from its start each time, which takes memory and one core: one at a time in a process. */
const MOST_AT_ONCE = 1;
const TELL_EVERY: Millis = 250;

/** Goes through recorded decisions beside the work of the process. */
@Injectable()
export class DecisionAudit {
  private running = 0;

  constructor(
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(TIMERS) private readonly timers: Timers,
  ) {}

  /** Refuses when as many derivations run as may; to be asked before an answer is begun. */
  checkFree(): void {
    if (this.running < MOST_AT_ONCE) return;
    throw new ProblemException('AUDIT_BUSY', 'decisions are being derived already, one request at a time');
  }

  /** Calls `look` at each decision, and each change of a job's nodes, of the range with all that it was made from. */
  async run(
    range: DecisionRange,
    look: (point: DerivationPoint) => Promise<void> | undefined,
    reader: AuditReader,
  ): Promise<void> {
    this.checkFree();
    this.running += 1;
    try {
      const pace = await this.pace(range, reader);
      for await (const point of decisionPoints(this.store, range, pace.seen)) {
        pace.decisions += 1;
        await look(point);
      }
    } finally {
      this.running -= 1;
    }
  }

  /** Gives the process its turns, and tells how far it is. A second reading begins again at the start, and tells nothing. */
  private async pace({ upTo }: DecisionRange, reader: AuditReader) {
    const head = upTo ?? (await this.store.head());
    const turns = inTurns(this.clock, this.timers);
    let [told, furthest] = [-Infinity, START];
    const pace = {
      decisions: 0,
      seen: (position: bigint): Promise<void> | undefined =>
        turns()?.then(async () => {
          const now = this.clock.now();
          if (position <= furthest || now - told < TELL_EVERY) return;
          [told, furthest] = [now, position];
          const fraction = head <= 0n ? 1 : Math.min(1, Number(position) / Number(head));
          await reader.progress({ position: String(position), fraction, decisions: pace.decisions });
        }),
    };
    return pace;
  }
}
