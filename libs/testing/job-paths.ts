import type { ExecutionStateName, JobCommand } from '#jobs';
import { aConfirmation, aJobSpec, aFailure, aPlacement, aReport, aSubmission, aSuccess } from './builders.js';
import { second } from './time.js';

/* One ordinary way into each state: job `job-1`, its first execution `job-1.1` on `node-1`, the last command at second 10. */

const placed: readonly JobCommand[] = [aSubmission(), aPlacement(1, 1)];
const confirmed: readonly JobCommand[] = [...placed, aConfirmation(1, 2)];
const running: readonly JobCommand[] = [...confirmed, aReport(1, 4, { type: 'start' })];
const cancel: JobCommand = { type: 'CancelJob', reason: 'mistake', byUser: true, at: second(10) };

/** The commands that bring a job with one partition, and its first execution, into a state. */
export const EXECUTION_PATHS: Readonly<Record<ExecutionStateName, readonly JobCommand[]>> = {
  reserved: placed,
  confirmed,
  preparing: [...confirmed, aReport(1, 3, { type: 'prepare' })],
  running,
  paused: [...running, aReport(1, 10, { type: 'pause' })],
  publishing: [...running, aReport(1, 10, { type: 'publish' })],
  succeeded: [...running, aSuccess(1, 10)],
  failed: [...running, aFailure(1, 10)],
  lost: [...running, { type: 'DeclareExecutionLost', executionId: 'job-1.1', reason: 'silent', at: second(10) }],
  expired: [...placed, { type: 'ExpireReservation', executionId: 'job-1.1', at: second(16) }],
  declined: [...placed, aReport(1, 2, { type: 'decline', reason: 'busy' })],
  cancelled: [...placed, cancel],
};

/** The commands that bring a job into a state. */
export const JOB_PATHS = {
  absent: [],
  blocked: [aSubmission({ spec: aJobSpec({ dependsOn: [{ job: 'job-0', when: 'completed' }] }) })],
  queued: [aSubmission()],
  reserved: placed,
  confirmed,
  running,
  paused: [...running, { type: 'PauseJob', reason: 'maintenance', at: second(10) }],
  cancelling: [...running, cancel],
  completed: [...running, aSuccess(1, 10)],
  failed: [
    ...running,
    aFailure(1, 10, { class: 'application', code: 'exit-code', message: 'exit code 3', exitCode: 3 }),
  ],
  cancelled: [aSubmission(), cancel],
} as const satisfies Readonly<Record<string, readonly JobCommand[]>>;
