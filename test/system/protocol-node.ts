import type { ApiClient } from './api-client.js';

/** A machine as an agent reports one. */
export const inventory = (change: object = {}): object => ({
  os: 'linux',
  architecture: 'x64',
  cpu: 4,
  memory: 8 * 1024 ** 3,
  disk: 100 * 1024 ** 3,
  ioSlots: 4,
  gpus: [],
  applications: [{ name: 'node', version: '24.0.0' }],
  packages: [],
  labels: {},
  ...change,
});

/** What a task used, for a report. */
export const consumption = {
  cpuSeconds: 1,
  wallSeconds: 1,
  maxMemory: 1024,
  maxDisk: 0,
  gpuSeconds: 0,
  bytesIn: 0,
  bytesOut: 0,
};

export interface Assigned {
  readonly executionId: string;
  readonly fencingToken: number;
  readonly jobId: string;
  readonly attempt: number;
  readonly desired: string;
  readonly state: string;
  readonly inputs: readonly object[];
}

/** Speaks the agent protocol word by word, so that a test decides what a node says, twice if need be. */
export class ProtocolNode {
  constructor(
    readonly name: string,
    private readonly api: ApiClient,
  ) {}

  async enrol(change: object = {}): Promise<void> {
    await this.api.post('/nodes/enroll', {
      name: this.name,
      owner: 'own',
      institution: 'here',
      inventory: inventory(change),
    });
  }

  /** `roundTrip` in seconds, as the agent measured the beats before. */
  async heartbeat(roundTrip?: number): Promise<void> {
    await this.api.post(`/nodes/${this.name}/heartbeat`, { executions: [], roundTrip });
  }

  async assignments(after?: string, wait = '0s'): Promise<{ revision: string; executions: Assigned[] }> {
    const since = after === undefined ? '' : `&after=${after}`;
    const set = await this.api.read<{ revision: string; executions: Assigned[] }>(
      `/nodes/${this.name}/assignments?wait=${wait}${since}`,
    );
    // The point of the log at which the set changed last, -1 while it never did.
    if (set.revision !== '-1') this.api.known.heard(set.revision);
    return set;
  }

  /** The first execution that is wanted here; waits for it. */
  async assigned(jobId?: string): Promise<Assigned> {
    let after: string | undefined;
    for (let polls = 0; polls < 40; polls += 1) {
      const set = await this.assignments(after, '5s');
      const found = set.executions.find((one) => jobId === undefined || one.jobId === jobId);
      if (found) return found;
      after = set.revision;
    }
    throw new Error(`nothing was assigned to ${this.name}`);
  }

  async report(
    type: string,
    execution: Pick<Assigned, 'executionId' | 'fencingToken'>,
    fields: object = {},
  ): Promise<{ accepted: boolean; reason?: string }> {
    const { executionId, fencingToken } = execution;
    return this.api.post(`/executions/${executionId}/${type}`, { fencingToken, ...fields });
  }

  /** Takes what is assigned and succeeds with all that it may confirm, until it is over. */
  async work(isOver: () => boolean): Promise<void> {
    const taken = new Set<string>();
    let after: string | undefined;
    while (!isOver()) {
      const set = await this.assignments(after, '2s');
      after = set.revision;
      const fresh = set.executions.filter(({ executionId }) => !taken.has(executionId));
      await Promise.all(
        fresh.map(async (execution) => {
          taken.add(execution.executionId);
          const { accepted } = await this.report('confirm', execution);
          if (accepted) await this.succeed(execution);
        }),
      );
    }
  }

  async succeed(execution: Assigned, fields: object = {}): Promise<{ accepted: boolean; reason?: string }> {
    return this.report('succeed', execution, { exitCode: 0, artifacts: [], consumption, ...fields });
  }
}
