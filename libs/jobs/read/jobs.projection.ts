import { upcastRecorded } from '#contracts';
import { JOB_STREAM_PREFIX } from '../domain/events.js';
import { evolveExecution, executionOf } from './executions.js';
import { evolveJob } from './job-row.js';
import { decisionsTable, executionsTable, jobTimelineTable, jobsTable } from './tables.js';
import { timelineRow } from './timeline.js';
import type { RecordedEvent } from '#event-store';
import type { Projection, RowReference, Rows } from '#read-store';
import type { JobEvent, PlacementDecided } from '../domain/events.js';
import type { DecisionRow } from './tables.js';

/** The compiler refuses a type that is missing here. */
const EVENT_TYPES: Readonly<Record<JobEvent['type'], true>> = {
  JobSubmitted: true,
  JobPriorityChanged: true,
  JobPaused: true,
  JobResumed: true,
  DependenciesMet: true,
  TargetsChanged: true,
  PlacementDecided: true,
  ExecutionReserved: true,
  ReservationConfirmed: true,
  ReservationDeclined: true,
  ReservationExpired: true,
  ReservationAbandoned: true,
  ExecutionPreparing: true,
  ExecutionStarted: true,
  ExecutionProgressed: true,
  ExecutionPaused: true,
  ExecutionResumed: true,
  ExecutionPublishing: true,
  ExecutionSucceeded: true,
  ExecutionFailed: true,
  ExecutionLost: true,
  ExecutionStopRequested: true,
  ExecutionTimedOut: true,
  ExecutionCancelled: true,
  LateResultRejected: true,
  JobRequeued: true,
  PartitionFailed: true,
  EvaluationFailed: true,
  EvaluationsSuperseded: true,
  JobCancelRequested: true,
  JobCompleted: true,
  JobFailed: true,
  JobCancelled: true,
};

const jobIdOf = (stream: string): string => stream.slice(JOB_STREAM_PREFIX.length);

const touches = ({ data }: RecordedEvent): readonly RowReference[] => {
  const { executionId } = data as { readonly executionId?: string };
  return executionId === undefined ? [] : [[executionsTable, executionId]];
};

const project = (recorded: RecordedEvent, rows: Rows): void => {
  const event = upcastRecorded(recorded) as JobEvent;
  const jobId = jobIdOf(recorded.stream);
  const executionId = executionOf(event);
  const before = executionId === undefined ? undefined : rows.get(executionsTable, executionId);
  const after = executionId === undefined ? undefined : evolveExecution(before, event, jobId);
  if (after && after !== before) rows.put(executionsTable, after);
  const job = evolveJob(rows.get(jobsTable, jobId), event, { before, after });
  if (job) rows.put(jobsTable, job);
  rows.append(jobTimelineTable, timelineRow(recorded, event, jobId));
  if (event.type === 'PlacementDecided') rows.append(decisionsTable, decisionRow(recorded, event, jobId));
};

const decisionRow = (recorded: RecordedEvent, { data }: PlacementDecided, jobId: string): DecisionRow => ({
  jobId,
  number: data.number,
  outcome: data.outcome,
  winner: data.winner ?? null,
  runnerUp: data.runnerUp ?? null,
  time: data.time,
  position: recorded.position.toString(),
  decision: data,
});

/** Jobs, their executions, decisions and movements. */
export const jobsProjection: Projection = {
  name: 'jobs',
  version: 4,
  prefixes: [JOB_STREAM_PREFIX],
  eventTypes: new Set(Object.keys(EVENT_TYPES)),
  main: jobsTable,
  tables: [jobsTable, executionsTable, jobTimelineTable, decisionsTable],
  keyOf: jobIdOf,
  touches,
  project,
};
