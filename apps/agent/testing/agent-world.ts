import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runAgent } from '../agent.js';
import type { AgentOptions, RunningAgent } from '../agent.js';
import type { JournalEntry } from '../journal/entry.js';
import { processTable } from '../runner/process-table.js';
import type { ProcessInfo } from '../runner/process-table.js';
import { RecordedControlPlane } from './recorded-control-plane.js';

const GIB = 2 ** 30;

/** A control plane that records, a data folder, and agents in this process that run real tasks. */
export class AgentWorld {
  private agents: RunningAgent[] = [];

  private constructor(
    readonly plane: RecordedControlPlane,
    readonly data: string,
  ) {}

  static async start(): Promise<AgentWorld> {
    return new AgentWorld(await RecordedControlPlane.start(), await mkdtemp(join(tmpdir(), 'escalon-agent-')));
  }

  async begin(more: Partial<AgentOptions> = {}): Promise<RunningAgent> {
    const agent = await runAgent({
      url: this.plane.url,
      data: this.data,
      name: 'lab-1',
      token: 'let-me-in',
      inventory: { cpu: 4, memory: 8 * GIB, disk: 10 * GIB, ioSlots: 4, applications: [], packages: [], gpus: [] },
      probes: { python: false },
      containers: { engine: 'none' },
      grace: 300,
      ...more,
    });
    this.agents.push(agent);
    return agent;
  }

  async stop(): Promise<void> {
    for (const agent of this.agents) await agent.stop();
    await this.plane.down();
    await rm(this.data, { recursive: true, force: true });
  }

  /** A task that does `before`, waits for `go`, then does `after`. */
  untilGo(before: string, after: string): string[] {
    return ['sh', '-c', `${before}; while [ ! -e '${join(this.data, 'go')}' ]; do sleep 0.02; done; ${after}`];
  }

  go(): Promise<void> {
    return writeFile(join(this.data, 'go'), '');
  }

  journalled(executionId: string): Partial<JournalEntry> {
    const file = join(this.data, 'journal', `${executionId}.json`);
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as JournalEntry) : {};
  }
}

/** A number of seconds for a `sleep`, close to the one given, that no other process of this machine has in its command line. */
export const own = (seconds: string): string => `${seconds}${process.pid}`;

/** The living processes whose command line has this word. */
export const running = (word: string): ProcessInfo[] =>
  processTable().filter(({ pid, state }) => {
    try {
      return state !== 'Z' && readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word);
    } catch {
      return false;
    }
  });
