import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { issueToken } from '#platform/auth';
import {
  enrolLabelled,
  eventsOf,
  eventually,
  heldOn,
  SECRET,
  submitLabelled,
  TestSystem,
  violations,
  wholeLog,
} from '../system/index.js';
import { runEscalon } from './escalon-process.js';

const GIB = 1024 ** 3;

/** Jobs that work on many items at once, on nodes with less memory than all of them would take. */
describe('a job that works in batches', () => {
  let system: TestSystem;

  beforeAll(async () => {
    // The node that speaks by hand stays online meanwhile.
    system = await TestSystem.start({ env: { ESCALON_OFFLINE_AFTER: '600' } });
  });

  afterAll(async () => {
    await system.stop();
  });

  const job = (jobId: string): Promise<Record<string, unknown>> => system.researcher().get(`/jobs/${jobId}`);
  const ended = (jobId: string): Promise<Record<string, unknown>> =>
    eventually(
      () => job(jobId),
      ({ state }) => ['completed', 'failed', 'cancelled'].includes(String(state)),
    );
  const output = (jobId: string): Promise<string> => system.researcher().get(`/jobs/${jobId}/logs?stream=stdout`);
  const batch = { size: 12, min: 2, memoryPerItem: '128MiB' };

  it('G-08 G-25 G-26 is granted at placement what fits the node, and its task is told', async () => {
    await system.addAgent('small', { config: { memory: '1GiB', labels: { test: 'small' } } });
    const jobId = await submitLabelled(system, 'small', {
      resources: { cpu: 0.5, memory: '256MiB' },
      batch,
      task: { command: ['sh', '-c', 'echo "$ESCALON_BATCH_SIZE items in $ESCALON_MEMORY bytes"'] },
    });
    expect(await ended(jobId)).toMatchObject({ state: 'completed' });
    expect(await output(jobId)).toBe(`6 items in ${GIB} bytes\n`);
    const { items } = await system.researcher().get<{ items: object[] }>(`/jobs/${jobId}/executions`);
    expect(items).toMatchObject([{ contract: { batchSize: 6, memory: GIB } }]);
  });

  it('G-57 is run batch after batch until all items of all its partitions are done, each once', async () => {
    const jobId = await submitLabelled(system, 'small', {
      resources: { cpu: 0.1, memory: '64MiB' },
      count: 2,
      batch: { size: 8, min: 2, memoryPerItem: '32MiB', items: 30 },
      task: { command: ['sh', '-c', 'seq "$ESCALON_BATCH_FROM" "$((ESCALON_BATCH_TO - 1))" >> done.txt'] },
      outputs: ['done.txt'],
    });
    expect(await ended(jobId)).toMatchObject({ state: 'completed', succeeded: 2 });
    const { items } = await system
      .researcher()
      .get<{ items: { partition: number; artifacts: { sha256: string }[] }[] }>(`/jobs/${jobId}/executions`);
    const parts = items.toSorted((left, right) => left.partition - right.partition);
    const texts = await Promise.all(
      parts.map(({ artifacts }) => system.researcher().get(`/artifacts/${artifacts[0]!.sha256}`)),
    );
    const done = texts.map((text) => String(text).trim().split('\n').map(Number));
    expect(done).toEqual([
      Array.from({ length: 15 }, (_, item) => item),
      Array.from({ length: 15 }, (_, item) => 15 + item),
    ]);
    const events = await eventsOf(system.researcher(), jobId);
    expect(events[0]?.data).toMatchObject({ spec: { batch: { size: 8, min: 2, items: 30 } } });
    const told = events.filter(({ type }) => type === 'ExecutionProgressed').map(({ data }) => String(data.message));
    expect(told.length).toBeGreaterThan(0);
    for (const message of told) expect(message).toMatch(/^\d+ of 15 items$/);
  });

  it('G-57 examples/resample does every row of its table once, and says so', async () => {
    await system.addAgent('roomy', { config: { memory: '2GiB', applications: [{ name: 'node', version: '24.0.0' }] } });
    const env = {
      ESCALON_URL: system.url,
      ESCALON_TOKEN: await issueToken(SECRET, { role: 'operator', account: 'op' }),
    };
    const ran = await runEscalon(['job', 'submit', 'examples/resample/job.yaml', '--wait'], env);
    expect({ code: ran.code, err: ran.err }).toMatchObject({ code: 0 });
    const { items } = await system
      .researcher()
      .get<{ items: { artifacts: { path: string; sha256: string }[] }[] }>(`/jobs/${ran.out.trim()}/executions`);
    const summary = items[0]?.artifacts.find(({ path }) => path === 'result.json');
    expect(await system.researcher().get(`/artifacts/${summary!.sha256}`)).toMatchObject({
      samples: 2000,
      nodes: 1523,
    });
  });

  it('G-57 is refused with every mistake of its batches named', async () => {
    const spec = { name: 'wrong', project: 'demo', type: 'service', count: 3, task: { command: ['true'] } };
    const answer = await system
      .researcher()
      .request('POST', '/jobs', { ...spec, batch: { size: 4, min: 5, items: 2 } });
    const codes = answer.body.errors.map(
      ({ pointer, code }: { pointer: string; code: string }) => `${pointer} ${code}`,
    );
    expect([answer.status, codes]).toEqual([
      422,
      ['/batch/min CONFLICT', '/batch/items NOT_ALLOWED', '/batch/items CONFLICT', '/batch/min CONFLICT'],
    ]);
  });

  it('G-25 G-26 may be confirmed with fewer items; what they do not need is given to another job', async () => {
    const node = await enrolLabelled(system, 'busy', 'busy');
    const jobId = await submitLabelled(system, 'busy', {
      resources: { cpu: 1, memory: '6656MiB' },
      batch,
    });
    const reserved = await node.assigned(jobId);
    const contract = { cpu: 1, memory: 8 * GIB, disk: 0, ioSlots: 0, gpus: [], batchSize: 12 };
    expect(reserved).toMatchObject({ contract, task: { batch: { min: 2, memoryPerItem: GIB / 8 } } });
    const other = await submitLabelled(system, 'busy', { resources: { cpu: 1, memory: '1GiB' } });
    await eventually(
      () => job(other),
      ({ reason }) => String(reason).includes('memory'),
    );

    const tooMuch = { ...contract, batchSize: 13 };
    await expect(node.report('confirm', reserved, { contract: tooMuch })).rejects.toThrow('CONTRACT_NOT_SMALLER');
    const less = { ...contract, memory: 7 * GIB, batchSize: 4 };
    expect(await node.report('confirm', reserved, { contract: less })).toMatchObject({ accepted: true });
    expect(await node.report('confirm', reserved, { contract: less })).toMatchObject({ accepted: true });

    const next = await node.assigned(other);
    const { items } = await system.researcher().get<{ items: object[] }>(`/jobs/${jobId}/executions`);
    expect(items).toMatchObject([{ state: 'confirmed', contract: less }]);
    const confirmed = (await eventsOf(system.researcher(), jobId)).filter(
      ({ type }) => type === 'ReservationConfirmed',
    );
    expect(confirmed.map(({ data }) => data.contract)).toEqual([less]);
    await node.succeed(reserved);
    await node.succeed(next);
    const all = await eventually(
      () => wholeLog(system.operator()),
      (events) => heldOn(events, 'busy').length === 0,
    );
    expect(violations(all)).toEqual([]);
    expect(all.filter(({ type }) => type === 'CapacityReduced')).toMatchObject([
      { stream: 'node-busy', data: { executionId: reserved.executionId, contract: less } },
    ]);
  });
});
