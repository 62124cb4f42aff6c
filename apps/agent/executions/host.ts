import type { Clock, Random, Timers } from '#kernel';
import type { Logger } from 'pino';
import type { Http } from '../client/http.js';
import type { Containers } from '../containers/containers.js';
import type { InputFetcher } from '../inputs/fetch-inputs.js';
import type { Journal } from '../journal/journal.js';
import type { Sampler } from '../metering/sampler.js';
import type { Publisher } from '../outputs/publish.js';
import type { ReportQueue } from '../reports/report-queue.js';
import type { TaskUser } from '../runner/task-user.js';
import type { Enforcer } from './enforcement.js';
import type { LaneChoices } from './lanes.js';

/** What all executions of an agent share. */
export interface ExecutionHost extends Enforcer {
  readonly data: string;
  readonly http: Http;
  readonly reports: ReportQueue;
  readonly journal: Journal;
  readonly inputs: InputFetcher;
  readonly publisher: Publisher;
  readonly sampler: Sampler;
  readonly containers: Containers;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Logger;
  readonly lanes: LaneChoices;
  /** Milliseconds between asking a task to end and making it. */
  readonly grace: number;
  /** Bytes of each output stream that are kept and sent at most. */
  readonly logLimit: number;
  /** Whom tasks run as; absent, the agent's own user. */
  readonly taskUser?: TaskUser | undefined;
}
