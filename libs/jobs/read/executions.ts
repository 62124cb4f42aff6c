import { unreachable } from '#kernel';
import type { ExecutionFailed, ExecutionReserved, ExecutionSucceeded, JobEvent } from '../domain/events.js';
import { runTimedOut } from '../domain/timeouts.js';
import type { ExecutionRow } from './tables.js';

/** The execution that an event is about, if any. */
export const executionOf = (event: JobEvent): string | undefined =>
  'executionId' in event.data ? event.data.executionId : undefined;

/** Folds an event into the row of the execution that it names; an execution that is not there stays so. */
export const evolveExecution = (
  row: ExecutionRow | undefined,
  event: JobEvent,
  jobId: string,
): ExecutionRow | undefined => {
  if (event.type === 'ExecutionReserved') return reserved(event.data, jobId);
  return row && moved(row, event);
};

const reserved = ({ at, ...claim }: ExecutionReserved['data'], jobId: string): ExecutionRow => ({
  ...claim,
  jobId,
  state: 'reserved',
  reservedAt: at,
  confirmedAt: null,
  preparingAt: null,
  startedAt: null,
  pausedAt: null,
  publishingAt: null,
  endedAt: null,
  progress: 0,
  exitCode: null,
  failure: null,
  artifacts: [],
  consumption: null,
  diagnostics: null,
  lateReports: 0,
});

const moved = (row: ExecutionRow, event: JobEvent): ExecutionRow => {
  switch (event.type) {
    case 'ReservationConfirmed':
      return { ...row, state: 'confirmed', confirmedAt: event.data.at, contract: event.data.contract ?? row.contract };
    case 'ExecutionPreparing':
      return { ...row, state: 'preparing', preparingAt: event.data.at };
    case 'ExecutionStarted':
      return { ...row, state: 'running', startedAt: event.data.at };
    case 'ExecutionProgressed':
      return { ...row, progress: event.data.fraction };
    case 'ExecutionPaused':
      return { ...row, state: 'paused', pausedAt: event.data.at };
    case 'ExecutionResumed':
      return { ...row, state: 'running', pausedAt: null };
    case 'ExecutionPublishing':
      return { ...row, state: 'publishing', publishingAt: event.data.at };
    case 'LateResultRejected':
      return { ...row, lateReports: row.lateReports + 1 };
    default:
      return ended(row, event);
  }
};

const ended = (row: ExecutionRow, event: JobEvent): ExecutionRow => {
  switch (event.type) {
    case 'ReservationDeclined': {
      const failure = { class: 'declined', code: 'declined', message: event.data.reason } as const;
      return { ...row, state: 'declined', endedAt: event.data.at, failure };
    }
    case 'ReservationExpired': {
      const failure = { class: 'expired', code: 'expired', message: 'the node did not confirm in time' } as const;
      return { ...row, state: 'expired', endedAt: event.data.at, failure };
    }
    case 'ExecutionSucceeded':
      return succeeded(row, event.data);
    case 'ExecutionFailed':
      return failed(row, event.data);
    case 'ExecutionLost': {
      const lost = { class: 'node-lost', code: 'node-lost', message: event.data.reason } as const;
      return { ...row, state: 'lost', endedAt: event.data.at, failure: row.failure ?? lost };
    }
    case 'ExecutionCancelled': {
      const { reason, at, consumption = null, exitCode = null, artifacts = [] } = event.data;
      const failure = { class: 'cancelled', code: 'cancelled', message: reason } as const;
      return { ...row, state: 'cancelled', endedAt: at, failure, consumption, exitCode, artifacts };
    }
    case 'ExecutionTimedOut':
      return { ...row, failure: runTimedOut(event.data.limit) };
    case 'ReservationAbandoned':
    case 'ExecutionStopRequested':
      return row;
    default:
      throw new Error(`${event.type} is not about an execution`);
  }
};

const succeeded = (row: ExecutionRow, data: ExecutionSucceeded['data']): ExecutionRow => {
  const { exitCode, artifacts, consumption, at } = data;
  return { ...row, state: 'succeeded', endedAt: at, failure: null, progress: 1, exitCode, artifacts, consumption };
};

const failed = (row: ExecutionRow, data: ExecutionFailed['data']): ExecutionRow => {
  const { class: kind, code, message, exitCode, artifacts, consumption, diagnostics, at } = data;
  return {
    ...row,
    state: 'failed',
    endedAt: at,
    exitCode: exitCode ?? null,
    failure: { class: kind, code, message },
    artifacts,
    consumption: consumption ?? null,
    diagnostics,
  };
};

/** How a live execution counts towards its job's state. */
export type Liveness = 'reserved' | 'running' | 'paused' | 'none';

export const livenessOf = (row: Pick<ExecutionRow, 'state'> | undefined): Liveness => {
  if (!row) return 'none';
  switch (row.state) {
    case 'reserved':
    case 'confirmed':
    case 'preparing':
      return 'reserved';
    case 'running':
    case 'publishing':
      return 'running';
    case 'paused':
      return 'paused';
    case 'succeeded':
    case 'failed':
    case 'lost':
    case 'expired':
    case 'declined':
    case 'cancelled':
      return 'none';
    default:
      return unreachable(row.state);
  }
};
