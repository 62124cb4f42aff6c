import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  enrolLabelled,
  eventsOf,
  eventually,
  heldOn,
  submitLabelled,
  TestSystem,
  violations,
  wholeLog,
} from '../system/index.js';

const GIB = 1024 ** 3;

/** Jobs that work on many items at once, on nodes with less memory than all of them would take. */
describe('a job that works in batches', () => {
  let system: TestSystem;

  beforeAll(async () => {
    system = await TestSystem.start();
  });

  afterAll(async () => {
    await system.stop();
  });

  const job = (jobId: string): Promise<Record<string, unknown>> => system.researcher().get(`/jobs/${jobId}`);
  const ended = (jobId: string): Promise<Record<string, unknown>> =>
    eventually(
      () => job(jobId),
      ({ state }) => ['completed', 'failed', 'cancelled'].includes(String(state)),
      60_000,
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
