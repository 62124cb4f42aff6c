import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueToken } from '#platform/auth';
import {
  eventsOf,
  eventually,
  submitLabelled,
  SECRET,
  TestSystem,
  typesOf,
  violations,
  wholeLog,
} from '../system/index.js';
import { runEscalon } from './escalon-process.js';
import type { Ended } from './escalon-process.js';

interface Execution {
  readonly executionId: string;
  readonly partition: number;
  readonly nodeId: string;
  readonly state: string;
  readonly artifacts: readonly { readonly sha256: string }[];
}

const SMALL = { resources: { cpu: 0.1, memory: '64MiB' }, retry: { attempts: 2, interval: '1s' } };
const STAYS = { ...SMALL, task: { command: ['sleep', '600'] } };
const shell = (script: string) => ({ ...SMALL, task: { command: ['sh', '-c', script] } });

/** The four types of job on real nodes, two at first: all is asked as a researcher does, by the API and the command line. */
describe('the four types of job', () => {
  let system: TestSystem;
  let folder: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'escalon-types-'));
    system = await TestSystem.start();
    env = {
      ESCALON_URL: system.url,
      ESCALON_TOKEN: await issueToken(SECRET, { role: 'operator', account: 'op' }),
    };
    await Promise.all([addNode('lab-a'), addNode('lab-b')]);
  });

  afterAll(async () => {
    await system.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const addNode = (name: string) =>
    system.addAgent(name, {
      // Said and not looked for: a busy machine may not answer a probe in time.
      config: { memory: '2GiB', labels: { test: 'types' }, applications: [{ name: 'node', version: '24.0.0' }] },
    });
  const escalon = (...args: string[]): Promise<Ended> => runEscalon(args, env);
  const job = (id: string): Promise<Record<string, unknown>> => system.researcher().get(`/jobs/${id}`);
  const inState = (id: string, state: string): Promise<Record<string, unknown>> =>
    eventually(
      () => job(id),
      (shown) => shown.state === state,
    );
  const executions = async (id: string): Promise<readonly Execution[]> =>
    (await system.researcher().get<{ items: Execution[] }>(`/jobs/${id}/executions`)).items;
  /** The nodes that run a part of the job, once they are these. */
  const runOn = (id: string, ...nodes: string[]): Promise<unknown> =>
    eventually(
      async () => (await executions(id)).filter(({ state }) => state === 'running').map(({ nodeId }) => nodeId),
      (running) => running.toSorted().join() === nodes.join(),
    );
  /** What each part stored, by its number. */
  const stored = async (id: string): Promise<unknown[]> => {
    const all = (await executions(id)).filter(({ state }) => state === 'succeeded' || state === 'failed');
    const bytes = all.map(({ artifacts }) => system.researcher().get(`/artifacts/${artifacts[0]!.sha256}`));
    const texts = await Promise.all(bytes);
    return all.map(({ partition }, index) => [partition, texts[index]]).toSorted();
  };

  it('S-02 batch: each of three partitions is completed once, and with the last the job', async () => {
    const id = await submitLabelled(system, 'types', {
      ...shell('echo "$((ESCALON_PARTITION + 10 * ESCALON_PARTITIONS))" > n.txt'),
      type: 'batch',
      count: 3,
      outputs: ['n.txt'],
    });
    expect(await inState(id, 'completed')).toMatchObject({ type: 'batch', count: 3, succeeded: 3 });
    expect(await stored(id)).toEqual([
      [0, 30],
      [1, 31],
      [2, 32],
    ]);
    const types = typesOf(await eventsOf(system.researcher(), id));
    expect(types.filter((type) => type === 'ExecutionSucceeded')).toHaveLength(3);
    expect(types.slice(-2)).toEqual(['ExecutionSucceeded', 'JobCompleted']);
  });

  it('S-03 service: what ends of examples/lookup is replaced, and only a cancel ends the job', async () => {
    const submitted = await escalon('job', 'submit', 'examples/lookup/job.yaml', '--wait');
    expect({ code: submitted.code, err: submitted.err }).toMatchObject({ code: 0 });
    const id = submitted.out.trim();
    const first = await answering(id);
    expect(await lookUp(first.address)).toMatchObject({ model: 'T4', gpus: 842 });

    process.kill(first.pid, 'SIGTERM');
    const second = await answering(id, first.executionId);
    expect(second.pid).not.toBe(first.pid);
    expect(await lookUp(second.address)).toMatchObject({ model: 'T4', gpus: 842 });
    expect((await executions(id)).map(({ state }) => state).toSorted()).toEqual(['running', 'succeeded']);
    expect(typesOf(await eventsOf(system.researcher(), id))).not.toContain('JobCompleted');
    expect(await job(id)).toMatchObject({ state: 'running', count: 1, succeeded: 0, liveRunning: 1, progress: 0 });

    expect((await escalon('job', 'cancel', id, '--reason', 'seen enough')).code).toBe(0);
    expect((await escalon('job', 'wait', id)).code).toBe(4);
    await expect(fetch(second.address)).rejects.toThrow();
  });

  /** The instance of the example that runs now, which is not the one before, and where it answers. */
  const answering = async (id: string, before?: string) => {
    const { executionId } = (await eventually(
      async () => (await executions(id)).find(({ state }) => state === 'running'),
      (running) => running !== undefined && running.executionId !== before,
    ))!;
    const said = await eventually(
      async () => String(await system.researcher().get(`/jobs/${id}/logs?execution=${executionId}&stream=stdout`)),
      (text) => text.includes('answers on'),
    );
    const [, pid, address] = /process (\d+) answers on (\S+)/.exec(said) ?? [];
    return { executionId, pid: Number(pid), address: address! };
  };
  const lookUp = async (address: string): Promise<unknown> => (await fetch(`${address}/T4`)).json();

  it('S-04 ops: examples/node-check runs once on every node that matches, and each leaves its result', async () => {
    const submitted = await escalon('job', 'submit', 'examples/node-check/job.yaml', '--wait');
    expect({ code: submitted.code, err: submitted.err }).toMatchObject({ code: 0 });
    const id = submitted.out.trim();
    expect(await job(id)).toMatchObject({ type: 'ops', state: 'completed', count: 2, succeeded: 2 });
    expect((await executions(id)).map(({ nodeId }) => nodeId).toSorted()).toEqual(['lab-a', 'lab-b']);
    const out = join(folder, 'checks');
    expect((await escalon('job', 'results', id, '--download', out)).code).toBe(0);
    expect(await stored(id)).toMatchObject([
      [0, { diskIntact: true }],
      [1, { diskIntact: true }],
    ]);
  });

  it('S-04 ops: one part that fails fails the job, when all have ended and with every result kept', async () => {
    const id = await submitLabelled(system, 'types', {
      ...shell('echo "$ESCALON_PARTITION" > n.txt; test "$ESCALON_PARTITION" = 1'),
      type: 'ops',
      outputs: ['n.txt'],
    });
    expect(await inState(id, 'failed')).toMatchObject({
      count: 2,
      succeeded: 1,
      failedPartitions: [0],
      failure: {
        message: expect.stringMatching(/^1 of 2 nodes failed; the first, lab-[ab]: the task ended with exit code 1$/),
      },
    });
    expect(await stored(id)).toEqual([
      [0, 0],
      [1, 1],
    ]);
    expect((await escalon('job', 'wait', id)).code).toBe(3);
  });

  it('S-04 ops: with no node that matches the job fails, and says for each reason how many nodes', async () => {
    const id = await submitLabelled(system, 'nowhere', { ...SMALL, type: 'ops' });
    expect(await inState(id, 'failed')).toMatchObject({
      failure: {
        code: 'no-matching-nodes',
        message: "none of 2 nodes matches (2: a constraint on the node's attributes does not hold)",
      },
    });
  });

  it('S-05 daemon: runs on every node that matches, gains one that joins, leaves one that matches no more', async () => {
    const id = await submitLabelled(system, 'types', { ...STAYS, type: 'daemon' });
    await runOn(id, 'lab-a', 'lab-b');
    expect((await escalon('job', 'wait', id)).code).toBe(0);
    await addNode('lab-c');
    await runOn(id, 'lab-a', 'lab-b', 'lab-c');

    const policy = join(folder, 'policy.yaml');
    await writeFile(policy, 'deny: { projects: [demo] }\n');
    const told = await escalon('node', 'policy', 'lab-b', policy);
    expect({ code: told.code, err: told.err }).toMatchObject({ code: 0 });
    await runOn(id, 'lab-a', 'lab-c');
    expect(await job(id)).toMatchObject({ state: 'running', count: 2, liveRunning: 2 });
    expect((await executions(id)).find(({ nodeId }) => nodeId === 'lab-b')).toMatchObject({ state: 'cancelled' });

    expect((await escalon('job', 'cancel', id, '--reason', 'no longer needed')).code).toBe(0);
    await inState(id, 'cancelled');
    expect(violations(await wholeLog(system.operator()))).toEqual([]);
  });
});
