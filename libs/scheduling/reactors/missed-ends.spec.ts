import { describe, expect, it } from '@jest/globals';
import { jobStream } from '#jobs';
import { aConsumption } from '#testing';
import { onFirst, SchedulingWorld } from '../testing/scheduling-world.js';
import type { WorldOptions } from '../testing/scheduling-world.js';

const SWEEP = 300_000;

/** A job whose only execution runs. */
const running = async (options: WorldOptions = {}): Promise<SchedulingWorld> => {
  const world = new SchedulingWorld({ ...options, options: { sweepInterval: SWEEP, offlineAfter: 86_400_000 } });
  await world.project();
  await world.node('n1');
  await world.looping();
  await world.submit('j1');
  await world.time.advanceAsync(10);
  await world.report((await world.execution('j1')).executionId, 'start');
  return world;
};

/** Stores that the execution has succeeded, and nothing of what follows. */
const succeedAlone = async (world: SchedulingWorld): Promise<void> => {
  const { executionId } = await world.execution('j1');
  const data = { executionId, exitCode: 0, artifacts: [], consumption: aConsumption(), at: world.now() };
  const metadata = { schemaVersion: 1, actor: 'node:n1' };
  await world.store.append(
    jobStream('j1'),
    [{ id: world.ids.next(), type: 'ExecutionSucceeded', data, metadata }],
    'any',
  );
};

const ends = (world: SchedulingWorld): number => world.events('job-j1', 'JobCompleted').length;

describe('a job stays running although its only execution is done, because the follow-up was lost once', () => {
  it('P-02 it is completed within one sweep, untouched by a user', async () => {
    const world = await running();
    await world.time.advanceAsync(1_000);
    await succeedAlone(world);
    await world.time.advanceAsync(SWEEP - 5_000);
    expect(ends(world)).toBe(0);
    await world.time.advanceAsync(5_000);
    expect(ends(world)).toBe(1);
    const [end] = world.events('job-j1', 'JobCompleted');
    expect(end?.metadata.actor).toBe('system:sweep');
    await world.time.advanceAsync(3 * SWEEP);
    expect(ends(world)).toBe(1);
  });

  it('P-02 or at the start of the next control plane', async () => {
    const world = await running();
    world.store.crash();
    const next = new SchedulingWorld({ beside: world });
    await succeedAlone(next);
    await next.looping();
    await next.time.advanceAsync(10);
    expect(ends(next)).toBe(1);
  });

  it('P-02 what cannot be stored is tried again at the next look', async () => {
    const faults = onFirst('JobCompleted', { kind: 'fail-before-storing', after: 0 });
    const world = await running({ faults });
    await succeedAlone(world);
    await world.time.advanceAsync(SWEEP);
    expect(ends(world)).toBe(0);
    await world.time.advanceAsync(SWEEP);
    expect(ends(world)).toBe(1);
  });
});
