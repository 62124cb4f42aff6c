import { toMillis } from '#kernel';
import type { Instant, Millis } from '#kernel';
import type { Decision } from './decision.js';
import type { JobEvent, TargetsChanged } from './events.js';
import { hasTargets } from './job-spec.js';
import type { JobSpec } from './job-spec.js';

/** How long one cause held; a cause is a reason of placement, or one of the job's own waits. */
export interface WaitedFor {
  readonly cause: string;
  readonly millis: Millis;
}

/** What a partition waits for beside the reasons of placement. */
export type OwnCause = 'look' | 'backoff' | 'paused' | 'dependencies';

/** Every span in which a partition had no execution, by its cause, the longest first. They add up to the time waited. */
export interface Waited {
  readonly millis: Millis;
  readonly causes: readonly WaitedFor[];
}

/**
 * The one reason that a decision which did not place stands for: that of the nodes which came furthest among those that may
 * take the job one day; without such nodes, the one that rules out most.
 */
export const causeOf = ({ filtered }: Pick<Decision, 'filtered'>): string => {
  const primary = filtered.filter(({ nodes }) => nodes > 0);
  const nearest = primary.findLast(({ never }) => !never);
  const most = primary.reduce((best, one) => (one.nodes > (best?.nodes ?? 0) ? one : best), primary[0]);
  return (nearest ?? most)?.reason ?? 'no-nodes';
};

/** Of one partition, from the job's events in their order; what is still open counts until `until`. */
export const waitedByCause = (events: readonly JobEvent[], partition: number, until: Instant): Waited => {
  const wait = new Wait(partition);
  for (const event of events) wait.see(event);
  wait.pass(toMillis(until));
  return wait.result();
};

class Wait {
  private readonly spans = new Map<string, Millis>();
  private readonly own = new Set<string>();
  private now: Millis = -Infinity;
  private waiting = false;
  private paused = false;
  private ended = false;
  /** Its node was taken away. */
  private gone = false;
  private cause = 'look';
  private notBefore: Millis = -Infinity;

  constructor(private readonly partition: number) {}

  see(event: JobEvent): void {
    this.pass(toMillis(event.type === 'PlacementDecided' ? event.data.time : event.data.at));
    switch (event.type) {
      case 'JobSubmitted':
        return this.submitted(event.data.spec);
      case 'DependenciesMet':
        this.cause = 'look';
        return;
      case 'JobPaused':
        this.paused = true;
        return;
      case 'JobResumed':
        this.paused = false;
        return;
      case 'PlacementDecided':
        if (event.data.outcome !== 'placed') this.cause = causeOf(event.data);
        return;
      case 'JobRequeued':
        if (event.data.partition === this.partition) this.backOff(toMillis(event.data.notBefore));
        return;
      case 'TargetsChanged':
        return this.retarget(event.data);
      case 'PartitionFailed':
        if (event.data.partition === this.partition) this.waiting = false;
        return;
      case 'ExecutionReserved':
        if (event.data.partition === this.partition) this.start(event.data.executionId);
        return;
      case 'JobCompleted':
      case 'JobFailed':
      case 'JobCancelled':
        this.ended = true;
        return;
      default:
        if (ENDS.has(event.type)) this.over(event.data as { executionId?: string });
    }
  }

  /** The time until then is put down to what held. Clocks of several processes may disagree; time never runs back here. */
  pass(to: Millis): void {
    if (to <= this.now) return;
    if (this.waiting && !this.ended && Number.isFinite(this.now)) this.spend(to);
    this.now = to;
  }

  result(): Waited {
    const causes = [...this.spans].map(([cause, millis]) => ({ cause, millis }));
    causes.sort((left, right) => right.millis - left.millis);
    return { millis: causes.reduce((sum, { millis }) => sum + millis, 0), causes };
  }

  private submitted({ type, dependsOn }: JobSpec): void {
    if (!hasTargets(type)) this.wait(dependsOn.length > 0 ? 'dependencies' : 'look');
  }

  private spend(to: Millis): void {
    const backedOff = Math.max(0, Math.min(to, this.notBefore) - this.now);
    if (this.paused) return this.add('paused', to - this.now);
    this.add('backoff', backedOff);
    this.add(this.cause, to - this.now - backedOff);
  }

  private add(cause: string, millis: Millis): void {
    if (millis > 0) this.spans.set(cause, (this.spans.get(cause) ?? 0) + millis);
  }

  private wait(cause: OwnCause): void {
    this.waiting = true;
    this.cause = cause;
  }

  /** A partition begins to wait when its node is given to it, and ceases when that is taken away. */
  private retarget({ added, removed }: TargetsChanged['data']): void {
    if (removed.includes(this.partition)) [this.gone, this.waiting] = [true, false];
    if (!added.some(({ partition }) => partition === this.partition)) return;
    this.gone = false;
    if (this.own.size === 0) this.backOff(-Infinity);
  }

  private backOff(until: Millis): void {
    this.wait('look');
    this.notBefore = until;
  }

  private start(executionId: string): void {
    this.own.add(executionId);
    this.waiting = false;
    this.notBefore = -Infinity;
  }

  private over({ executionId = '' }: { executionId?: string }): void {
    if (this.own.delete(executionId) && !this.gone) this.wait('look');
  }
}

/** Ends of an execution after which its partition waits again. */
const ENDS: ReadonlySet<string> = new Set([
  'ReservationDeclined',
  'ReservationExpired',
  'ExecutionFailed',
  'ExecutionLost',
  'ExecutionCancelled',
]);
