import { describe, expect, it } from '@jest/globals';
import { aJobSpec } from '#testing';
import { SchedulingWorld } from './testing/scheduling-world.js';

const failed = { class: 'infrastructure', code: 'sandbox', message: 'no CUDA driver' };

describe('a restart of the control plane', () => {
  it('R-02 R-05 keeps the attempts, the end of the backoff and the last error', async () => {
    const world = new SchedulingWorld();
    const loop = await world.looping();
    await world.project();
    await world.node('n1');
    await world.submit('j1', { retry: { ...aJobSpec().retry, attempts: 2 } });
    await world.time.advanceAsync(0);
    const first = await world.execution('j1');
    await world.report(first.executionId, 'start');
    await world.report(first.executionId, 'fail', failed);
    await world.time.advanceAsync(4_000);
    await loop.stop();
    await world.view.stop();

    const next = new SchedulingWorld({ beside: world });
    await next.looping();
    await next.time.advanceAsync(5_999);
    expect((await next.state('j1')).partitions[0]).toMatchObject({ state: 'waiting', failures: 1, lastError: failed });
    await next.time.advanceAsync(1);
    const second = await next.execution('j1');
    expect(second).toMatchObject({ attempt: 2, state: 'reserved' });
    await next.report(second.executionId, 'start');
    await next.report(second.executionId, 'fail', failed);
    expect(await next.state('j1')).toMatchObject({ ended: 'failed', ending: failed });
  });

  it('A-46 A-86 five minutes away while a job finishes: its result is recorded once when it is back, and no lease of a living node expires', async () => {
    const world = new SchedulingWorld();
    await world.looping();
    await world.project();
    await world.node('n1');
    await world.submit('j1');
    await world.time.advanceAsync(10);
    const { executionId } = await world.execution('j1');
    await world.report(executionId, 'start');
    world.store.crash();
    await world.time.advanceAsync(5 * 60_000);

    const next = new SchedulingWorld({ beside: world });
    await next.looping();
    // Just within the time that each node is given to find its way back.
    await next.time.advanceAsync(14_000);
    next.seen.set('n1', next.time.now());
    const success = { exitCode: 0, artifacts: [], consumption: {} };
    for (const _again of [1, 2]) await next.report(executionId, 'succeed', success);
    await next.time.advanceAsync(10_000);
    const types = next.types('job-j1').slice(-2);
    expect(types).toEqual(['ExecutionSucceeded', 'JobCompleted']);
    expect(next.events('job-j1', 'ExecutionLost', 'LateResultRejected', 'ExecutionReserved')).toHaveLength(1);
    expect(next.events('node-n1', 'NodeWentOffline')).toEqual([]);
  });
});
