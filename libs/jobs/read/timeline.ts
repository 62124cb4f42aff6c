import { unreachable } from '#kernel';
import { formatBytes } from '#placement';
import { executionOf } from './executions.js';
import { timeOf } from './job-row.js';
import type { RecordedEvent } from '#event-store';
import type { Decision } from '../domain/decision.js';
import type { JobEvent, TargetsChanged } from '../domain/events.js';
import type { JobTimelineRow } from './tables.js';

/** The movement that an event is to the job's readers. */
export const timelineRow = (recorded: RecordedEvent, event: JobEvent, jobId: string): JobTimelineRow => ({
  jobId,
  revision: recorded.revision.toString(),
  position: recorded.position.toString(),
  at: timeOf(event),
  type: event.type,
  actor: recorded.metadata.actor,
  title: titleOf(event),
  executionId: executionOf(event) ?? null,
  data: detailsOf(event),
});

/** What the sentence leaves out, without what other tables hold in full. */
const detailsOf = (event: JobEvent): object => {
  switch (event.type) {
    case 'JobSubmitted': {
      const { spec, ...details } = event.data;
      return { ...details, type: spec.type };
    }
    case 'PlacementDecided': {
      const { number, outcome, partition, target, considered, eligible, winner, runnerUp, margin } = event.data;
      return { number, outcome, partition, target, considered, eligible, winner, runnerUp, margin };
    }
    case 'ExecutionSucceeded':
    case 'ExecutionFailed':
      return { ...event.data, artifacts: event.data.artifacts.length };
    default:
      return event.data;
  }
};

type DataOf<Type extends JobEvent['type']> = Extract<JobEvent, { readonly type: Type }>['data'];

/** One sentence for each type; the compiler refuses one that is missing. */
const TITLES: { readonly [Type in JobEvent['type']]: (data: DataOf<Type>) => string } = {
  JobSubmitted: ({ account, spec, rerunOf }) =>
    `${account} submitted the job to project ${spec.project}${rerunOf === undefined ? '' : `, as a rerun of ${rerunOf}`}`,
  JobPriorityChanged: ({ priority }) => `The priority is ${priority} now`,
  JobPaused: ({ reason }) => `Paused: ${reason}`,
  JobResumed: () => 'Resumed',
  DependenciesMet: ({ dependencies, inputs = [] }) =>
    `What it waited for has ended: ${dependencies.map(({ job, outcome }) => `job ${job} ${outcome}`).join(', ')}${
      inputs.length > 0 ? `; reads ${inputs.map(({ source }) => source).join(', ')} as it is now` : ''
    }`,
  TargetsChanged: (change) => targetsTitle(change),
  PlacementDecided: (decision) => decisionTitle(decision),
  ExecutionReserved: ({ nodeId, attempt, confirmBy }) =>
    `Attempt ${attempt} reserved on ${nodeId}, to be confirmed by ${confirmBy}`,
  ReservationConfirmed: ({ contract }) =>
    contract?.batchSize === undefined
      ? 'The node confirmed the reservation'
      : `The node confirmed the reservation with batches of ${contract.batchSize}`,
  ReservationDeclined: ({ reason }) => `The node declined the reservation: ${reason}`,
  ReservationExpired: () => 'The node did not confirm in time, the reservation expired',
  ReservationAbandoned: ({ nodeId }) => `A claim on ${nodeId} that never reached the job was given up`,
  ExecutionPreparing: () => 'The node fetches inputs',
  ExecutionStarted: () => 'Started',
  ExecutionProgressed: ({ fraction, message }) =>
    `${Math.round(fraction * 100)} % done${message === '' ? '' : `: ${message}`}`,
  ExecutionPaused: () => 'The node paused the task',
  ExecutionResumed: () => 'The node resumed the task',
  ExecutionPublishing: () => 'The task ended, its outputs are being stored',
  ExecutionSucceeded: ({ exitCode, artifacts }) =>
    `Succeeded with exit code ${exitCode} and ${artifacts.length} artifact${artifacts.length === 1 ? '' : 's'}`,
  ExecutionFailed: (failure) => `Failed (${failure.class}): ${failure.message}${lastWords(failure.diagnostics)}`,
  ExecutionLost: ({ reason }) => `Lost: ${reason}`,
  ExecutionStopRequested: ({ reason }) => `The node was asked to stop it: ${reason}`,
  ExecutionTimedOut: ({ limit }) => `Timed out after ${limit} s, and its node had not ended it`,
  ExecutionCancelled: ({ reason }) => `Stopped on its node: ${reason}`,
  LateResultRejected: ({ report, nodeId, reason }) =>
    `A late report (${report}) from ${nodeId} was set aside: ${reason}`,
  JobRequeued: (data) => requeuedTitle(data),
  PartitionFailed: (failure) => `Part ${failure.partition} is given up (${failure.class}): ${failure.message}`,
  EvaluationFailed: ({ deliveries, reason }) =>
    `Could not be looked at: ${reason}, ${deliveries === 1 ? 'once' : `${deliveries} times`}`,
  EvaluationsSuperseded: ({ evaluations }) =>
    `${evaluations.length === 1 ? 'A look' : `${evaluations.length} looks`} at the job became needless by another one`,
  JobCancelRequested: ({ byUser, reason }) => `${byUser ? 'A user' : 'The system'} asked to cancel: ${reason}`,
  JobCompleted: () => 'Completed',
  JobFailed: (failure) => `The job failed (${failure.class}): ${failure.message}`,
  JobCancelled: ({ reason }) => `Cancelled: ${reason}`,
};

const LONGEST_WORDS = 200;

/** The last line of its diagnostic output: for most programs it says why. */
const lastWords = ({ stderr }: DataOf<'ExecutionFailed'>['diagnostics']): string => {
  const lines = Array.isArray(stderr) ? stderr.filter((line) => typeof line === 'string' && line.trim() !== '') : [];
  const last = lines.at(-1) as string | undefined;
  return last === undefined ? '' : `; its last words: ${last.trim().slice(0, LONGEST_WORDS)}`;
};

const targetsTitle = ({ added, removed }: TargetsChanged['data']): string => {
  const count = (amount: number): string => `${amount} node${amount === 1 ? '' : 's'}`;
  const parts = [
    added.length > 0 ? `${count(added.length)} joined` : '',
    removed.length > 0 ? `${count(removed.length)} left` : '',
  ];
  return `The nodes it runs on changed: ${parts.filter((part) => part !== '').join(', ')}`;
};

const requeuedTitle = ({ cause, message, memory, seenOn }: DataOf<'JobRequeued'>): string => {
  const again = memory === undefined ? 'Waits again' : `Waits to be tried again with ${formatBytes(memory)} of memory`;
  const own = seenOn === undefined ? '' : ` (${cause} was seen on ${seenOn} nodes and counts against the job)`;
  return `${again}: ${message}${own}`;
};

const titleOf = ({ type, data }: JobEvent): string => (TITLES[type] as (data: JobEvent['data']) => string)(data);

const decisionTitle = ({ number, outcome, winner, considered, eligible }: Decision): string => {
  const of = `${eligible} eligible of ${considered} node${considered === 1 ? '' : 's'}`;
  switch (outcome) {
    case 'placed':
      return `Decision ${number} chose ${winner ?? 'a node'}, from ${of}`;
    case 'deferred':
      return `Decision ${number}: waits, ${of}`;
    case 'rejected':
      return `Decision ${number}: no node can ever run it, ${of}`;
    default:
      return unreachable(outcome);
  }
};
