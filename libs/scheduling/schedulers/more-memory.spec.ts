import { describe, expect, it } from '@jest/globals';
import type { Decision } from '#jobs';
import { decisionPoints } from '../derivation/points.js';
import { verifyPoint } from '../derivation/verify.js';
import { aJobSpec } from '#testing';
import { SchedulingWorld } from '../testing/scheduling-world.js';

const GIB = 1024 ** 3;

const JOB = {
  count: 2,
  resources: { cpu: 1, memory: 4 * GIB, disk: 0, ioSlots: 0 },
  retry: { ...aJobSpec().retry, attempts: 9, memory: { factor: 1.5, max: 8 * GIB } },
};

/** Two parts of 4 GiB that run on one node of so much memory. */
const running = async (memory: number): Promise<SchedulingWorld> => {
  const world = new SchedulingWorld({ options: { offlineAfter: 3_600_000 } });
  await world.project();
  await world.node('n1', { memory });
  await world.looping();
  await world.submit('j1', JOB);
  await world.time.advanceAsync(1_000);
  for (const partition of [0, 1]) await world.report(await live(world, partition), 'start');
  await world.time.advanceAsync(1_000);
  return world;
};

const live = async (world: SchedulingWorld, partition: number): Promise<string> => {
  const executions = Object.values((await world.jobs.load('job-j1')).state.executions);
  const last = executions.filter((one) => one.partition === partition).at(-1);
  return last?.executionId ?? '';
};

const fail = async (world: SchedulingWorld, partition: number, failure: object): Promise<void> =>
  world.report(await live(world, partition), 'fail', { message: 'failed', ...failure });

const SHORTAGE = { class: 'resource', code: 'out-of-memory', exitCode: 137 };
const TROUBLE = { class: 'infrastructure', code: 'sandbox' };

/** The memory of each reservation, in GiB, as `partition:memory`. */
const reserved = (world: SchedulingWorld): string[] =>
  world.events('job-j1', 'ExecutionReserved').map(({ data }) => {
    const { partition, contract } = data as { partition: number; contract: { memory: number } };
    return `${partition}:${contract.memory / GIB}`;
  });

const lastDecision = (world: SchedulingWorld): Decision =>
  world.events('job-j1', 'PlacementDecided').at(-1)?.data as Decision;

describe('a part of a job that ran out of memory', () => {
  it('R-03 is placed with more, and waits for a node that has that much', async () => {
    const world = await running(10 * GIB);
    await fail(world, 0, SHORTAGE);
    await world.time.advanceAsync(11_000);
    expect(reserved(world)).toEqual(['0:4', '1:4', '0:6']);
    await world.report(await live(world, 0), 'start');
    await fail(world, 0, SHORTAGE);
    await world.time.advanceAsync(30_000);
    expect(lastDecision(world)).toMatchObject({
      outcome: 'deferred',
      filtered: [{ reason: 'capacity.memory', asked: '8 GiB', best: '6 GiB', never: false }],
    });
    await world.report(await live(world, 1), 'succeed', { exitCode: 0, artifacts: [], consumption: {} });
    await world.time.advanceAsync(1_000);
    expect(reserved(world)).toEqual(['0:4', '1:4', '0:6', '0:8']);
  });

  it('S-06 R-03 keeps no other part of its job from its place: what asks for less goes first, when its backoff is over', async () => {
    const world = await running(9 * GIB);
    await fail(world, 0, SHORTAGE);
    await world.time.advanceAsync(11_000);
    expect(lastDecision(world)).toMatchObject({ outcome: 'deferred', partition: 0 });
    await fail(world, 1, { ...TROUBLE, exitCode: 1 });
    // There is room for the first now, and then none for the second until it is over.
    await world.time.advanceAsync(1_000);
    expect(reserved(world)).toEqual(['0:4', '1:4', '0:6']);
    await world.report(await live(world, 0), 'start');
    await fail(world, 0, SHORTAGE);
    await world.time.advanceAsync(9_500);
    expect(reserved(world)).toEqual(['0:4', '1:4', '0:6', '1:4']);
    await world.report(await live(world, 1), 'start');
    await world.time.advanceAsync(60_000);
    expect(lastDecision(world)).toMatchObject({ outcome: 'deferred', partition: 0 });
  });

  it('R-03 A-92 has decisions that derive again from the log', async () => {
    const world = await running(10 * GIB);
    await fail(world, 0, SHORTAGE);
    await world.time.advanceAsync(11_000);
    const verdicts = [];
    for await (const point of decisionPoints(world.store, {})) verdicts.push(verifyPoint(point).kind);
    expect(verdicts).toEqual(['verified', 'verified', 'verified']);
  });
});
