import { accept, reject, unreachable } from '#kernel';
import type { Decision, Instant } from '#kernel';
import type { ExecutionReport, FailedReport, ReportExecution } from './commands.js';
import { afterFailed, afterReturned, afterSucceeded } from './ends.js';
import type { JobEvent, ReportType } from './events.js';
import type { RetryStrategy } from './retry.js';
import { isSame, isWithin } from './smaller-contract.js';
import { isLive } from './state.js';
import type { Execution, JobState } from './state.js';

/** Why a report changes nothing, if so. Stable words: the agent reads them. */
export type StaleReason = 'UNKNOWN_EXECUTION' | 'WRONG_NODE' | 'STALE_TOKEN' | 'EXECUTION_ENDED';

export interface ReportAnswer {
  readonly executionId: string;
  readonly accepted: boolean;
  readonly reason?: string;
}

/**
 * What a node is told after its report was handled, from the state alone: so the same report again, from whatever
 * process, gets the same answer.
 */
export const answerReport = (job: JobState, nodeId: string, report: ExecutionReport): ReportAnswer => {
  const { executionId } = report;
  const stale = staleReason(job, nodeId, report);
  if (stale === undefined) return { executionId, accepted: true };
  const state = job.executions[executionId]?.state;
  const known = stale === 'EXECUTION_ENDED' && state !== undefined ? `${stale}: ${state}` : stale;
  return { executionId, accepted: false, reason: known };
};

const staleReason = (job: JobState, nodeId: string, report: ExecutionReport): StaleReason | undefined => {
  const execution = job.executions[report.executionId];
  if (!execution) return 'UNKNOWN_EXECUTION';
  if (execution.nodeId !== nodeId) return 'WRONG_NODE';
  if (execution.fencingToken !== report.fencingToken) return 'STALE_TOKEN';
  if (isLive(execution)) return undefined;
  // Its node must learn that it is over, even by repeating what was right before: another try may run elsewhere.
  if (execution.state === 'lost' || execution.endedBySystem) return 'EXECUTION_ENDED';
  return execution.accepted.includes(report.type) || isOldTick(execution, report.type) ? undefined : 'EXECUTION_ENDED';
};

const ENDS: readonly ReportType[] = ['succeed', 'fail', 'decline'];

/** Progress of a run that its own node has ended was sent before that end; as telemetry it leaves no mark to know it by. */
const isOldTick = ({ accepted }: Execution, report: ReportType): boolean =>
  report === 'progress' && ENDS.some((end) => accepted.includes(end));

/** A current report moves its execution on; one that is late is recorded once; one from a stranger leaves no trace. */
export const decideReport = (
  { nodeId, report, at }: ReportExecution,
  job: JobState,
  strategies: readonly RetryStrategy[],
): Decision<JobEvent> => {
  const execution = job.executions[report.executionId];
  const stale = staleReason(job, nodeId, report);
  if (!execution || stale === 'UNKNOWN_EXECUTION' || stale === 'WRONG_NODE') return accept();
  if (stale !== undefined) return lateReport(execution, nodeId, report, stale, at);
  if (!isLive(execution)) return accept();
  if (report.type === 'decline' && !isBefore(execution, 'running')) {
    return reject('EXECUTION_STATE', `the execution is ${execution.state}: only what has not started can be declined`);
  }
  if (report.type === 'confirm' && report.contract && !isWithin(report.contract, execution.contract)) {
    return reject('CONTRACT_NOT_SMALLER', 'an execution is confirmed with what was reserved for it, or with less');
  }
  // Of an execution that outlives its job only the end matters.
  if (job.ended && !ENDS.includes(report.type)) return accept();
  return accept(...onReport(job, execution, report, at, strategies));
};

const lateReport = (
  execution: Execution,
  nodeId: string,
  report: ExecutionReport,
  reason: StaleReason,
  at: Instant,
): Decision<JobEvent> => {
  if (execution.late.includes(report.type)) return accept();
  const { executionId, fencingToken, type } = report;
  return accept({
    type: 'LateResultRejected',
    data: { executionId, fencingToken, report: type, nodeId, reason, at },
  });
};

const onReport = (
  job: JobState,
  execution: Execution,
  report: ExecutionReport,
  at: Instant,
  strategies: readonly RetryStrategy[],
): JobEvent[] => {
  const { executionId } = execution;
  switch (report.type) {
    case 'confirm':
      return confirmed(execution, at, report.contract);
    case 'decline':
      return declined(job, execution, report.reason, at);
    case 'prepare':
      return isBefore(execution, 'preparing')
        ? [...confirmed(execution, at), { type: 'ExecutionPreparing', data: { executionId, at } }]
        : [];
    case 'start':
      return started(execution, at);
    case 'progress':
      return progressed(execution, report.fraction, report.message ?? '', at);
    case 'pause':
      return execution.state === 'running' ? [{ type: 'ExecutionPaused', data: { executionId, at } }] : [];
    case 'resume':
      return execution.state === 'paused' ? [{ type: 'ExecutionResumed', data: { executionId, at } }] : [];
    case 'publish':
      return isBefore(execution, 'publishing')
        ? [...started(execution, at), { type: 'ExecutionPublishing', data: { executionId, at } }]
        : [];
    case 'succeed': {
      const { exitCode, artifacts, consumption } = report;
      const data = { executionId, exitCode, artifacts, consumption, at };
      const before = job.ended ? [] : started(execution, at);
      return [...before, { type: 'ExecutionSucceeded', data }, ...afterSucceeded(job, execution, data)];
    }
    case 'fail':
      return failed(job, execution, report, at, strategies);
    default:
      return unreachable(report);
  }
};

const PHASES: readonly Execution['state'][] = ['reserved', 'confirmed', 'preparing', 'running', 'paused', 'publishing'];

const isBefore = (execution: Execution, state: Execution['state']): boolean =>
  PHASES.indexOf(execution.state) < PHASES.indexOf(state);

/** A later report implies the confirmation, should that one have been lost on the way. */
const confirmed = ({ executionId, state, contract }: Execution, at: Instant, granted = contract): JobEvent[] => {
  if (state !== 'reserved') return [];
  const smaller = isSame(granted, contract) ? {} : { contract: granted };
  return [{ type: 'ReservationConfirmed', data: { executionId, ...smaller, at } }];
};

const started = (execution: Execution, at: Instant): JobEvent[] =>
  isBefore(execution, 'running')
    ? [...confirmed(execution, at), { type: 'ExecutionStarted', data: { executionId: execution.executionId, at } }]
    : [];

/** Only the passing of a quarter is kept; ticks between are telemetry. */
const progressed = (execution: Execution, fraction: number, message: string, at: Instant): JobEvent[] => {
  const bounded = Math.min(1, Math.max(0, fraction));
  const passed = Math.floor(bounded * 4) > execution.quarters;
  if (!passed || isBefore(execution, 'running')) return [];
  return [
    { type: 'ExecutionProgressed', data: { executionId: execution.executionId, fraction: bounded, message, at } },
  ];
};

const declined = (job: JobState, execution: Execution, reason: string, at: Instant): JobEvent[] => {
  const event: JobEvent = { type: 'ReservationDeclined', data: { executionId: execution.executionId, reason, at } };
  return [event, ...afterReturned(job, execution, { class: 'declined', code: 'declined', message: reason }, at)];
};

/**
 * A run that failed; or one that was never begun, which costs no attempt unless its class forbids another (an input that is
 * missing will be missing again). A stop that the job asked for ends it as cancelled, one that it did not is a preemption. What
 * was seen to run for too long ends as that, whatever its node makes of it.
 */
const failed = (
  job: JobState,
  execution: Execution,
  report: FailedReport,
  at: Instant,
  strategies: readonly RetryStrategy[],
): JobEvent[] => {
  if (report.class === 'cancelled' && !execution.timedOut) return stopped(job, execution, report, at);
  const { executionId } = execution;
  const { class: kind, code, message } = execution.timedOut ?? report;
  const { exitCode, diagnostics = {}, artifacts = [], consumption } = report;
  const used = consumption === undefined ? {} : { consumption };
  const exit = exitCode === undefined ? {} : { exitCode };
  const data = { executionId, class: kind, code, message, ...exit, diagnostics, artifacts, ...used, at };
  const before = job.ended || !tellsOfRun(report) ? [] : started(execution, at);
  const ran = before.length > 0 || execution.startedAt !== undefined;
  const retried = job.spec?.type === 'daemon' || job.spec?.retry.on.includes(kind) === true;
  const ending = { class: kind, code, message };
  const then =
    ran || !retried ? afterFailed(job, execution, ending, at, strategies) : afterReturned(job, execution, ending, at);
  return [...before, { type: 'ExecutionFailed', data }, ...then];
};

/** Only a task that ran has an exit code, fails by itself or takes too long. */
const tellsOfRun = ({ class: kind, exitCode }: FailedReport): boolean =>
  exitCode !== undefined || kind === 'application' || kind === 'timeout';

const stopped = (job: JobState, execution: Execution, report: FailedReport, at: Instant): JobEvent[] => {
  const { code, message, consumption, exitCode, artifacts = [] } = report;
  const used = consumption === undefined ? {} : { consumption };
  const exit = exitCode === undefined ? {} : { exitCode };
  const reason = job.cancelRequested ?? job.ending?.message ?? execution.stopRequested ?? message;
  const data = {
    executionId: execution.executionId,
    reason,
    ...used,
    ...exit,
    ...(artifacts.length === 0 ? {} : { artifacts }),
    at,
  };
  const before = job.ended ? [] : confirmed(execution, at);
  const ending = { class: 'cancelled' as const, code, message: reason };
  return [...before, { type: 'ExecutionCancelled', data }, ...afterReturned(job, execution, ending, at)];
};
