import { Agent, request } from 'undici';
import type { Assignment, AssignmentsAnswer, EnrollAnswer, Inventory, Report, ReportAnswer } from '#contracts';
import { systemTimers } from '#kernel';

/** Nodes that only speak the protocol: for benchmarks of the control plane, never for work. */
export interface SimulatedAgentsOptions {
  readonly url: string;
  /** Lets nodes enrol. */
  readonly token: string;
  readonly count: number;
  /** Cores of each; default 64. */
  readonly cpu?: number;
  /** Bytes of each; default 1 TiB. */
  readonly memory?: number;
  readonly gpus?: Inventory['gpus'];
  readonly labels?: Readonly<Record<string, string>>;
  /** Names are this and a number; default `sim`. */
  readonly prefix?: string;
  /** Milliseconds from start to end of every execution; default 0. */
  readonly runTime?: number;
  /** Hears of each execution when its node gets it, and when its success is accepted. */
  readonly observer?: SimulationObserver;
}

export interface SimulationObserver {
  assigned(executionId: string): void;
  completed(executionId: string): void;
}

export interface SimulatedAgents {
  readonly nodeIds: readonly string[];
  /** Executions whose success was accepted so far. */
  readonly completed: () => number;
  /** Reports answered `accepted: false` so far, by reason. */
  readonly refused: () => Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

const TIB = 2 ** 40;
const LARGEST_BATCH = 500;
const RETRY_PAUSE = 250;
const CONSUMPTION = {
  cpuSeconds: 0,
  wallSeconds: 0,
  maxMemory: 0,
  maxDisk: 0,
  gpuSeconds: 0,
  bytesIn: 0,
  bytesOut: 0,
};

/** Enrols `count` nodes and runs them in this process until `stop`. Resolves once all are enrolled and poll. */
export const startSimulatedAgents = async (options: SimulatedAgentsOptions): Promise<SimulatedAgents> => {
  const connections = new Agent({ connections: options.count * 2 + 8, pipelining: 1, headersTimeout: 60_000 });
  const stopped = new AbortController();
  const tally: Tally = { completed: 0, refused: {} };
  const names = Array.from({ length: options.count }, (_, index) => `${options.prefix ?? 'sim'}-${index + 1}`);
  const nodes = names.map((name) => new SimulatedNode(name, options, connections, stopped.signal, tally));
  await Promise.all(nodes.map((node) => node.enrol()));
  const running = nodes.map((node) => node.run());
  return {
    nodeIds: names,
    completed: () => tally.completed,
    refused: () => tally.refused,
    stop: async () => {
      stopped.abort();
      await Promise.all(running);
      await connections.destroy();
    },
  };
};

interface Tally {
  completed: number;
  refused: Record<string, number>;
}

/**
 * One node. Its loop polls for the assignments and answers each new one with confirm, and once that is accepted with start
 * and succeed; reports wait while a batch is under way and go together in the next, one batch at a time, so that their
 * order holds. `signal` ends it.
 */
class SimulatedNode {
  private token: string;
  private interval = 5;
  private readonly seen = new Set<string>();
  private waiting: Report[] = [];
  private sending: Promise<void> | undefined;

  constructor(
    private readonly name: string,
    private readonly options: SimulatedAgentsOptions,
    private readonly connections: Agent,
    private readonly signal: AbortSignal,
    private readonly tally: Tally,
  ) {
    this.token = options.token;
  }

  async enrol(): Promise<void> {
    const { cpu = 64, memory = TIB, gpus = [], labels = {} } = this.options;
    const machine = { os: 'linux', architecture: 'x64', cpu, memory, disk: TIB, ioSlots: 1000 };
    const applications = [{ name: 'node', version: '24.0.0' }];
    const inventory: Inventory = { ...machine, gpus, applications, packages: [], labels };
    const body = { name: this.name, owner: 'bench', institution: 'bench', inventory };
    const answer = await this.call<EnrollAnswer>('POST', '/nodes/enroll', body);
    this.token = answer.token;
    this.interval = answer.heartbeatInterval;
  }

  async run(): Promise<void> {
    const beat = systemTimers.every(this.interval * 1000, () => {
      this.call('POST', `/nodes/${this.name}/heartbeat`, { executions: [] }).catch(() => undefined);
    });
    let after = '';
    while (!this.signal.aborted) {
      try {
        const path = `/nodes/${this.name}/assignments?wait=25s&after=${after}`;
        const answer = await this.call<AssignmentsAnswer>('GET', path);
        after = answer.revision;
        this.take(answer.executions);
      } catch {
        await pause(RETRY_PAUSE, this.signal);
      }
    }
    beat.cancel();
    await this.sending;
  }

  private take(executions: readonly Assignment[]): void {
    const listed = new Set(executions.map(({ executionId }) => executionId));
    for (const id of this.seen) if (!listed.has(id)) this.seen.delete(id);
    for (const { executionId, fencingToken, desired } of executions) {
      if (this.seen.has(executionId)) continue;
      this.seen.add(executionId);
      this.options.observer?.assigned(executionId);
      const of = { executionId, fencingToken };
      if (desired === 'stop')
        this.report({ type: 'fail', ...of, class: 'cancelled', code: 'stopped', message: 'stopped' });
      else this.report({ type: 'confirm', ...of });
    }
  }

  /** A task begins only once its reservation is confirmed. */
  private begin({ executionId, fencingToken }: Report): void {
    const of = { executionId, fencingToken };
    this.report({ type: 'start', ...of });
    const succeed = { type: 'succeed', ...of, exitCode: 0, artifacts: [], consumption: CONSUMPTION } as const;
    const { runTime = 0 } = this.options;
    if (runTime === 0) this.report(succeed);
    else systemTimers.after(runTime, () => this.report(succeed));
  }

  private report(...reports: readonly Report[]): void {
    this.waiting.push(...reports);
    this.sending ??= this.send();
  }

  private async send(): Promise<void> {
    await Promise.resolve();
    while (this.waiting.length > 0 && !this.signal.aborted) {
      const batch = this.waiting.slice(0, LARGEST_BATCH);
      try {
        const answers = await this.call<ReportAnswer[]>('POST', `/nodes/${this.name}/reports`, batch);
        this.waiting.splice(0, batch.length);
        batch.forEach((report, index) => this.count(report, answers[index]));
      } catch {
        await pause(RETRY_PAUSE, this.signal);
      }
    }
    this.sending = undefined;
  }

  private count(report: Report, answer: ReportAnswer | undefined): void {
    const { tally } = this;
    if (answer?.accepted && report.type === 'confirm') this.begin(report);
    if (answer?.accepted && report.type === 'succeed') {
      tally.completed += 1;
      this.options.observer?.completed(report.executionId);
    }
    if (answer?.accepted === false) {
      const reason = answer.reason ?? 'no reason';
      tally.refused[reason] = (tally.refused[reason] ?? 0) + 1;
    }
  }

  private async call<Answer>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer> {
    const answer = await request(`${this.options.url}/v1${path}`, {
      method,
      dispatcher: this.connections,
      signal: this.signal,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text}`);
    return JSON.parse(text) as Answer;
  }
}

const pause = (delay: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      timer.cancel();
      resolve();
    };
    const timer = systemTimers.after(delay, done);
    signal.addEventListener('abort', done, { once: true });
  });
