import { unreachable } from '#kernel';
import type { Instant } from '#kernel';
import { deferralKey } from './decision.js';
import type { Decision } from './decision.js';
import { ABANDONED_KEPT, withoutOldest } from './ended-executions.js';
import type {
  ExecutionCancelled,
  ExecutionReserved,
  JobCancelled,
  JobEvent,
  JobFailed,
  JobRequeued,
  JobSubmitted,
  PartitionFailed,
  ReportType,
  TargetsChanged,
} from './events.js';
import { hasTargets, isEndless } from './job-spec.js';
import { isShortage } from './memory-retry.js';
import { failuresInARow } from './retry.js';
import { mayHaveRun, NEW_PARTITION } from './state.js';
import type { Ending, Execution, ExecutionStateName, JobState, Partition } from './state.js';
import { runTimedOut, stoodStill } from './timeouts.js';

/** Folds one event into the job's state. Total: a history that was stored is never refused. */
export const evolve = (job: JobState, event: JobEvent): JobState => {
  switch (event.type) {
    case 'JobSubmitted':
      return submitted(event.data);
    case 'JobPriorityChanged':
      return { ...job, priority: event.data.priority };
    case 'JobPaused':
      return { ...job, paused: true };
    case 'JobResumed':
      return { ...job, paused: false, resumedAt: event.data.at };
    case 'DependenciesMet':
      return { ...job, blocked: false, queuedAt: event.data.at };
    case 'TargetsChanged':
      return targetsChanged(job, event.data);
    case 'PlacementDecided':
      return decided(job, event.data);
    case 'ExecutionReserved':
      return reserved(job, event.data);
    case 'ReservationConfirmed': {
      const { executionId, contract } = event.data;
      return moved(job, executionId, 'confirmed', 'confirm', contract ? { contract } : {});
    }
    case 'ExecutionPreparing':
      return moved(job, event.data.executionId, 'preparing', 'prepare');
    case 'ExecutionStarted':
      return moved(job, event.data.executionId, 'running', 'start', { startedAt: event.data.at });
    case 'ExecutionProgressed':
      return changed(job, event.data.executionId, { quarters: Math.floor(event.data.fraction * 4) });
    case 'ExecutionPaused':
      return moved(job, event.data.executionId, 'paused', 'pause', { pausedSince: event.data.at });
    case 'ExecutionResumed':
      return resumed(job, event.data.executionId, event.data.at);
    case 'ExecutionPublishing':
      return moved(job, event.data.executionId, 'publishing', 'publish');
    case 'ReservationDeclined':
      return returned(job, event.data, 'declined', 'decline');
    case 'ReservationExpired':
      return returned(job, event.data, 'expired');
    case 'ReservationAbandoned':
      return { ...job, abandoned: [...job.abandoned, event.data.executionId].slice(-ABANDONED_KEPT) };
    case 'ExecutionSucceeded': {
      const { executionId, at, ...details } = event.data;
      return ended(job, executionId, at, 'succeeded', 'succeed', details);
    }
    case 'ExecutionFailed': {
      const { executionId, at, exitCode, artifacts, consumption, class: kind, code, message, endedBy } = event.data;
      return ended(job, executionId, at, 'failed', endedBy === 'system' ? undefined : 'fail', {
        artifacts,
        ...(endedBy === 'system' ? { endedBySystem: true } : {}),
        failure: { class: kind, code, message },
        ...(exitCode === undefined ? {} : { exitCode }),
        ...(consumption === undefined ? {} : { consumption }),
      });
    }
    case 'ExecutionLost': {
      const { executionId, reason, at } = event.data;
      const lost = { class: 'node-lost' as const, code: 'node-lost', message: reason };
      return ended(job, executionId, at, 'lost', undefined, { failure: job.executions[executionId]?.timedOut ?? lost });
    }
    case 'ExecutionTimedOut': {
      const timedOut = runTimedOut(event.data.limit);
      return changed(job, event.data.executionId, { timedOut, stopRequested: timedOut.message });
    }
    case 'ExecutionStopRequested':
      return changed(job, event.data.executionId, { stopRequested: event.data.reason });
    case 'ExecutionCancelled':
      return cancelled(job, event.data);
    case 'LateResultRejected':
      return late(job, event.data.executionId, event.data.report);
    case 'JobRequeued':
      return requeued(job, event.data);
    case 'PartitionFailed':
      return partitionFailed(job, event.data);
    case 'EvaluationFailed':
      return { ...job, failedEvaluation: event.data.evaluationId };
    case 'EvaluationsSuperseded':
      return { ...job, superseded: event.data.evaluations.map(({ evaluationId }) => evaluationId) };
    case 'JobCancelRequested':
      return { ...job, cancelRequested: event.data.reason };
    case 'JobCompleted':
      return { ...job, ended: 'completed', endedAt: event.data.at };
    case 'JobFailed':
      return failed(job, event.data);
    case 'JobCancelled':
      return jobCancelled(job, event.data);
    default:
      return unreachable(event);
  }
};

const submitted = (data: JobSubmitted['data']): JobState => ({
  exists: true,
  jobId: data.jobId,
  spec: data.spec,
  account: data.account,
  institution: data.institution,
  fingerprint: data.fingerprint,
  evaluationId: data.evaluationId,
  submittedAt: data.at,
  rerunOf: data.rerunOf,
  priority: data.spec.priority,
  blocked: data.spec.dependsOn.length > 0,
  queuedAt: data.at,
  paused: false,
  resumedAt: undefined,
  cancelRequested: undefined,
  ended: undefined,
  endedAt: undefined,
  ending: undefined,
  partitions: hasTargets(data.spec.type) ? [] : Array.from({ length: data.spec.count }, () => NEW_PARTITION),
  executions: {},
  reservations: 0,
  decisions: 0,
  lastDecision: undefined,
  failedEvaluation: undefined,
  superseded: [],
  exclusions: [],
  avoid: [],
  abandoned: [],
});

const withPartition = (job: JobState, index: number, change: Partial<Partition>): JobState => ({
  ...job,
  partitions: job.partitions.map((partition, at) => (at === index ? { ...partition, ...change } : partition)),
});

const changed = (job: JobState, executionId: string, change: Partial<Execution>): JobState => {
  const execution = job.executions[executionId];
  if (!execution) return job;
  return { ...job, executions: { ...job.executions, [executionId]: { ...execution, ...change } } };
};

/** One that comes back is new but for its number and its tries. */
const targetsChanged = (job: JobState, { added, removed }: TargetsChanged['data']): JobState => {
  const partitions = [...job.partitions];
  for (const index of removed) {
    const known = partitions[index];
    if (known)
      partitions[index] = known.state === 'live' ? { ...known, leaving: true } : { ...known, state: 'removed' };
  }
  for (const { partition, nodeId } of added) {
    while (partitions.length <= partition) partitions.push(NEW_PARTITION);
    const { state, tries } = partitions[partition] ?? NEW_PARTITION;
    partitions[partition] = { ...NEW_PARTITION, tries, target: nodeId, state: state === 'live' ? state : 'waiting' };
  }
  return { ...job, partitions };
};

const decided = (job: JobState, decision: Decision): JobState => {
  const next = { ...job, decisions: decision.number, lastDecision: decision };
  if (!job.spec || !hasTargets(job.spec.type)) return next;
  return withPartition(next, decision.partition, { deferral: deferralKey(decision) });
};

const reserved = (job: JobState, data: ExecutionReserved['data']): JobState => {
  const { at: _at, ...claim } = data;
  const execution: Execution = { ...claim, state: 'reserved', accepted: [], late: [], quarters: 0, artifacts: [] };
  const executions = { ...job.executions, [data.executionId]: execution };
  const next = { ...job, executions, reservations: data.fencingToken };
  return withPartition(next, data.partition, { state: 'live', deferral: undefined });
};

const moved = (
  job: JobState,
  executionId: string,
  state: ExecutionStateName,
  report: ReportType,
  details: Partial<Execution> = {},
): JobState => changed(job, executionId, { ...details, state, accepted: taken(job, executionId, report) });

const resumed = (job: JobState, executionId: string, at: Instant): JobState => {
  const execution = job.executions[executionId];
  const pausedFor = execution ? stoodStill(execution, at) : 0;
  return moved(job, executionId, 'running', 'resume', { pausedFor, pausedSince: undefined });
};

const taken = (job: JobState, executionId: string, report: ReportType | undefined): readonly ReportType[] => {
  const accepted = job.executions[executionId]?.accepted ?? [];
  return report === undefined || accepted.includes(report) ? accepted : [...accepted, report];
};

const ended = (
  job: JobState,
  executionId: string,
  at: Instant,
  state: ExecutionStateName,
  report: ReportType | undefined,
  details: Partial<Execution>,
): JobState => {
  const execution = job.executions[executionId];
  if (!execution) return job;
  const accepted = taken(job, executionId, report);
  const next = changed(job, executionId, { ...details, state, endedAt: at, accepted });
  const ran = state === 'lost' ? mayHaveRun(execution) : execution.startedAt !== undefined;
  if (state !== 'succeeded' && !ran) return returnedOnce(next, execution.partition);
  return tried(next, execution, details.failure, at);
};

/** A try that ran has ended: well, when there is no failure. */
const tried = (job: JobState, execution: Execution, failure: Ending | undefined, at: Instant): JobState => {
  const { partition: index } = execution;
  const before = job.partitions[index] ?? NEW_PARTITION;
  const type = job.spec?.type ?? 'batch';
  const failures = failuresInARow(type, before, execution, failure, at);
  const next = withPartition(job, index, {
    tries: before.tries + 1,
    failures,
    ...(isEndless(type) ? { returned: 0 } : {}),
    ...(failure ? { lastError: failure } : {}),
    ...(failure && isShortage(failure) ? { shortages: (before.shortages ?? 0) + 1 } : {}),
  });
  return failure || isEndless(type) ? over(next, index) : withPartition(next, index, { state: 'done' });
};

/** Nothing is live of it any more: it waits, unless its node was taken from it meanwhile. */
const over = (before: JobState, index: number): JobState => {
  const job = withoutOldest(before, index);
  const { leaving, ...kept } = job.partitions[index] ?? NEW_PARTITION;
  const partition: Partition = { ...kept, state: leaving ? 'removed' : 'waiting' };
  return { ...job, partitions: job.partitions.map((other, at) => (at === index ? partition : other)) };
};

/** A reservation that never ran costs no attempt, only one of the bounded returns. */
const returnedOnce = (job: JobState, index: number): JobState =>
  over(withPartition(job, index, { returned: (job.partitions[index]?.returned ?? 0) + 1 }), index);

const returned = (
  job: JobState,
  { executionId, at }: { readonly executionId: string; readonly at: Instant },
  state: 'declined' | 'expired',
  report?: ReportType,
): JobState => {
  const execution = job.executions[executionId];
  if (!execution) return job;
  const next = changed(job, executionId, { state, endedAt: at, accepted: taken(job, executionId, report) });
  return returnedOnce(next, execution.partition);
};

/** Whether the partition is tried again is for `JobRequeued` to say. */
const cancelled = (job: JobState, data: ExecutionCancelled['data']): JobState => {
  const execution = job.executions[data.executionId];
  if (!execution) return job;
  const next = changed(job, data.executionId, {
    state: 'cancelled',
    endedAt: data.at,
    accepted: taken(job, data.executionId, execution.state === 'reserved' ? undefined : 'fail'),
    ...(data.consumption ? { consumption: data.consumption } : {}),
    ...(data.exitCode === undefined ? {} : { exitCode: data.exitCode }),
    ...(data.artifacts ? { artifacts: data.artifacts } : {}),
  });
  return over(next, execution.partition);
};

const late = (job: JobState, executionId: string, report: ReportType): JobState =>
  changed(job, executionId, { late: [...(job.executions[executionId]?.late ?? []), report] });

/** A try that the system stopped (`cancelled`) costs no attempt, yet one of the bounded returns. */
const requeued = (job: JobState, data: JobRequeued['data']): JobState => {
  const exclusions = job.exclusions.filter(({ nodeId, until }) => nodeId !== data.exclude?.nodeId && until > data.at);
  const avoid = data.avoid === undefined || job.avoid.includes(data.avoid) ? job.avoid : [...job.avoid, data.avoid];
  const next = { ...job, avoid, exclusions: data.exclude ? [...exclusions, data.exclude] : exclusions };
  const counted = data.cause === 'cancelled' ? returnedOnce(next, data.partition) : next;
  return withPartition(counted, data.partition, { state: 'waiting', notBefore: data.notBefore });
};

const partitionFailed = (job: JobState, data: PartitionFailed['data']): JobState => {
  const lastError = { class: data.class, code: data.code, message: data.message };
  return withPartition(job, data.partition, { state: 'failed', lastError });
};

const jobCancelled = (job: JobState, { reason, at }: JobCancelled['data']): JobState => {
  const ending = { class: 'cancelled' as const, code: 'cancelled', message: reason };
  return { ...job, ended: 'cancelled', endedAt: at, ending };
};

const failed = (job: JobState, data: JobFailed['data']): JobState => ({
  ...job,
  ended: 'failed',
  endedAt: data.at,
  ending: { class: data.class, code: data.code, message: data.message },
});
