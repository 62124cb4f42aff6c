import type { Report, ReportAnswer } from '#contracts';
import type { Random, Timers } from '#kernel';
import { messageOf } from '../client/errors.js';
import type { Logger } from 'pino';
import { isTransient } from '../client/faults.js';
import type { Http } from '../client/http.js';
import { backoff, wait } from '../client/wait.js';

/**
 * What became of a report: taken; answered as no longer current (`rejected`); refused as nonsense (`refused`); or `dropped`
 * here, unsent or replaced.
 */
export type ReportOutcome =
  { readonly kind: 'accepted' | 'dropped' } | { readonly kind: 'rejected' | 'refused'; readonly reason: string };

interface Waiting {
  report: Report;
  readonly settle: (outcome: ReportOutcome) => void;
}

const LARGEST_BATCH = 200;
const DROPPED: ReportOutcome = { kind: 'dropped' };

/**
 * The one way out for reports: first in, first out, one request at a time, so that an execution's reports arrive in order.
 *
 * Modes: *idle* while nothing waits; *sending* takes what waits, alone to its own address or together as a batch;
 * *waiting* is a growing pause after no answer or a server fault, cut short by `kick` when another request got through. A
 * batch that is refused as a whole is sent again one by one, so that one bad report takes no other with it. It ends with
 * `stop`; what still waits then is in the journal.
 */
export class ReportQueue {
  private waiting: Waiting[] = [];
  private readonly stopped = new AbortController();
  private pause = new AbortController();
  private pumping: Promise<void> | undefined;

  constructor(
    private readonly nodeId: string,
    private readonly http: Http,
    private readonly timers: Timers,
    private readonly random: Random,
    private readonly log: Logger,
    /** Hears of each execution that the server does not want to hear of any more. */
    private readonly rejected: (executionId: string, reason: string) => void,
  ) {}

  /** Resolves once the server answered. A progress report takes the place of one that still waits at the end. */
  send(report: Report): Promise<ReportOutcome> {
    if (this.stopped.signal.aborted) return Promise.resolve(DROPPED);
    return new Promise((settle) => {
      const last = this.waiting.findLast(({ report: { executionId } }) => executionId === report.executionId);
      if (report.type === 'progress' && last?.report.type === 'progress') {
        last.report = report;
        return settle(DROPPED);
      }
      this.waiting.push({ report, settle });
      this.pumping ??= this.pump();
    });
  }

  /** Drops what waits of one execution. */
  forget(executionId: string): void {
    const gone = this.waiting.filter(({ report }) => report.executionId === executionId);
    this.waiting = this.waiting.filter(({ report }) => report.executionId !== executionId);
    for (const { settle } of gone) settle(DROPPED);
  }

  /** The server can be reached again: try now. */
  kick(): void {
    this.pause.abort();
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    while (this.pumping) await this.pumping;
  }

  stop(): void {
    this.stopped.abort();
    this.pause.abort();
    this.dropAll();
  }

  private hasStopped(): boolean {
    return this.stopped.signal.aborted;
  }

  private dropAll(): void {
    for (const { settle } of this.waiting.splice(0)) settle(DROPPED);
  }

  private async pump(): Promise<void> {
    await Promise.resolve();
    for (let failures = 0; this.waiting.length > 0 && !this.hasStopped();) {
      const batch = this.waiting.splice(0, LARGEST_BATCH);
      try {
        await this.deliver(batch);
        failures = 0;
      } catch (error) {
        this.waiting.unshift(...batch);
        if (this.hasStopped()) break;
        this.log.warn({ waiting: this.waiting.length, reason: messageOf(error) }, 'reports wait for the server');
        this.pause = new AbortController();
        await wait(this.timers, backoff(failures, this.random, 5_000), this.pause.signal);
        failures += 1;
      }
    }
    if (this.hasStopped()) this.dropAll();
    this.pumping = undefined;
  }

  /** Removes from `batch` what was settled; throws when the rest should be tried again later. */
  private async deliver(batch: Waiting[]): Promise<void> {
    if (batch.length > 1) {
      try {
        const body = batch.map(({ report }) => report);
        const answers = await this.http.json<ReportAnswer[]>('POST', `/nodes/${this.nodeId}/reports`, this.call(body));
        if (!Array.isArray(answers) || answers.length !== batch.length) throw new TypeError('answers do not match');
        batch.splice(0).forEach((sent, index) => this.settle(sent, outcomeOf(answers[index])));
        return;
      } catch (error) {
        if (isTransient(error)) throw error;
        this.log.warn({ reason: messageOf(error) }, 'a batch of reports was refused; sending one by one');
      }
    }
    while (batch[0]) {
      const outcome = await this.deliverOne(batch[0].report);
      const sent = batch.shift();
      if (sent) this.settle(sent, outcome);
    }
  }

  private settle({ report, settle }: Waiting, outcome: ReportOutcome): void {
    if (outcome.kind === 'rejected') this.rejected(report.executionId, outcome.reason);
    settle(outcome);
  }

  private async deliverOne({ executionId, type, ...body }: Report): Promise<ReportOutcome> {
    try {
      const path = `/executions/${executionId}/${type}`;
      return outcomeOf(await this.http.json<ReportAnswer>('POST', path, this.call(body)));
    } catch (error) {
      if (isTransient(error)) throw error;
      this.log.error({ executionId, type, reason: messageOf(error) }, 'a report was refused and dropped');
      return { kind: 'refused', reason: messageOf(error) };
    }
  }

  private call(body: unknown): { body: unknown; signal: AbortSignal; timeout: number } {
    return { body, signal: this.stopped.signal, timeout: 30_000 };
  }
}

const outcomeOf = (answer: ReportAnswer | undefined): ReportOutcome =>
  answer?.accepted === false
    ? { kind: 'rejected', reason: answer.reason ?? 'no longer current' }
    : { kind: 'accepted' };
