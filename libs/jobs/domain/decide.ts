import { accept, plusSeconds, reject, unreachable } from '#kernel';
import type { Decider, Decision as Decided, Instant } from '#kernel';
import type {
  AbandonReservation,
  CancelJob,
  DeclareExecutionLost,
  ExpireReservation,
  FailJob,
  FailPartition,
  JobCommand,
  LeaveOutNode,
  PauseJob,
  RecordEvaluationFailed,
  RecordEvaluationsSuperseded,
  RecordPlan,
  StopExecution,
  SubmitJob,
} from './commands.js';
import { meetDependencies } from './dependencies.js';
import { afterFailed, afterReturned, endUnconfirmed, giveUpPartitions, missedEnd } from './ends.js';
import { evolve } from './evolve.js';
import type { JobEvent, PartitionFailed } from './events.js';
import { hasTargets } from './job-spec.js';
import { firstThatFailed, withLastError } from './last-error.js';
import { decisionsOf, isRecorded } from './plan.js';
import { EXCLUDED_SECONDS, JOB_POLICY } from './retry.js';
import type { RetryStrategy } from './retry.js';
import { decideReport } from './report.js';
import { timeOutRun } from './time-out-run.js';
import { absentJob, isLive, jobStateName, liveExecutions, mayHaveRun } from './state.js';
import type { Execution, JobState } from './state.js';
import { changeTargets } from './targets.js';
import { targetsQueuedTooLong, timedOut } from './timeouts.js';

const decide = (command: JobCommand, job: JobState, strategies: readonly RetryStrategy[]): Decided<JobEvent> => {
  if (command.type === 'SubmitJob') return submit(command, job);
  if (!job.exists) return reject('JOB_NOT_FOUND', 'there is no such job');
  switch (command.type) {
    case 'ChangePriority':
      return changePriority(command.priority, command.at, job);
    case 'PauseJob':
      return pause(command, job);
    case 'ResumeJob':
      return ifRunningOn(job, !job.paused, { type: 'JobResumed', data: { at: command.at } });
    case 'MeetDependencies':
      return meetDependencies(command, job);
    case 'CancelJob':
      return cancel(command, job);
    case 'FailJob':
      return fail(command, job);
    case 'TimeOutJob':
      return timeOut(command.at, job);
    case 'TimeOutExecution':
      return timeOutRun(command, job, strategies);
    case 'EndIfOver':
      return accept(...missedEnd(job, command.at));
    case 'ChangeTargets':
      return changeTargets(command, job);
    case 'FailPartition':
      return failPartition(command, job);
    case 'RecordEvaluationFailed':
      return evaluationFailed(command, job);
    case 'RecordEvaluationsSuperseded':
      return evaluationsSuperseded(command, job);
    case 'RecordPlan':
      return recordPlan(command, job, strategies);
    case 'LeaveOutNode':
      return leaveOut(command, job);
    case 'ExpireReservation':
      return expire(command, job);
    case 'AbandonReservation':
      return abandon(command, job);
    case 'DeclareExecutionLost':
      return declareLost(command, job, strategies);
    case 'StopExecution':
      return stopExecution(command, job);
    case 'ReportExecution':
      return decideReport(command, job, strategies);
    default:
      return unreachable(command);
  }
};

/** As `jobDecider`, with further strategies behind the job's own policy: a try is made again when all of them say yes. */
export const jobDeciderWith = (...further: readonly RetryStrategy[]): Decider<JobCommand, JobEvent, JobState> => {
  const strategies = [...JOB_POLICY, ...further];
  return { initialState: absentJob, decide: (command, job) => decide(command, job, strategies), evolve };
};

/** One job from submission to its end: every transition of the job and of its executions. */
export const jobDecider = jobDeciderWith();

/** The same submission again (same id, same request) is no mistake and changes nothing. */
const submit = ({ type: _type, ...data }: SubmitJob, job: JobState): Decided<JobEvent> => {
  if (!job.exists) return accept({ type: 'JobSubmitted', data });
  if (job.fingerprint === data.fingerprint) return accept();
  return reject('IDEMPOTENCY_KEY_REUSED', 'this idempotency key was used for another job', { jobId: job.jobId });
};

const terminal = (job: JobState): Decided<JobEvent> =>
  reject('JOB_TERMINAL', `the job is ${jobStateName(job)} already`, { state: jobStateName(job) });

const ifRunningOn = (job: JobState, already: boolean, event: JobEvent): Decided<JobEvent> => {
  if (job.ended) return terminal(job);
  return already ? accept() : accept(event);
};

const evaluationFailed = ({ type: _type, ...data }: RecordEvaluationFailed, job: JobState): Decided<JobEvent> => {
  if (job.ended || job.failedEvaluation === data.evaluationId) return accept();
  return accept({ type: 'EvaluationFailed', data });
};

const evaluationsSuperseded = (
  { type: _type, ...data }: RecordEvaluationsSuperseded,
  job: JobState,
): Decided<JobEvent> => {
  const evaluations = data.evaluations.filter(({ evaluationId }) => !job.superseded.includes(evaluationId));
  if (job.ended || evaluations.length === 0) return accept();
  return accept({ type: 'EvaluationsSuperseded', data: { ...data, evaluations } });
};

const changePriority = (priority: number, at: Instant, job: JobState): Decided<JobEvent> =>
  ifRunningOn(job, priority === job.priority, { type: 'JobPriorityChanged', data: { priority, at } });

/**
 * What runs is stopped in place and keeps its contract. What no node has confirmed is given back: it would begin as soon as
 * it was, or expire and blame a node that was told to wait.
 */
const pause = ({ reason, at }: PauseJob, job: JobState): Decided<JobEvent> => {
  if (job.ended) return terminal(job);
  if (job.paused) return accept();
  if (job.cancelRequested !== undefined) return reject('JOB_NOT_PAUSABLE', 'the job is being cancelled');
  const message = 'the job was paused';
  const events: JobEvent[] = [{ type: 'JobPaused', data: { reason, at } }, ...endUnconfirmed(job, message, at)];
  for (const { state, partition } of liveExecutions(job)) {
    if (state !== 'reserved') continue;
    events.push({ type: 'JobRequeued', data: { partition, cause: 'cancelled', message, notBefore: at, at } });
  }
  return accept(...events);
};

/**
 * Reservations that were not confirmed end at once. Where a node may already work, the job stays as it is, marked, until
 * the node says that it stopped (or is lost): so `cancelled` means that nothing runs any more.
 */
const cancel = ({ reason, byUser, at }: CancelJob, job: JobState): Decided<JobEvent> => {
  if (job.ended === 'cancelled') return accept();
  if (job.ended) return terminal(job);
  if (job.cancelRequested !== undefined) return accept();
  const unconfirmed = endUnconfirmed(job, reason, at);
  const events: JobEvent[] = [{ type: 'JobCancelRequested', data: { reason, byUser, at } }, ...unconfirmed];
  if (unconfirmed.length === liveExecutions(job).length) events.push({ type: 'JobCancelled', data: { reason, at } });
  return accept(...events);
};

/** A job that has ended, or that its user gave up first, stays as it is: timers may come late. */
const fail = ({ type: _type, ...data }: FailJob, job: JobState): Decided<JobEvent> => {
  if (job.ended || job.cancelRequested !== undefined) return accept();
  return accept(...endUnconfirmed(job, 'the job failed', data.at), { type: 'JobFailed', data });
};

/** Each part of a job with targets waits for its own node, so one that waits too long is given up alone. */
const timeOut = (at: Instant, job: JobState): Decided<JobEvent> => {
  const ending = timedOut(job, at);
  const tooLong = ending?.code === 'queue-timeout' ? targetsQueuedTooLong(job, at) : [];
  if (ending && tooLong.length > 0) {
    const failed = tooLong.map((partition): PartitionFailed => ({
      type: 'PartitionFailed',
      data: { partition, ...withLastError(ending, job.partitions[partition] ?? {}), at },
    }));
    return accept(...giveUpPartitions(job, failed));
  }
  if (!ending) return accept();
  return fail({ type: 'FailJob', ...withLastError(ending, firstThatFailed(job.partitions)), at }, job);
};

/** Whole, or not at all: what is decided, the targets, what is stopped, the end. What is recorded already is no mistake. */
const recordPlan = (plan: RecordPlan, job: JobState, strategies: readonly RetryStrategy[]): Decided<JobEvent> => {
  if (isRecorded(plan, job)) return accept();
  if (job.ended) return terminal(job);
  const decided = decisionsOf(plan, job);
  if (!decided) return reject('DECISION_OUTDATED', 'the job has moved on since this plan was made');
  const { targets, stops, end, at } = plan;
  const rest: JobCommand[] = targets ? [{ type: 'ChangeTargets', ...targets, at }] : [];
  for (const stop of stops) rest.push({ type: 'StopExecution', ...stop, at });
  if (end) rest.push({ type: 'FailJob', ...end, at });
  return rest.length === 0 ? accept(...decided) : inTurn(rest, decided, job, strategies);
};

/** Each command on the state that the ones before it leave; all that they come to, or the first refusal. */
const inTurn = (
  commands: readonly JobCommand[],
  first: readonly JobEvent[],
  job: JobState,
  strategies: readonly RetryStrategy[],
): Decided<JobEvent> => {
  const events = [...first];
  let state = first.reduce(evolve, job);
  for (const command of commands) {
    const answer = decide(command, state, strategies);
    if (answer.kind === 'rejected') return answer;
    events.push(...answer.events);
    state = answer.events.reduce(evolve, state);
  }
  return accept(...events);
};

/** What is live is stopped first. */
const failPartition = ({ type: _type, ...data }: FailPartition, job: JobState): Decided<JobEvent> => {
  const given = !job.ended && job.cancelRequested === undefined && job.spec && hasTargets(job.spec.type);
  if (!given || job.partitions[data.partition]?.state !== 'waiting') return accept();
  return accept(...giveUpPartitions(job, [{ type: 'PartitionFailed', data }]));
};

const leaveOut = ({ partition, nodeId, reason, at }: LeaveOutNode, job: JobState): Decided<JobEvent> => {
  if (job.ended || job.blocked || job.partitions[partition]?.state !== 'waiting') return accept();
  const exclude = { nodeId, until: plusSeconds(at, EXCLUDED_SECONDS) };
  const data = { partition, cause: 'infrastructure' as const, message: reason, notBefore: at, exclude, at };
  return accept({ type: 'JobRequeued', data });
};

/** Nothing happens early, or to a reservation that was confirmed meanwhile. */
const expire = ({ executionId, at }: ExpireReservation, job: JobState): Decided<JobEvent> => {
  const execution = job.executions[executionId];
  if (execution?.state !== 'reserved' || at < execution.confirmBy) return accept();
  const { confirmBy, nodeId } = execution;
  const message = `node ${nodeId} did not confirm before ${confirmBy}`;
  return accept(
    { type: 'ReservationExpired', data: { executionId, confirmBy, at } },
    ...afterReturned(job, execution, { class: 'expired', code: 'expired', message }, at),
  );
};

/** A claim that the stream knows is not abandoned; one that it does not know is fenced off. An ended job takes none. */
const abandon = ({ executionId, nodeId, at }: AbandonReservation, job: JobState): Decided<JobEvent> => {
  const known = job.executions[executionId] !== undefined || job.abandoned.includes(executionId);
  if (known || job.ended) return accept();
  return accept({ type: 'ReservationAbandoned', data: { executionId, nodeId, at } });
};

const declareLost = (
  { executionId, reason, at }: DeclareExecutionLost,
  job: JobState,
  strategies: readonly RetryStrategy[],
): Decided<JobEvent> => {
  const execution: Execution | undefined = job.executions[executionId];
  if (!execution || !isLive(execution)) return accept();
  const ending = execution.timedOut ?? { class: 'node-lost' as const, code: 'node-lost', message: reason };
  const then = mayHaveRun(execution)
    ? afterFailed(job, execution, ending, at, strategies)
    : afterReturned(job, execution, ending, at);
  return accept({ type: 'ExecutionLost', data: { executionId, reason, at } }, ...then);
};

/** What no node works on yet ends at once; the rest when its node says that it stopped, or was lost. */
const stopExecution = ({ executionId, cause, reason, at }: StopExecution, job: JobState): Decided<JobEvent> => {
  const execution = job.executions[executionId];
  const already = execution?.stopRequested !== undefined || job.cancelRequested !== undefined;
  if (!execution || !isLive(execution) || already || job.ended) return accept();
  if (mayHaveRun(execution))
    return accept({ type: 'ExecutionStopRequested', data: { executionId, cause, reason, at } });
  const ending = { class: 'cancelled' as const, code: cause, message: reason };
  const event: JobEvent = { type: 'ExecutionCancelled', data: { executionId, reason, at } };
  return accept(event, ...afterReturned(job, execution, ending, at));
};
