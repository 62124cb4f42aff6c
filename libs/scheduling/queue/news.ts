import type { RecordedEvent } from '#event-store';
import { hasTargets, JOB_STREAM_PREFIX } from '#jobs';
import { NODE_STREAM_PREFIX } from '#nodes';
import {
  changesTarget,
  MATCHING_EVENTS,
  mayChangeAnswer,
  nextRequest,
  requestOf,
  TURNS,
  WAKING_EVENTS,
} from '#placement';
import type { ClusterJob, ClusterState, PartitionState, StatedReasons } from '#placement';
import { PROJECT_STREAM_PREFIX } from '#projects';
import type { Millis } from '#kernel';

/** What an event changed, as far as it can help a job that waits: a node, a project, or it cannot be said. */
export interface Change {
  readonly type: string;
  readonly nodeId?: string;
  readonly project?: string;
  /** Whose turn it is in some pool. */
  readonly turn?: true;
  /** The job whose own decision brought the turn about. */
  readonly by?: string;
}

/** These help by a turn alone, which the pools tell; and whoever joins or leaves one of them is told as a node. */
const OF_TURNS: ReadonlySet<string> = new Set(TURNS.filter((type) => type !== 'NodePoolChanged'));
const TOLD: ReadonlySet<string> = new Set([...WAKING_EVENTS, ...MATCHING_EVENTS].filter((type) => !OF_TURNS.has(type)));

/** To be asked when the event was applied; undefined for one that helps nobody. */
export const changeOf = ({ type, stream, data }: RecordedEvent, cluster: ClusterState): Change | undefined => {
  if (!TOLD.has(type)) return undefined;
  if (stream.startsWith(NODE_STREAM_PREFIX)) return { type, nodeId: stream.slice(NODE_STREAM_PREFIX.length) };
  if (stream.startsWith(PROJECT_STREAM_PREFIX)) return { type, project: stream.slice(PROJECT_STREAM_PREFIX.length) };
  const jobId = stream.slice(JOB_STREAM_PREFIX.length);
  const job = cluster.jobs.get(jobId) ?? cluster.ended.get(jobId)?.lingering;
  const { executionId } = data as { readonly executionId?: string };
  const partition = job?.partitions.find((one) => one.executionId !== undefined && one.executionId === executionId);
  return partition?.nodeId === undefined ? { type } : { type, nodeId: partition.nodeId };
};

/** After an event by which somebody else, or nobody, became the first in line, or another node is kept for it. */
export const turnCame = ({ type, stream }: Pick<RecordedEvent, 'type' | 'stream'>): Change => ({
  type: OF_TURNS.has(type) ? type : 'PlacementDecided',
  turn: true,
  ...(type === 'PlacementDecided' && { by: stream.slice(JOB_STREAM_PREFIX.length) }),
});

/** What comes all the time while jobs run, and mostly helps nobody. */
const FREQUENT: ReadonlySet<string> = new Set([
  'CapacityReduced',
  'CapacityReleased',
  'ExecutionStarted',
  'ExecutionSucceeded',
  'NodeWentOnline',
  'ReservationConfirmed',
]);

/**
 * Whether the change may give the first of a class another answer than the class had. What follows from a job's own decision is
 * no news to it: where two processes decide with clocks that differ, each would have the other look again, without end.
 */
export const mayHelp = (
  { type, nodeId, project, by }: Change,
  job: ClusterJob,
  stated: StatedReasons,
  cluster: ClusterState,
  at: Millis,
): boolean => {
  if (by === job.id) return false;
  if (project !== undefined) return project === job.project;
  if (nodeId !== undefined && hasTargets(job.spec.type)) {
    return (isRare(type) && hasPartWaitingFor(nodeId, job)) || mayHelpOn(nodeId, job, stated, cluster, at);
  }
  if (nodeId === undefined || !FREQUENT.has(type) || isFirstOn(nodeId, job, cluster)) return true;
  return mayChangeAnswer(nextRequest(job, at), stated, cluster, nodeId, at);
};

/** By these a node lacks another thing than before, seldom enough that a part that waits for it says so at once. */
const isRare = (type: string): boolean => !FREQUENT.has(type) && MATCHING_EVENTS.includes(type);

const hasPartWaitingFor = (nodeId: string, { partitions }: ClusterJob): boolean =>
  partitions.some(({ state, target }) => state === 'waiting' && target === nodeId);

/** When it is expected to start may be another time now. */
const isFirstOn = (nodeId: string, job: ClusterJob, { nodes, pools }: ClusterState): boolean =>
  pools.size > 0 && pools.get(nodes.get(nodeId)?.pool ?? '')?.front?.jobId === job.id;

/** A part with a node of its own hears of that node alone, and of its project's quota; a daemon also of who is to get one. */
const mayHelpOn = (
  nodeId: string,
  job: ClusterJob,
  { wakesAt }: StatedReasons,
  cluster: ClusterState,
  at: Millis,
): boolean => {
  const hears = ({ state, target, digest = '' }: PartitionState): boolean =>
    state === 'waiting' && (target === nodeId || digest.includes('quota.'));
  const parts = job.partitions.flatMap((partition, index) => (hears(partition) ? [{ partition, index }] : []));
  const helped = parts.some(({ partition, index }) => {
    const reasons = new Set(partition.digest?.split(' '));
    return mayChangeAnswer(requestOf(job, index), { reasons, wakesAt }, cluster, nodeId, at);
  });
  return helped || changesTarget(job, cluster, nodeId, at);
};

/** What changed while evaluations were under way, so that none of it is missed. */
export class News {
  private changes: Change[] = [];
  private dropped = 0;

  /** How many changes there were. */
  get count(): number {
    return this.dropped + this.changes.length;
  }

  add(change: Change): void {
    this.changes.push(change);
  }

  /** What came after the count was this. */
  since(count: number): readonly Change[] {
    return this.changes.slice(Math.max(0, count - this.dropped));
  }

  /** Nobody will ask for what came before the count was this. */
  drop(count: number): void {
    const old = count - this.dropped;
    if (old < this.changes.length && old < SMALL) return;
    this.changes = this.changes.slice(old);
    this.dropped += old;
  }
}

/** Fewer than this are not worth moving the rest. */
const SMALL = 256;
