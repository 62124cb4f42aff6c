import { livenessOf } from './executions.js';
import { FIRST_LOOK, reasonAfter, waitsForJobs } from './reasons.js';
import type { Instant } from '#kernel';
import { hasTargets, isEndless } from '../domain/job-spec.js';
import type {
  ExecutionReserved,
  JobEvent,
  JobSubmitted,
  PartitionFailed,
  PlacementDecided,
  TargetsChanged,
} from '../domain/events.js';
import type { JobStateName } from '../domain/state.js';
import type { Liveness } from './executions.js';
import type { ExecutionRow, JobRow } from './tables.js';

/** When it happened, by the clock of whoever recorded it. */
export const timeOf = (event: JobEvent): Instant =>
  event.type === 'PlacementDecided' ? event.data.time : event.data.at;

/** The row of the execution that an event is about, before and after it. */
export interface ExecutionChange {
  readonly before: ExecutionRow | undefined;
  readonly after: ExecutionRow | undefined;
}

/**
 * Folds an event into the job's row. The state follows the rule of `jobStateName` in the domain, from counts of live
 * executions instead of the executions themselves, so that one event costs the same with one partition and with thousands.
 */
export const evolveJob = (row: JobRow | undefined, event: JobEvent, change: ExecutionChange): JobRow | undefined => {
  if (event.type === 'JobSubmitted') return submitted(event.data);
  if (!row) return undefined;
  const counted = { ...specific(row, event, change), ...counts(row, change) };
  const next = { ...counted, reason: reasonAfter(counted, event), progress: progressOf(counted, change) };
  const state = stateOf(next);
  return state === row.state ? next : { ...next, state, stateSince: timeOf(event) };
};

const submitted = ({ jobId, spec, account, institution, rerunOf, at }: JobSubmitted['data']): JobRow => ({
  id: jobId,
  name: spec.name,
  project: spec.project,
  account,
  institution,
  type: spec.type,
  state: spec.dependsOn.length > 0 ? 'blocked' : 'queued',
  stateSince: at,
  priority: spec.priority,
  count: hasTargets(spec.type) ? 0 : spec.count,
  succeeded: 0,
  failedPartitions: [],
  submittedAt: at,
  startedAt: null,
  endedAt: null,
  nodeId: null,
  executionId: null,
  attempt: 0,
  progress: 0,
  reason: spec.dependsOn.length > 0 ? waitsForJobs(spec.dependsOn) : FIRST_LOOK,
  waitingOn: null,
  notBefore: null,
  failure: null,
  blocked: spec.dependsOn.length > 0,
  paused: false,
  cancelRequested: false,
  decisions: 0,
  liveReserved: 0,
  liveRunning: 0,
  livePaused: 0,
  labels: spec.labels,
  rerunOf: rerunOf ?? null,
  spec,
});

/** What an event changes beside counts, reason, progress and state. */
// eslint-disable-next-line max-lines-per-function -- one case for each event that changes something
const specific = (row: JobRow, event: JobEvent, { after }: ExecutionChange): JobRow => {
  switch (event.type) {
    case 'JobPriorityChanged':
      return { ...row, priority: event.data.priority };
    case 'JobPaused':
      return { ...row, paused: true };
    case 'JobResumed':
      return { ...row, paused: false };
    case 'DependenciesMet':
      return { ...row, blocked: false };
    case 'TargetsChanged':
      return targetsChanged(row, event.data);
    case 'PartitionFailed':
      return partitionFailed(row, event.data);
    case 'PlacementDecided':
      return decided(row, event.data);
    case 'ExecutionReserved':
      return reserved(row, event.data);
    case 'ExecutionStarted':
      return { ...row, startedAt: row.startedAt ?? event.data.at };
    case 'ExecutionSucceeded':
      return isEndless(row.type) ? row : { ...row, succeeded: row.succeeded + 1 };
    case 'JobRequeued':
      return { ...row, notBefore: event.data.notBefore };
    case 'JobCancelRequested':
      return { ...row, cancelRequested: true };
    case 'JobCompleted':
      return { ...row, state: 'completed', endedAt: event.data.at, failure: null, waitingOn: null };
    case 'JobFailed': {
      const { class: kind, code, message, at } = event.data;
      return { ...row, state: 'failed', endedAt: at, failure: { class: kind, code, message }, waitingOn: null };
    }
    case 'JobCancelled': {
      const { reason, at } = event.data;
      return {
        ...row,
        state: 'cancelled',
        endedAt: at,
        failure: { class: 'cancelled', code: 'cancelled', message: reason },
        waitingOn: null,
      };
    }
    default:
      return failureSeen(row, event, after);
  }
};

/** The last real error stays visible while the job is tried again; what ended the job, when something of it still ran. */
const failureSeen = (row: JobRow, event: JobEvent, execution: ExecutionRow | undefined): JobRow => {
  if (row.endedAt !== null) return row;
  const failed =
    event.type === 'ExecutionFailed' || event.type === 'ExecutionLost' || event.type === 'ExecutionTimedOut';
  return failed && execution?.failure ? { ...row, failure: execution.failure } : row;
};

const targetsChanged = (row: JobRow, { added, removed }: TargetsChanged['data']): JobRow => ({
  ...row,
  count: row.count + added.length - removed.length,
  failedPartitions: row.failedPartitions.filter((partition) => !removed.includes(partition)),
});

const partitionFailed = (row: JobRow, data: PartitionFailed['data']): JobRow => ({
  ...row,
  failedPartitions: [...row.failedPartitions, data.partition],
  failure: { class: data.class, code: data.code, message: data.message },
});

const decided = (row: JobRow, data: PlacementDecided['data']): JobRow => ({
  ...row,
  decisions: data.number,
  waitingOn: data.outcome === 'placed' ? null : data.filtered,
});

const reserved = (row: JobRow, { nodeId, executionId, attempt }: ExecutionReserved['data']): JobRow => ({
  ...row,
  nodeId,
  executionId,
  attempt,
  waitingOn: null,
  notBefore: null,
});

type Counts = Pick<JobRow, 'liveReserved' | 'liveRunning' | 'livePaused'>;

const COUNTER: Readonly<Record<Exclude<Liveness, 'none'>, keyof Counts>> = {
  reserved: 'liveReserved',
  running: 'liveRunning',
  paused: 'livePaused',
};

const counts = (row: JobRow, { before, after }: ExecutionChange): Counts => {
  const { liveReserved, liveRunning, livePaused } = row;
  const next = { liveReserved, liveRunning, livePaused };
  const from = livenessOf(before);
  const to = livenessOf(after);
  if (from !== 'none') next[COUNTER[from]] -= 1;
  if (to !== 'none') next[COUNTER[to]] += 1;
  return next;
};

const progressOf = (row: JobRow, { after }: ExecutionChange): number => {
  if (isEndless(row.type)) return 0;
  if (row.count > 1) return row.succeeded / row.count;
  return after?.progress ?? row.progress;
};

const stateOf = (row: JobRow): JobStateName => {
  if (row.endedAt !== null) return row.state;
  if (row.paused) return 'paused';
  if (row.blocked) return 'blocked';
  if (row.liveRunning > 0) return 'running';
  if (row.livePaused > 0) return 'paused';
  return row.liveReserved > 0 ? 'reserved' : 'queued';
};
