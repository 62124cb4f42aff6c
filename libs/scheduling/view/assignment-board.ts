import type { Timers, Millis } from '#kernel';
import type { RecordedEvent } from '#event-store';
import { JOB_STREAM_PREFIX } from '#jobs';
import type { ExecutionFailed } from '#jobs';
import type { ClusterState, LiveExecution } from '#placement';
import type { ClusterView, ViewFollower } from './cluster-view.js';

/**
 * Everything that must be on a node now, and the point of the log at which that set last changed: the same in whichever
 * process, so the newer of two sets has the higher revision. -1n while it never changed.
 */
export interface DesiredSet {
  readonly revision: bigint;
  readonly executions: readonly LiveExecution[];
}

/** An execution leaves the node's set by the node's own word: that is no news to it, and wakes no poll. */
const OWN_ENDS: ReadonlySet<string> = new Set(['ExecutionSucceeded', 'ExecutionFailed', 'ReservationDeclined']);
/** An execution leaves the node's set otherwise. */
const ENDS: ReadonlySet<string> = new Set(['ExecutionLost', 'ExecutionCancelled', 'ReservationExpired']);
/** What is wanted of each live execution of the job changes. */
const TURNS: ReadonlySet<string> = new Set([
  'JobCancelRequested',
  'JobPaused',
  'JobResumed',
  'JobFailed',
  'JobCancelled',
  'JobCompleted',
]);

/**
 * Tells each node's agent what to run, as soon as it changes: the desired state is in the log, and an agent that was away
 * finds it when it asks again. It follows the view from the log's beginning or a snapshot, so it is made before the view
 * starts.
 *
 * An agent ends what it is not told to run, so an old set would do harm: one that asks for the first time, or that knows a
 * newer set from another process, is answered when this view has caught up with all that is stored.
 */
export class AssignmentBoard implements ViewFollower {
  readonly name = 'assignments';
  private readonly revisions = new Map<string, bigint>();
  private readonly nodeOf = new Map<string, string>();
  private readonly waiters = new Map<string, Set<() => void>>();

  constructor(
    private readonly view: ClusterView,
    private readonly timers: Timers,
  ) {
    view.follow(this);
  }

  /** Ends every wait. */
  stop(): void {
    for (const nodeId of [...this.waiters.keys()]) this.wake(nodeId);
  }

  desired(nodeId: string): DesiredSet {
    const executions = [...(this.view.cluster.live.get(nodeId)?.values() ?? [])];
    return { revision: this.revisions.get(nodeId) ?? -1n, executions };
  }

  /**
   * The desired set when it differs from the one at `after`, or after `wait` milliseconds as it then is. Rejects with
   * `EventStoreUnavailable` when the set cannot be proved current.
   */
  async next(nodeId: string, after: bigint | undefined, wait: Millis): Promise<DesiredSet> {
    await this.view.whenReady();
    const now = this.desired(nodeId);
    if (after === undefined || after > now.revision) {
      await this.view.current();
      return this.desired(nodeId);
    }
    if (now.revision !== after || wait <= 0) return now;
    await this.change(nodeId, wait);
    return this.desired(nodeId);
  }

  private change(nodeId: string, wait: Millis): Promise<void> {
    return new Promise((resolve) => {
      const waiters = this.waiters.get(nodeId) ?? new Set();
      this.waiters.set(nodeId, waiters);
      const done = (): void => {
        timer.cancel();
        waiters.delete(done);
        resolve();
      };
      const timer = this.timers.after(wait, done);
      waiters.add(done);
    });
  }

  /** When each node's set last changed; where each execution is stands in the cluster. */
  lines(): Iterable<unknown> {
    return this.revisions.entries().map(([nodeId, position]) => [nodeId, String(position)]);
  }

  begin(lines: readonly unknown[]): void {
    for (const [nodeId, position] of lines as readonly [string, string][]) this.revisions.set(nodeId, BigInt(position));
    for (const [nodeId, executions] of this.view.cluster.live) {
      for (const executionId of executions.keys()) this.nodeOf.set(executionId, nodeId);
    }
  }

  hear(event: RecordedEvent): void {
    if (event.type === 'ExecutionReserved') {
      const { executionId, nodeId } = event.data as { executionId: string; nodeId: string };
      this.nodeOf.set(executionId, nodeId);
      this.bump(nodeId, event.position);
    } else if (OWN_ENDS.has(event.type) && !endedBySystem(event)) {
      this.nodeOf.delete((event.data as { executionId: string }).executionId);
    } else if (ENDS.has(event.type) || endedBySystem(event)) {
      const { executionId } = event.data as { executionId: string };
      const nodeId = this.nodeOf.get(executionId);
      this.nodeOf.delete(executionId);
      if (nodeId !== undefined) this.bump(nodeId, event.position);
    } else if (event.type === 'ExecutionStopRequested' || event.type === 'ExecutionTimedOut') {
      const nodeId = this.nodeOf.get((event.data as { executionId: string }).executionId);
      if (nodeId !== undefined) this.bump(nodeId, event.position);
    } else if (TURNS.has(event.type)) {
      const jobId = event.stream.slice(JOB_STREAM_PREFIX.length);
      for (const nodeId of nodesRunning(this.view.cluster, jobId)) this.bump(nodeId, event.position);
    }
  }

  private bump(nodeId: string, position: bigint): void {
    this.revisions.set(nodeId, position);
    this.wake(nodeId);
  }

  private wake(nodeId: string): void {
    for (const resolve of this.waiters.get(nodeId) ?? []) resolve();
  }
}

/** A run that its node should have ended and did not, in records from when that was done for it. */
const endedBySystem = ({ type, data }: RecordedEvent): boolean =>
  type === 'ExecutionFailed' && (data as ExecutionFailed['data']).endedBy === 'system';

const nodesRunning = ({ jobs, ended }: ClusterState, jobId: string): ReadonlySet<string> => {
  const job = jobs.get(jobId) ?? ended.get(jobId)?.lingering;
  return new Set([...(job?.executions.values() ?? [])].map(({ nodeId }) => nodeId));
};
