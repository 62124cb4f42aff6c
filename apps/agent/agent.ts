import { resolve } from 'node:path';
import type { AssignmentsAnswer, EnrollRequest, Inventory, LeaveAnswer } from '#contracts';
import { systemClock, systemIds, systemRandom, systemTimers } from '#kernel';
import type { Clock, Ids, Random, Timers } from '#kernel';
import { pino } from 'pino';
import { messageOf } from './client/errors.js';
import type { Logger } from 'pino';
import { Refused } from './client/faults.js';
import { Http } from './client/http.js';
import { aborted, backoff, wait, within } from './client/wait.js';
import { Containers } from './containers/containers.js';
import type { Surroundings } from './containers/containers.js';
import { lockData } from './data-lock.js';
import { enrol } from './enrolment/enrol.js';
import { failure } from './executions/ending.js';
import { findEnforcer } from './executions/enforcement.js';
import type { Enforcer } from './executions/enforcement.js';
import { Executions } from './executions/executions.js';
import { Heartbeat } from './heartbeat.js';
import type { InputFetcher } from './inputs/fetch-inputs.js';
import { openInputs } from './inputs/open-inputs.js';
import { detectInventory } from './inventory/detect.js';
import type { InventoryOverrides } from './inventory/detect.js';
import { InventoryWatch } from './inventory/inventory-watch.js';
import { Journal } from './journal/journal.js';
import { Sampler } from './metering/sampler.js';
import type { AgentOptions } from './options.js';
import { Publisher } from './outputs/publish.js';
import { ReportQueue } from './reports/report-queue.js';
import { chooseTaskUser } from './runner/task-user.js';
import type { TaskUser } from './runner/task-user.js';

export type { AgentOptions } from './options.js';

/** An agent that is enrolled and polling. */
export interface RunningAgent {
  readonly nodeId: string;
  /** Looks at the machine again and tells the server what changed. */
  probe(): Promise<void>;
  /**
   * Takes nothing new from now on, tells the control plane so, and resolves when all that runs has ended and is reported, when
   * `limit` milliseconds have passed, or when `signal` aborts. What runs can be stopped and paused all the while.
   */
  drain(limit: number, signal?: AbortSignal): Promise<void>;
  /** Ends it; tasks end too (and are told as `agent-stopped`) unless `detach`. Resolves when all is put away. */
  stop(options?: { readonly detach?: boolean }): Promise<void>;
}

interface Ports {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly ids: Ids;
}

const POLL_WAIT = '25s';
const POLL_TIMEOUT = 40_000;
const LAST_REPORTS = 5_000;
/** Milliseconds for the control plane to hear that the agent ends. */
const LEAVING = 2_000;
const MIB = 2 ** 20;

/**
 * Enrols this machine (trying until the server can be reached, or `signal` aborts), takes back what an earlier agent left
 * running, and resolves with an agent that polls for work.
 */
export const runAgent = async (given: AgentOptions, signal?: AbortSignal): Promise<RunningAgent> => {
  const options = { ...given, data: resolve(given.data) };
  const log = options.log ?? pino({ enabled: false });
  const ports: Ports = {
    clock: systemClock,
    timers: systemTimers,
    random: systemRandom,
    ids: systemIds,
    ...options.ports,
  };
  const unlock = await lockData(
    options.data,
    (holder) => log.warn({ data: options.data, holder }, 'another agent has this folder, its end is waited for'),
    options.folderWait,
  );
  const http = new Http(options.url, ports.timers);
  const stopped = new AbortController();
  try {
    const enrolling = signal ? AbortSignal.any([signal, stopped.signal]) : stopped.signal;
    const agent = await Agent.start(options, ports, http, log, stopped, enrolling);
    return {
      nodeId: agent.nodeId,
      probe: () => agent.probe(),
      drain: (limit, until) => agent.drain(limit, until),
      stop: (how) => agent.stop(how).then(unlock),
    };
  } catch (error) {
    await http.close();
    await unlock();
    throw error;
  }
};

/**
 * The parts of a running agent and its one loop, which asks for the assignments.
 *
 * Modes of the loop: *polling* waits up to 25 s for a list that differs from the last; *waiting* is a growing pause after
 * no answer or a server fault; *enrolling* again follows a 401, when the server no longer knows the node's token. `stop`
 * ends it.
 */
class Agent {
  private polling: Promise<void> = Promise.resolve();

  private constructor(
    readonly nodeId: string,
    private readonly options: AgentOptions,
    private readonly ports: Ports,
    private readonly http: Http,
    private readonly log: Logger,
    private readonly stopped: AbortController,
    private readonly reports: ReportQueue,
    private readonly inputs: InputFetcher,
    private readonly executions: Executions,
    private readonly watch: InventoryWatch,
    private readonly heartbeat: Heartbeat,
  ) {}

  static async start(
    options: AgentOptions,
    ports: Ports,
    http: Http,
    log: Logger,
    stopped: AbortController,
    signal: AbortSignal,
  ): Promise<Agent> {
    const { data } = options;
    const { clock, timers, random } = ports;
    const enforcer = await findEnforcer(options.limits ?? {}, timers, log);
    const overrides = overridesOf(options, enforcer.enforcement);
    const taskUser = await chooseTaskUser(options.taskUser, data, log);
    const containers = containersOf(options, taskUser, enforcer, { log, signal: stopped.signal });
    const detect = detector(options, overrides, containers);
    const inventory = await detect(true);
    const enrolment = { data, enrolmentToken: options.token, request: enrolRequest(options, inventory) };
    const { nodeId, heartbeatInterval } = await enrol(enrolment, http, timers, random, log, signal);
    const tell = async (found: typeof inventory): Promise<void> => {
      await http.json('PUT', `/nodes/${nodeId}/inventory`, { body: found });
      executions.resize(found);
    };
    const watch = new InventoryWatch(inventory, () => detect(false), tell, timers, log);
    const rejected = (executionId: string, reason: string): void => executions.discard(executionId, reason);
    const reports = new ReportQueue(nodeId, http, timers, random, log, rejected);
    const inputs = await openInputs(options, { ...ports, nodeId, http, log });
    const publisher = new Publisher(http, timers, random);
    const journal = await Journal.open(data);
    const shared = { data, http, reports, journal, inputs, publisher, sampler: new Sampler(clock, timers) };
    const { grace = 5_000, lanes = {}, logLimit = 64 * MIB } = options;
    const host = { ...shared, ...enforcer, containers, taskUser, clock, timers, random, log, lanes, grace, logLimit };
    const executions = new Executions(host, inventory);
    const heartbeat = new Heartbeat(nodeId, data, http, () => executions.ids(), clock, timers, log);
    const agent = new Agent(nodeId, options, ports, http, log, stopped, reports, inputs, executions, watch, heartbeat);
    await executions.restore();
    heartbeat.start(heartbeatInterval * 1000);
    watch.start();
    agent.polling = agent.poll();
    return agent;
  }

  probe(): Promise<void> {
    return this.watch.look();
  }

  async drain(limit: number, signal?: AbortSignal): Promise<void> {
    this.executions.close();
    const waiting = this.executions.ids().length;
    this.log.info({ executions: waiting, seconds: limit / 1000 }, 'the node takes nothing new and waits for what runs');
    const leaving = this.leave();
    const idle = this.executions.idle();
    await within(this.ports.timers, limit, signal ? Promise.race([idle, aborted(signal)]) : idle);
    await leaving;
  }

  async stop({ detach = this.options.detach ?? false }: { readonly detach?: boolean } = {}): Promise<void> {
    if (this.hasStopped()) return;
    this.stopped.abort();
    this.watch.stop();
    await this.polling;
    if (detach) await this.executions.leave();
    else await this.executions.stop(failure('infrastructure', 'agent-stopped', 'the agent on the node was stopped'));
    await within(this.ports.timers, LAST_REPORTS, this.reports.idle());
    this.heartbeat.stop();
    await this.inputs.stop();
    this.reports.stop();
    await this.http.close();
  }

  /** A control plane that cannot be told finds out by the declines, and by the silence after them. */
  private async leave(): Promise<void> {
    try {
      await this.http.json<LeaveAnswer>('POST', `/nodes/${this.nodeId}/leave`, { timeout: LEAVING });
    } catch (error) {
      this.log.warn({ reason: messageOf(error) }, 'the control plane could not be told that the node leaves');
    }
  }

  private hasStopped(): boolean {
    return this.stopped.signal.aborted;
  }

  private async poll(): Promise<void> {
    let after = '';
    for (let failures = 0; !this.hasStopped();) {
      try {
        const answer = await this.assignments(after);
        after = answer.revision;
        if (failures > 0) this.reports.kick();
        failures = 0;
        this.executions.reconcile(answer);
      } catch (error) {
        if (this.hasStopped()) return;
        this.log.warn({ reason: messageOf(error) }, 'no assignments');
        if (error instanceof Refused && [401, 403, 404].includes(error.status)) await this.enrolAgain();
        await wait(this.ports.timers, backoff(failures, this.ports.random, 5_000), this.stopped.signal);
        failures += 1;
      }
    }
  }

  private assignments(after: string): Promise<AssignmentsAnswer> {
    const query = new URLSearchParams({ ...(after !== '' && { after }), wait: POLL_WAIT });
    const path = `/nodes/${this.nodeId}/assignments?${query.toString()}`;
    return this.http.json('GET', path, { timeout: POLL_TIMEOUT, signal: this.stopped.signal });
  }

  private async enrolAgain(): Promise<void> {
    const { data, token } = this.options;
    const enrolment = { data, enrolmentToken: token, request: enrolRequest(this.options, this.watch.inventory) };
    const { timers, random } = this.ports;
    try {
      await enrol(enrolment, this.http, timers, random, this.log, this.stopped.signal);
    } catch (error) {
      if (!this.hasStopped()) this.log.error({ reason: messageOf(error) }, 'the node could not enrol again');
    }
  }
}

/** Looks at the machine: at all of it or, `quick`, at what is seen at once. */
const detector =
  ({ data, probes = {} }: AgentOptions, overrides: InventoryOverrides, containers: Containers) =>
  async (quick: boolean): Promise<Inventory> => {
    const found = detectInventory(data, overrides, probes, quick);
    const [inventory, container] = await Promise.all([found, containers.look(quick)]);
    return { ...inventory, ...(container && { container }) };
  };

const containersOf = (
  { data, containers = {} }: AgentOptions,
  taskUser: TaskUser | undefined,
  { enforcement }: Enforcer,
  ports: Pick<Surroundings, 'log' | 'signal'>,
): Containers => {
  const { uid, gid } = taskUser ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  return new Containers(containers, { data, user: { uid, gid }, limited: enforcement !== 'none', ...ports });
};

/** Jobs with inputs by plain http are only for nodes with this label. */
const HTTP_LABEL = 'http-inputs';

/** What the agent says of itself in labels that a configuration may replace. */
const overridesOf = ({ inventory = {}, allowHttp }: AgentOptions, limits: string): InventoryOverrides => ({
  ...inventory,
  labels: { limits, ...(allowHttp === true && { [HTTP_LABEL]: 'true' }), ...inventory.labels },
});

const enrolRequest = (options: AgentOptions, inventory: EnrollRequest['inventory']): EnrollRequest => ({
  name: options.name,
  owner: options.owner ?? 'operator',
  institution: options.institution ?? 'local',
  inventory,
  ...(options.policy && { policy: options.policy }),
});
