import { accept, reject, unreachable } from '#kernel';
import type { Decider, Decision as Decided, Instant } from '#kernel';
import type {
  AbandonReservation,
  CancelJob,
  DeclareExecutionLost,
  ExpireReservation,
  JobCommand,
  RecordDecision,
  SubmitJob,
} from './commands.js';
import { deferralKey } from './decision.js';
import { evolve } from './evolve.js';
import type { JobEvent } from './events.js';
import { afterFailed, afterReturned, decideReport } from './report.js';
import { absentJob, isLive, jobStateName, liveExecutions } from './state.js';
import type { Execution, JobState } from './state.js';

export const decide = (command: JobCommand, job: JobState): Decided<JobEvent> => {
  if (command.type === 'SubmitJob') return submit(command, job);
  if (!job.exists) return reject('JOB_NOT_FOUND', 'there is no such job');
  switch (command.type) {
    case 'ChangePriority':
      return changePriority(command.priority, command.at, job);
    case 'PauseJob':
      return ifRunningOn(job, job.paused, { type: 'JobPaused', data: { reason: command.reason, at: command.at } });
    case 'ResumeJob':
      return ifRunningOn(job, !job.paused, { type: 'JobResumed', data: { at: command.at } });
    case 'CancelJob':
      return cancel(command, job);
    case 'RecordDecision':
      return recordDecision(command, job);
    case 'ExpireReservation':
      return expire(command, job);
    case 'AbandonReservation':
      return abandon(command, job);
    case 'DeclareExecutionLost':
      return declareLost(command, job);
    case 'ReportExecution':
      return decideReport(command, job);
    default:
      return unreachable(command);
  }
};

/** One job from submission to its end: every transition of the job and of its executions. */
export const jobDecider: Decider<JobCommand, JobEvent, JobState> = { initialState: absentJob, decide, evolve };

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

const changePriority = (priority: number, at: Instant, job: JobState): Decided<JobEvent> =>
  ifRunningOn(job, priority === job.priority, { type: 'JobPriorityChanged', data: { priority, at } });

/**
 * Reservations that were not confirmed end at once. Where a node may already work, the job stays as it is, marked, until
 * the node says that it stopped (or is lost): so `cancelled` means that nothing runs any more.
 */
const cancel = ({ reason, byUser, at }: CancelJob, job: JobState): Decided<JobEvent> => {
  if (job.ended === 'cancelled') return accept();
  if (job.ended) return terminal(job);
  if (job.cancelRequested !== undefined) return accept();
  const live = liveExecutions(job);
  const unconfirmed = live.filter(({ state }) => state === 'reserved');
  const events: JobEvent[] = [{ type: 'JobCancelRequested', data: { reason, byUser, at } }];
  for (const { executionId } of unconfirmed)
    events.push({ type: 'ExecutionCancelled', data: { executionId, reason, at } });
  if (unconfirmed.length === live.length) events.push({ type: 'JobCancelled', data: { reason, at } });
  return accept(...events);
};

const recordDecision = ({ decision, reservation, at }: RecordDecision, job: JobState): Decided<JobEvent> => {
  const waiting = job.partitions[decision.partition]?.state === 'waiting';
  if (job.ended) return terminal(job);
  if (job.paused || job.cancelRequested !== undefined || !waiting || decision.number !== job.decisions + 1) {
    return reject('DECISION_OUTDATED', 'the job has moved on since this decision was made');
  }
  const decided: JobEvent = { type: 'PlacementDecided', data: decision };
  if (!reservation) {
    const same = job.lastDecision !== undefined && deferralKey(job.lastDecision) === deferralKey(decision);
    return same ? accept() : accept(decided);
  }
  const attempt = (job.partitions[decision.partition]?.failures ?? 0) + 1;
  const fencingToken = job.reservations + 1;
  const data = { ...reservation, partition: decision.partition, attempt, fencingToken, at };
  return accept<JobEvent>(decided, { type: 'ExecutionReserved', data });
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

/** A claim that the stream knows is not abandoned; one that it does not know is fenced off. */
const abandon = ({ executionId, nodeId, at }: AbandonReservation, job: JobState): Decided<JobEvent> =>
  job.executions[executionId] ? accept() : accept({ type: 'ReservationAbandoned', data: { executionId, nodeId, at } });

const declareLost = ({ executionId, reason, at }: DeclareExecutionLost, job: JobState): Decided<JobEvent> => {
  const execution: Execution | undefined = job.executions[executionId];
  if (!execution || !isLive(execution)) return accept();
  const ending = { class: 'node-lost' as const, code: 'node-lost', message: reason };
  return accept(
    { type: 'ExecutionLost', data: { executionId, reason, at } },
    ...afterFailed(job, execution, ending, at),
  );
};
