import type { FailureClass } from '#contracts';
import type { Diagnostics } from './diagnostics.js';
import { isDiskFull, messageOf } from '../client/errors.js';

/** Why an execution did not succeed. `code` is stable, for programs; `message` names the values, for people. */
export interface Failure {
  readonly class: FailureClass;
  readonly code: string;
  readonly message: string;
  readonly diagnostics?: Readonly<Record<string, unknown>>;
}

/** How an execution's work on this machine ended; without `failure` it went well. */
export interface Ending {
  readonly exitCode?: number;
  /** CPU time of the task as its supervisor counted it. */
  readonly cpuSeconds: number;
  readonly failure?: Failure;
  /** What there was to see, for the report of a failure, also of one that comes after the run. */
  readonly diagnostics?: Diagnostics;
}

export const failure = (
  kind: FailureClass,
  code: string,
  message: string,
  diagnostics?: Readonly<Record<string, unknown>>,
): Failure => ({ class: kind, code, message, ...(diagnostics === undefined ? {} : { diagnostics }) });

/** Of a task that an earlier agent started. */
export const GONE = failure(
  'infrastructure',
  'agent-restarted',
  'the agent restarted and the task is gone, leaving no exit status',
);

/** An expected failure on its way up through calls that otherwise answer something else. */
export class ExecutionFault extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
    this.name = 'ExecutionFault';
  }
}

/** The failure that an error means: a stated one as it is, a full disk as `resource`, the rest as the node's own trouble. */
export const failureOf = (error: unknown, doing: string): Failure => {
  if (error instanceof ExecutionFault) return error.failure;
  return isDiskFull(error)
    ? failure('resource', 'disk-full', `no space left on the node's disk while ${doing}`)
    : failure('infrastructure', 'agent-fault', `${doing}: ${messageOf(error)}`);
};
