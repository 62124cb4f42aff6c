import { explainDecision, formatBytes } from '#placement';
import type { Decision } from '../domain/decision.js';
import type { JobEvent, JobRequeued } from '../domain/events.js';
import type { JobRow } from './tables.js';

export const FIRST_LOOK = 'waits for its first look at the nodes';

/** How many jobs one line names. */
const MOST_NAMED = 5;

/** What a blocked job waits for, with the states of those where they are known. */
export const waitsForJobs = (jobs: readonly { readonly job: string; readonly state?: string | null }[]): string => {
  const named = jobs.slice(0, MOST_NAMED).map(({ job, state }) => (state ? `${job} (${state})` : job));
  const more = jobs.length > MOST_NAMED ? ` and ${jobs.length - MOST_NAMED} more` : '';
  return `waits for job${jobs.length === 1 ? '' : 's'} ${named.join(', ')}${more}`;
};

type ReasonedRow = Pick<JobRow, 'reason' | 'blocked' | 'paused' | 'endedAt'>;

/** The job's one line after an event: why it waits, stops or failed; null when there is nothing to explain. */
export const reasonAfter = (row: ReasonedRow, event: JobEvent): string | null => {
  switch (event.type) {
    case 'JobFailed':
      return event.data.message;
    case 'JobCancelled':
      return `cancelled: ${event.data.reason}`;
    case 'JobCompleted':
      return null;
    default:
      return row.endedAt === null ? whileLive(row, event) : row.reason;
  }
};

const whileLive = ({ reason, blocked, paused }: ReasonedRow, event: JobEvent): string | null => {
  switch (event.type) {
    case 'PlacementDecided':
      return event.data.outcome === 'placed' ? reason : whyNot(event.data);
    case 'JobCancelRequested':
      return `stopping: ${event.data.reason}`;
    case 'JobPaused':
      return `paused: ${event.data.reason}`;
    case 'JobResumed':
      return blocked ? 'waits for other jobs' : 'resumed';
    case 'DependenciesMet':
      return paused ? reason : FIRST_LOOK;
    case 'JobRequeued':
      return requeued(event.data);
    case 'PartitionFailed':
      return `part ${event.data.partition} is given up: ${event.data.message}`;
    case 'EvaluationFailed':
      return `could not be looked at, and is when something changes: ${event.data.reason}`;
    default:
      return ofExecution(reason, event);
  }
};

const requeued = ({ cause, notBefore, message, memory }: JobRequeued['data']): string => {
  if (cause === 'ended') return `replaced after ${notBefore}: ${message}`;
  const more = memory === undefined ? '' : ` with ${formatBytes(memory)} of memory`;
  return `tried again after ${notBefore}${more}: ${message}`;
};

const ofExecution = (reason: string | null, event: JobEvent): string | null => {
  switch (event.type) {
    case 'ExecutionReserved':
      return `reserved on ${event.data.nodeId}, which has until ${event.data.confirmBy} to confirm`;
    case 'ReservationConfirmed':
      return 'confirmed by the node, not started yet';
    case 'ExecutionPreparing':
      return 'the node fetches inputs';
    case 'ReservationDeclined':
      return `the node declined: ${event.data.reason}`;
    case 'ReservationExpired':
      return 'the node did not confirm in time';
    case 'ExecutionPaused':
      return 'paused on its node';
    case 'ExecutionFailed':
      return event.data.message;
    case 'ExecutionLost':
    case 'ExecutionCancelled':
      return event.data.reason;
    case 'ExecutionTimedOut':
      return `timed out after ${event.data.limit} s, its node has yet to end it`;
    case 'ExecutionStopRequested':
      return `stopping on its node: ${event.data.reason}`;
    case 'ExecutionStarted':
    case 'ExecutionResumed':
    case 'ExecutionPublishing':
    case 'ExecutionSucceeded':
      return null;
    default:
      return reason;
  }
};

/** What the outcome is, and the reasons that hold most nodes back: one line of sentences that end. */
const whyNot = (decision: Decision): string => {
  const [outcome = '', ...rest] = explainDecision(decision);
  const reasons = rest.filter((line) => line.startsWith(WHY_NOT)).map((line) => line.slice(WHY_NOT.length));
  return reasons.length === 0 ? outcome : `${outcome} ${reasons.slice(0, MOST_REASONS).join('; ')}.`;
};

const WHY_NOT = 'Why not: ';
const MOST_REASONS = 3;
