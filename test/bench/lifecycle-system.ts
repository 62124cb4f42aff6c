import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { Pool } from 'undici';
import { issueToken } from '#platform/auth';
import { SECRET, TestSystem } from '../system/index.js';
import { processorTime, treeTime } from './processor-time.js';
import type { SimulationNews, SimulationOrder } from './lifecycle-agents.js';

export type ProcessName = 'orchestrator' | 'event store' | 'postgres' | 'agents' | 'submitter';

/** Microseconds of processor time by process. */
export type ProcessorTimes = Readonly<Record<ProcessName, number>>;

/** What is known of one job; moments by `sharedNow`. */
export interface JobTimes {
  assigned?: number;
  ended?: number;
}

export const NODES = Array.from({ length: 20 }, (_, index) => `sim-${String(index + 1)}`);

/**
 * Everything that a job meets, each a process of its own and durable as users run it: event store, Postgres, one control
 * plane, and one process that speaks for the agents of all nodes. This process submits.
 */
export class LifecycleSystem {
  readonly times = new Map<string, JobTimes>();
  private readonly wakers = new Map<string, () => void>();
  private failure: Error | undefined;

  private constructor(
    readonly system: TestSystem,
    private readonly agents: ChildProcess,
    private readonly pool: Pool,
    private readonly token: string,
  ) {}

  static async start(): Promise<LifecycleSystem> {
    const nodeOptions = process.env.BENCH_NODE_OPTIONS;
    const profiled = nodeOptions === undefined ? {} : { nodeOptions };
    const system = await TestSystem.start({ durable: true, env: { LOG_LEVEL: 'warn' }, ...profiled });
    try {
      const agents = await startAgents(system);
      const token = await issueToken(SECRET, { role: 'researcher', account: 'ada' });
      const started = new LifecycleSystem(system, agents, new Pool(system.url, { connections: 64 }), token);
      agents.on('message', (news) => started.hear(news as SimulationNews));
      return started;
    } catch (error) {
      await system.stop();
      throw error;
    }
  }

  /** Submits a job file; answers its id and the position behind which it can be read. */
  async submit(name: string): Promise<{ id: string; position: string }> {
    const task = { command: ['true'] };
    const file = { name, project: 'demo', resources: { cpu: 0.5, memory: '64MiB' }, task };
    const answer = await this.request('POST', '/jobs', file);
    return { id: (answer.body as { id: string }).id, position: String(answer.headers['escalon-position']) };
  }

  /** A page of the list of jobs, once the read models have passed the position. */
  async list(query: string, position?: string): Promise<{ items: { id: string }[]; next: string | null }> {
    const headers = position === undefined ? {} : { 'escalon-min-position': position };
    for (;;) {
      const answer = await this.request('GET', `/jobs?${query}`, undefined, headers);
      // The server waits two seconds for its read models; here it is what takes as long as it takes that is measured.
      if (answer.headers['escalon-stale'] === undefined) return answer.body as never;
    }
  }

  timesOf(jobId: string): JobTimes {
    const known = this.times.get(jobId) ?? {};
    this.times.set(jobId, known);
    return known;
  }

  /** Resolves when the job's node was told that its result is recorded. */
  ended(jobId: string): Promise<void> {
    if (this.failure) throw this.failure;
    if (this.timesOf(jobId).ended !== undefined) return Promise.resolve();
    return new Promise((resolve) => this.wakers.set(jobId, resolve));
  }

  processorTimes(): ProcessorTimes {
    const { user, system } = process.cpuUsage();
    return {
      orchestrator: processorTime(this.system.orchestrators[0]!.pid),
      'event store': processorTime(this.system.eventStore.pid),
      postgres: treeTime(this.system.postgres.pid),
      agents: processorTime(this.agents.pid!),
      submitter: user + system,
    };
  }

  /** Ends the processes in order, so that each can write down its profile. */
  async stop(): Promise<void> {
    this.agents.disconnect();
    await this.pool.destroy();
    await this.system.orchestrators[0]?.stop();
    await this.system.eventStore.stop();
    await this.system.stop();
  }

  private hear({ assigned = [], ended = [], failure }: SimulationNews): void {
    for (const { jobId, at } of assigned) this.timesOf(jobId).assigned ??= at;
    for (const { jobId, at } of ended) {
      this.timesOf(jobId).ended ??= at;
      this.wakers.get(jobId)?.();
      this.wakers.delete(jobId);
    }
    if (failure === undefined) return;
    this.failure = new Error(`the simulated agents gave up: ${failure}\n${this.system.report()}`);
    throw this.failure;
  }

  private async request(method: 'GET' | 'POST', path: string, body?: unknown, headers: object = {}) {
    const answer = await this.pool.request({
      method,
      path: `/v1${path}`,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${String(answer.statusCode)} ${text}`);
    return { headers: answer.headers, body: JSON.parse(text) as unknown };
  }
}

const startAgents = async (system: TestSystem): Promise<ChildProcess> => {
  const token = await issueToken(SECRET, { role: 'node', account: 'enrol' });
  const order: SimulationOrder = { url: system.url, token, count: NODES.length };
  const agents = fork(join(import.meta.dirname, 'lifecycle-agents.js'));
  agents.send(order);
  await new Promise<void>((resolve, reject) => {
    agents.once('message', ({ failure }: SimulationNews) => (failure ? reject(new Error(failure)) : resolve()));
    agents.once('exit', (code) => reject(new Error(`the simulated agents ended with ${String(code)}`)));
  });
  return agents;
};
