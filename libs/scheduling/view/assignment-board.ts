import type { Timers, Millis } from '#kernel';
import type { RecordedEvent } from '#event-store';
import { JOB_STREAM_PREFIX } from '#jobs';
import type { ClusterState, LiveExecution } from '#placement';
import type { ClusterView } from './cluster-view.js';

/** Everything that must be on a node now, and the point of the log at which that set last changed. */
export interface DesiredSet {
  readonly revision: bigint;
  readonly executions: readonly LiveExecution[];
}

/** An execution leaves the node's set. */
const ENDS: ReadonlySet<string> = new Set([
  'ExecutionSucceeded',
  'ExecutionFailed',
  'ExecutionLost',
  'ExecutionCancelled',
  'ReservationExpired',
  'ReservationDeclined',
]);
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
 * finds it when it asks again.
 */
export class AssignmentBoard {
  private readonly revisions = new Map<string, bigint>();
  private readonly nodeOf = new Map<string, string>();
  private readonly waiters = new Map<string, Set<() => void>>();
  private base = -1n;
  private stopListening: (() => void) | undefined;

  constructor(
    private readonly view: ClusterView,
    private readonly timers: Timers,
  ) {}

  /** To be called once the view is live. */
  start(): void {
    this.base = this.view.position;
    for (const [nodeId, executions] of this.view.cluster.live) {
      for (const executionId of executions.keys()) this.nodeOf.set(executionId, nodeId);
    }
    this.stopListening = this.view.listen((event) => this.hear(event));
  }

  stop(): void {
    this.stopListening?.();
    for (const nodeId of [...this.waiters.keys()]) this.wake(nodeId);
  }

  desired(nodeId: string): DesiredSet {
    const executions = [...(this.view.cluster.live.get(nodeId)?.values() ?? [])];
    return { revision: this.revisions.get(nodeId) ?? this.base, executions };
  }

  /** The desired set when it differs from the one at `after`, or after `wait` milliseconds as it then is. */
  async next(nodeId: string, after: bigint | undefined, wait: Millis): Promise<DesiredSet> {
    const now = this.desired(nodeId);
    if (after === undefined || now.revision !== after || wait <= 0) return now;
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

  private hear(event: RecordedEvent): void {
    if (event.type === 'ExecutionReserved') {
      const { executionId, nodeId } = event.data as { executionId: string; nodeId: string };
      this.nodeOf.set(executionId, nodeId);
      this.bump(nodeId, event.position);
    } else if (ENDS.has(event.type)) {
      const { executionId } = event.data as { executionId: string };
      const nodeId = this.nodeOf.get(executionId);
      this.nodeOf.delete(executionId);
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

const nodesRunning = (cluster: ClusterState, jobId: string): string[] => {
  const nodes: string[] = [];
  for (const [nodeId, executions] of cluster.live) {
    for (const execution of executions.values()) if (execution.jobId === jobId) nodes.push(nodeId);
  }
  return nodes;
};
