import { formatBytes, formatDuration } from '#contracts';
import type { Consumption, Decision, JobEvent } from '#contracts';

type DataOf<Type extends JobEvent['type']> = Extract<JobEvent, { type: Type }>['data'];

/** Every event in words; the compiler refuses one that is missing. */
const LINES: { readonly [Type in JobEvent['type']]: (data: DataOf<Type>) => string } = {
  JobSubmitted: ({ account, spec }) => `submitted by ${account} for project ${spec.project}`,
  JobPriorityChanged: ({ priority }) => `priority is now ${priority}`,
  JobPaused: ({ reason }) => `paused: ${reason}`,
  JobResumed: () => 'resumed',
  PlacementDecided: (decision) => decisionLine(decision),
  ExecutionReserved: ({ nodeId, attempt, confirmBy, contract }) =>
    `reserved ${contract.cpu} cores, ${formatBytes(contract.memory)} on ${nodeId} (attempt ${attempt}), ` +
    `to be confirmed by ${timeOf(confirmBy)}`,
  ReservationConfirmed: () => 'confirmed by the node',
  ReservationDeclined: ({ reason }) => `declined by the node: ${reason}`,
  ReservationExpired: () => 'the node did not confirm in time',
  ReservationAbandoned: ({ nodeId }) => `an unfinished reservation on ${nodeId} was fenced off`,
  ExecutionPreparing: () => 'fetching inputs',
  ExecutionStarted: () => 'started',
  ExecutionProgressed: ({ fraction, message }) => `${Math.round(fraction * 100)} %${message && ` ${message}`}`,
  ExecutionPaused: () => 'stopped in place',
  ExecutionResumed: () => 'goes on',
  ExecutionPublishing: () => 'storing outputs',
  ExecutionSucceeded: ({ artifacts, consumption }) =>
    `succeeded: ${count(artifacts.length, 'artifact')}, ${usedLine(consumption)}`,
  ExecutionFailed: ({ class: kind, code, message }) => `try failed (${kind}, ${code}): ${message}`,
  ExecutionLost: ({ reason }) => `try lost: ${reason}`,
  ExecutionCancelled: ({ reason }) => `try stopped: ${reason}`,
  LateResultRejected: ({ report, nodeId, reason }) =>
    `a late report (${report}) of ${nodeId} changed nothing: ${reason}`,
  JobRequeued: ({ message }) => `waits again: ${message}`,
  JobCancelRequested: ({ reason }) => `cancellation asked for: ${reason}`,
  JobCompleted: () => 'completed',
  JobFailed: ({ class: kind, message }) => `failed (${kind}): ${message}`,
  JobCancelled: ({ reason }) => `cancelled: ${reason}`,
};

/** What happened, in one line for people. A type from a newer server is told by its name. */
export const eventLine = (event: JobEvent): string => {
  const line = LINES[event.type] as ((data: JobEvent['data']) => string) | undefined;
  return line ? line(event.data) : (event as { type: string }).type;
};

const decisionLine = (decision: Decision): string => {
  const [best] = decision.ranking;
  if (decision.outcome === 'placed') {
    const score = best ? `, score ${best.score.toFixed(3)}` : '';
    const margin =
      decision.margin === undefined
        ? ''
        : `, ${decision.margin.toFixed(3)} ahead of ${decision.runnerUp ?? 'the next'}`;
    const of = `${decision.eligible} of ${count(decision.considered, 'node')} eligible`;
    return `decision ${decision.number}: placed on ${decision.winner ?? '?'} (${of}${score}${margin})`;
  }
  const reasons = decision.filtered
    .filter(({ nodes }) => nodes > 0)
    .map(({ reason, nodes }) => `${reason} on ${nodes}`);
  const why = reasons.length > 0 ? reasons.join(', ') : 'no node has enrolled yet';
  return `decision ${decision.number}: ${decision.outcome === 'rejected' ? 'cannot be placed' : 'has to wait'}: ${why}`;
};

const usedLine = ({ wallSeconds, cpuSeconds, maxMemory }: Consumption): string =>
  `${formatDuration(wallSeconds)}, ${formatDuration(cpuSeconds)} of CPU, ${formatBytes(maxMemory)} at most`;

/** `1 artifact`, `2 artifacts`. */
export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** The time of day, UTC, of an instant. */
export const timeOf = (instant: string): string => instant.slice(11, 19);
