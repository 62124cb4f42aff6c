import type { CacheRequest } from '#contracts';
import type { Random, Timer, Timers } from '#kernel';
import type { Logger } from 'pino';
import { messageOf } from '../client/errors.js';
import { isTransient, Refused } from '../client/faults.js';
import type { Http } from '../client/http.js';
import { backoff } from '../client/wait.js';

/** As the protocol has it. */
const LEAST = 2 ** 20;
const MOST = 512;
/** How long changes are gathered: the inputs of one task come shortly one after another. */
const GATHER = 2_000;
/** How often the same is told again, in case an old report arrived after a newer one. */
const REPEAT = 600_000;
/** How long it is quiet after a report. What is told is recorded for ever, so it is told seldom. */
const QUIET = 60_000;

/**
 * Tells the control plane which inputs the node keeps, so that work which needs them comes here.
 *
 * Modes: *idle* while what was told is true, which is told again every ten minutes; *gathering* for 2 s after a change, or for the rest of a minute since the last
 * report; *sending*; *waiting*, a growing pause after no answer or a refusal for now. Each report tells everything, so one
 * that got lost is made up for by the next. It ends with `stop`, or with a control plane that takes no such report.
 */
export class CacheReport {
  private timer: Timer | undefined;
  private told: string | undefined;
  private sending = false;
  private again = false;
  private quiet = false;
  private resting = false;
  private failures = 0;
  private stopped = false;

  constructor(
    private readonly nodeId: string,
    private readonly held: (least: number, most: number) => readonly string[],
    private readonly http: Pick<Http, 'json'>,
    private readonly timers: Timers,
    private readonly random: Random,
    private readonly log: Logger,
  ) {}

  /** What is kept may have changed; to be called once at the start, for nobody knows what was told before. */
  changed(): void {
    if (this.sending || this.quiet) this.again = true;
    else if (!this.timer || this.resting) this.sendIn(GATHER);
  }

  stop(): void {
    this.stopped = true;
    this.timer?.cancel();
  }

  private sendIn(delay: number): void {
    if (this.stopped) return;
    this.timer?.cancel();
    this.resting = false;
    this.timer = this.timers.after(delay, () => void this.send());
  }

  private async send(repeated = false): Promise<void> {
    this.timer = undefined;
    this.resting = false;
    this.again = false;
    const inputs = this.held(LEAST, MOST);
    const telling = [...inputs].sort().join();
    if (telling === this.told && !repeated) {
      this.rest();
      return;
    }
    this.sending = true;
    try {
      await this.http.json('PUT', `/nodes/${this.nodeId}/cache`, { body: { inputs } satisfies CacheRequest });
      this.told = telling;
      this.failures = 0;
      this.beQuiet();
    } catch (error) {
      this.recover(error);
    } finally {
      this.sending = false;
    }
  }

  private beQuiet(): void {
    this.quiet = true;
    this.timer = this.timers.after(QUIET, () => {
      this.quiet = false;
      if (this.again) void this.send();
      else this.rest();
    });
  }

  private rest(): void {
    this.timer = this.timers.after(REPEAT, () => void this.send(true));
    this.resting = true;
  }

  private recover(error: unknown): void {
    if (error instanceof Refused && !isTransient(error)) {
      // One of before there was such a report: it counts what ran here.
      this.log.info({ reason: messageOf(error) }, 'the control plane does not want to know what is cached');
      return this.stop();
    }
    this.failures += 1;
    this.sendIn(backoff(this.failures, this.random, QUIET));
  }
}
