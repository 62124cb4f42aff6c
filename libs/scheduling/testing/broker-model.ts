import type { Millis } from '#kernel';
import type { Evaluation } from '../broker/evaluation.js';

/** A line of the model: what the broker knows of one evaluation. */
interface Known {
  evaluation: Evaluation;
  state: 'waiting' | 'pending' | 'ready' | 'in-flight' | 'delayed';
  dead: boolean;
  deliveries: number;
  receipt: string;
  lapsed: string;
  again: Evaluation | undefined;
  due: Due | undefined;
  /** Those that stand behind go in the order in which they came there. */
  since: number;
}

interface Due {
  readonly at: Millis;
  /** Ties go by the order in which they were set. */
  readonly order: number;
}

interface Blocked {
  readonly call: number;
  readonly types: readonly string[];
  readonly due: Due | undefined;
}

/** What the broker did, as a test saw it: which call got which evaluation under which receipt. */
export interface Seen {
  readonly call: number;
  readonly id: string;
  readonly receipt: string;
}

/**
 * What the broker should do, in the simplest words: one list, looked through each time. It follows the broker in what
 * is left to chance (which of two equal types), after looking whether that was allowed.
 */
export class BrokerModel {
  on = false;
  known: Known[] = [];
  cancelable: string[] = [];
  blocked: Blocked[] = [];
  /** Calls that ended without an evaluation, and how. */
  ended = new Map<number, 'nothing' | 'failed'>();
  private orders = 0;

  constructor(
    private now: Millis,
    private readonly options: { readonly lease: Millis; readonly limit: number; readonly aging: Millis },
    private readonly seen: Seen[],
  ) {}

  get totals(): readonly number[] {
    const count = (...states: Known['state'][]): number =>
      this.known.filter(({ state }) => states.includes(state)).length;
    const waiting = count('waiting', 'delayed');
    return [count('ready'), count('in-flight'), count('pending'), waiting, this.cancelable.length];
  }

  countOf(state: Known['state'], type: string): number {
    return this.known.filter((one) => one.state === state && queueOf(one) === type).length;
  }

  switchOn(): void {
    this.on = true;
  }

  switchOff(): void {
    Object.assign(this, { on: false, known: [], cancelable: [] });
    for (const { call } of this.blocked.splice(0)) this.ended.set(call, 'failed');
  }

  enqueueAll(group: readonly { readonly evaluation: Evaluation; readonly receipt?: string }[]): void {
    if (!this.on) return;
    for (const { evaluation, receipt } of group) {
      const one = this.get(evaluation.id);
      if (one?.state === 'in-flight' && one.receipt === receipt) one.again = evaluation;
      else if (!one && receipt === undefined) this.admit(evaluation);
    }
    this.serve();
  }

  dequeue(call: number, types: readonly string[], timeout: Millis): void {
    if (!this.on) this.ended.set(call, 'failed');
    else this.blocked.push({ call, types, due: timeout > 0 ? this.in(timeout) : undefined });
    this.serve();
  }

  /** The code of the refusal, if it is one. */
  answer(how: 'ack' | 'nack' | 'extend', id: string, receipt: string): string | undefined {
    const one = this.get(id);
    if (one && one.lapsed === receipt) return 'lease-over';
    if (one?.state !== 'in-flight') return 'not-in-flight';
    if (one.receipt !== receipt) return 'receipt-mismatch';
    if (how === 'extend') one.due = this.in(this.options.lease);
    if (how === 'nack') this.retry(one);
    if (how === 'ack') this.complete(one);
    this.serve();
    return undefined;
  }

  advance(span: Millis): void {
    const end = this.now + span;
    for (let next = this.nextDue(end); next; next = this.nextDue(end)) {
      this.now = Math.max(this.now, next.at);
      this.ring(next);
      this.serve();
    }
    this.now = end;
  }

  take(most: number): string[] {
    return this.cancelable.splice(0, most);
  }

  setPriority(jobId: string, priority: number): void {
    for (const one of this.known) if (one.evaluation.jobId === jobId) one.evaluation = { ...one.evaluation, priority };
  }

  forget(jobId: string): void {
    this.known = this.known.filter((one) => one.evaluation.jobId !== jobId || one.state === 'in-flight');
    for (const one of this.known) if (one.evaluation.jobId === jobId) one.again = undefined;
  }

  retryAtOnce(): void {
    for (const one of this.known) if (one.state === 'delayed') Object.assign(one, { state: 'ready', due: undefined });
    this.serve();
  }

  private get(id: string): Known | undefined {
    return this.known.find((one) => one.evaluation.id === id);
  }

  private in(span: Millis): Due {
    return { at: this.now + span, order: this.orders++ };
  }

  private admit(evaluation: Evaluation): void {
    const fresh = { state: 'waiting', dead: false, deliveries: 0, receipt: '', lapsed: '' } as const;
    const one: Known = { evaluation, ...fresh, again: undefined, due: undefined, since: 0 };
    this.known.push(one);
    this.place(one);
  }

  private place(one: Known): void {
    const { waitUntil = 0, preempts } = one.evaluation;
    const holder = this.holder(one);
    if (waitUntil > this.now) Object.assign(one, { state: 'waiting', due: this.in(waitUntil - this.now) });
    else if (holder && !(holder.state === 'delayed' && preempts))
      Object.assign(one, { state: 'pending', due: undefined, since: this.orders++ });
    else {
      if (holder) this.cancel(holder);
      Object.assign(one, { state: 'ready', due: undefined });
    }
  }

  private holder(one: Known): Known | undefined {
    const holds = ({ state }: Known): boolean => state === 'ready' || state === 'in-flight' || state === 'delayed';
    return this.known.find((other) => other !== one && sameJob(other, one) && holds(other));
  }

  private standingBehind(one: Known): Known[] {
    const behind = this.known.filter((other) => other.state === 'pending' && sameJob(other, one));
    return behind.sort(({ evaluation: a }, { evaluation: b }) =>
      b.priority === a.priority ? b.modifiedAt - a.modifiedAt || (b.id > a.id ? 1 : -1) : b.priority - a.priority,
    );
  }

  private complete(one: Known): void {
    this.known = this.known.filter((other) => other !== one);
    const behind = this.standingBehind(one);
    const [next] = behind;
    if (next) {
      behind.sort((a, b) => a.since - b.since);
      for (const other of behind) if (other !== next) this.cancel(other);
      this.place(next);
    }
    if (one.again && !this.get(one.again.id)) this.admit(one.again);
  }

  private retry(one: Known): void {
    const { deliveries } = one;
    Object.assign(one, { again: undefined, due: undefined, receipt: '' });
    if (deliveries >= this.options.limit) Object.assign(one, { state: 'ready', dead: true });
    else {
      const seconds = deliveries === 1 ? 5 : (deliveries - 1) * 30;
      Object.assign(one, { state: 'delayed', due: this.in(seconds * 1_000) });
      const urgent = this.standingBehind(one).find(({ evaluation }) => evaluation.preempts);
      if (urgent) this.place(urgent);
    }
  }

  private cancel(one: Known): void {
    this.known = this.known.filter((other) => other !== one);
    this.cancelable.push(one.evaluation.id);
  }

  private nextDue(end: Millis): Due | undefined {
    const dues = [...this.known, ...this.blocked].flatMap(({ due }) => (due && due.at <= end ? [due] : []));
    return dues.sort((a, b) => a.at - b.at || a.order - b.order)[0];
  }

  private ring(due: Due): void {
    const call = this.blocked.find((one) => one.due === due);
    if (call) {
      this.blocked = this.blocked.filter((one) => one !== call);
      this.ended.set(call.call, 'nothing');
    }
    const one = this.known.find((other) => other.due === due);
    if (one?.state === 'waiting') this.place(one);
    else if (one?.state === 'delayed') Object.assign(one, { state: 'ready', due: undefined });
    else if (one) {
      one.lapsed = one.receipt;
      this.retry(one);
    }
  }

  /** Whoever waits longest has the first choice, again and again, until nobody can be served. */
  private serve(): void {
    for (;;) {
      const call = this.blocked.find(({ types }) => this.allowed(types).length > 0);
      if (!call) return;
      const real = this.seen.shift();
      const one = this.allowed(call.types).find(({ evaluation }) => evaluation.id === real?.id);
      if (!real || !one || real.call !== call.call) {
        const right = this.allowed(call.types).map(({ evaluation }) => evaluation.id);
        throw new Error(`call ${String(call.call)} gets one of ${right.join()}, not ${JSON.stringify(real)}`);
      }
      this.blocked = this.blocked.filter((other) => other !== call);
      one.deliveries += 1;
      Object.assign(one, { state: 'in-flight', receipt: real.receipt, due: this.in(this.options.lease) });
    }
  }

  /** The first of each type, of the types whose first is the most urgent. */
  private allowed(types: readonly string[]): Known[] {
    const firsts = types.flatMap((type) => {
      const ready = this.known.filter((one) => one.state === 'ready' && queueOf(one) === type);
      return ready.sort((a, b) => this.compare(a.evaluation, b.evaluation)).slice(0, 1);
    });
    const most = Math.max(...firsts.map(({ evaluation }) => this.effective(evaluation)));
    return firsts.filter(({ evaluation }) => this.effective(evaluation) === most);
  }

  private compare(a: Evaluation, b: Evaluation): number {
    return this.effective(b) - this.effective(a) || a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
  }

  private effective({ priority, createdAt }: Evaluation): number {
    return priority + Math.max(0, Math.floor((this.now - createdAt) / this.options.aging));
  }
}

const queueOf = ({ dead, evaluation }: Known): string => (dead ? '_dlq' : evaluation.type);

const sameJob = ({ evaluation: a }: Known, { evaluation: b }: Known): boolean =>
  a.jobId === b.jobId && a.project === b.project;
