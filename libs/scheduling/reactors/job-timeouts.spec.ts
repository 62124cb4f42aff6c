import { describe, expect, it } from '@jest/globals';
import { aJobSpec, aPlacement } from '#testing';
import type { JobSpec, Timeouts } from '#jobs';
import { AssignmentBoard } from '../view/assignment-board.js';
import { onFirst, SchedulingWorld } from '../testing/scheduling-world.js';
import type { WorldOptions } from '../testing/scheduling-world.js';
import { JobTimeouts } from './job-timeouts.js';
import type { JobTimeoutsParts } from './job-timeouts.js';

const GRACE = 5_000;
const MARGIN = 700;

const worldOf = (options: WorldOptions = {}): Promise<SchedulingWorld> =>
  new SchedulingWorld({ ...options, options: { runGrace: GRACE, runMargin: MARGIN } }).live();

/** A job with these bounds, watched from its submission on. */
const watched = async (
  timeouts: Partial<Timeouts>,
  { change = {}, ...options }: WorldOptions & { readonly change?: Partial<JobSpec> } = {},
): Promise<{ world: SchedulingWorld; timeouts: JobTimeouts }> => {
  const world = await worldOf(options);
  const reactor = new JobTimeouts(world);
  reactor.start();
  await world.submit('j1', { timeouts: { confirm: 15, ...timeouts }, ...change });
  await world.time.advanceAsync(0);
  return { world, timeouts: reactor };
};

/** As `watched`, with a task that has begun to run on `n1`. */
const running = async (...given: Parameters<typeof watched>): ReturnType<typeof watched> => {
  const made = await watched(...given);
  await made.world.job('j1', aPlacement(1, 0, { jobId: 'j1', nodeId: 'n1' }));
  await made.world.report('j1.1', 'start');
  await made.world.time.advanceAsync(0);
  return made;
};

const codes = (world: SchedulingWorld): unknown[] =>
  world.events('job-j1', 'JobFailed').map(({ data }) => (data as { code: unknown }).code);
const overruns = (world: SchedulingWorld): number => world.events('job-j1', 'ExecutionTimedOut').length;
const failures = (world: SchedulingWorld): number => world.events('job-j1', 'ExecutionFailed').length;

describe('the timeouts of jobs', () => {
  it.each([
    ['queue', 'queue-timeout'],
    ['total', 'total-timeout'],
  ] as const)('S-10 %s ends the job at its end, once', async (name, code) => {
    const { world } = await watched({ [name]: 10 });
    await world.time.advanceAsync(9_999);
    expect(codes(world)).toEqual([]);
    await world.time.advanceAsync(1);
    expect(codes(world)).toEqual([code]);
    await world.time.advanceAsync(3_600_000);
    expect(codes(world)).toEqual([code]);
  });

  it('S-10 the queue counts anew from when the job waits again, or is resumed', async () => {
    const { world } = await watched({ queue: 10 });
    await world.job('j1', aPlacement(1, 0, { jobId: 'j1', nodeId: 'n1' }));
    await world.time.advanceAsync(20_000);
    await world.job('j1', { type: 'ExpireReservation', executionId: 'j1.1', at: world.now() });
    await world.time.advanceAsync(9_000);
    await world.job('j1', { type: 'PauseJob', reason: 'x', at: world.now() });
    await world.time.advanceAsync(60_000);
    await world.job('j1', { type: 'ResumeJob', at: world.now() });
    await world.time.advanceAsync(9_999);
    expect(codes(world)).toEqual([]);
    await world.time.advanceAsync(1);
    expect(codes(world)).toEqual(['queue-timeout']);
  });

  it('S-10 total stops what runs: its node is told, and its capacity stays until it has ended', async () => {
    const { world } = await running({ total: 10 });
    await world.time.advanceAsync(10_000);
    expect(codes(world)).toEqual(['total-timeout']);
    expect(failures(world)).toBe(0);
    await world.report('j1.1', 'fail', { class: 'cancelled', code: 'stopped', message: 'x' });
    expect(world.types('job-j1').at(-1)).toBe('ExecutionCancelled');
  });

  it('S-10 a run that its node did not end is over within a second of its time', async () => {
    const { world } = await running({ run: 10 });
    await world.time.advanceAsync(10_000 + MARGIN - 1);
    expect(overruns(world)).toBe(0);
    await world.time.advanceAsync(1);
    expect([overruns(world), codes(world)]).toEqual([1, ['run-timeout']]);
    await world.time.advanceAsync(3_600_000);
    expect([overruns(world), failures(world)]).toEqual([1, 0]);
  });

  it('S-10 P-04 the node hears that it is to end it, as soon as it asks', async () => {
    const retry = { ...aJobSpec().retry, on: ['timeout'] as const };
    const world = new SchedulingWorld({ options: { runGrace: GRACE, runMargin: MARGIN } });
    const board = new AssignmentBoard(world.view, world.timers);
    await world.live();
    new JobTimeouts(world).start();
    await world.submit('j1', { timeouts: { confirm: 15, run: 10 }, retry });
    await world.job('j1', aPlacement(1, 0, { jobId: 'j1', nodeId: 'n1' }));
    await world.report('j1.1', 'start');
    await world.time.advanceAsync(0);
    const told = board.next('n1', board.desired('n1').revision, 25_000);
    await world.time.advanceAsync(10_000 + MARGIN);
    expect((await told).executions).toMatchObject([{ executionId: 'j1.1', stopRequested: true }]);
    board.stop();
  });

  it('S-10 leaves a run that its node ended, or that it holds still', async () => {
    const { world } = await running({ run: 10 });
    await world.report('j1.1', 'pause');
    await world.time.advanceAsync(60_000);
    await world.report('j1.1', 'resume');
    await world.time.advanceAsync(10_000);
    expect(overruns(world)).toBe(0);
    await world.report('j1.1', 'fail', { class: 'timeout', code: 'run-timeout', message: 'timed out after 10 s' });
    await world.time.advanceAsync(60_000);
    expect([overruns(world), failures(world)]).toEqual([0, 1]);
    expect(world.events('job-j1', 'ExecutionFailed')[0]?.metadata.actor).toBe('test');
  });

  it('S-10 asks once about a run that its user gave up, however long its node takes to end it', async () => {
    const world = await worldOf();
    const { view, clock, timers, log, observer, options } = world;
    let asked = 0;
    const jobs: JobTimeoutsParts['jobs'] = {
      // One that asks again and again at the same moment is left without an answer, or it never came to an end.
      handle: (...command) => ((asked += 1) > 5 ? new Promise(() => undefined) : world.jobs.handle(...command)),
    };
    new JobTimeouts({ view, jobs, clock, timers, log, observer, options }).start();
    await world.submit('j1', { timeouts: { confirm: 15, run: 10 } });
    await world.job('j1', aPlacement(1, 0, { jobId: 'j1', nodeId: 'n1' }));
    await world.report('j1.1', 'start');
    await world.job('j1', { type: 'CancelJob', reason: 'not needed', byUser: true, at: world.now() });
    await world.time.advanceAsync(3_600_000);
    expect([asked, overruns(world)]).toEqual([1, 0]);
  });

  it('S-10 after a restart the bounds are the same, from the log alone', async () => {
    for (const [bounds, left, code] of [
      [{ queue: 20 }, 12_000, 'queue-timeout'],
      [{ total: 20 }, 12_000, 'total-timeout'],
    ] as const) {
      const { world, timeouts } = await watched(bounds);
      await world.time.advanceAsync(3_000);
      timeouts.stop();
      await world.time.advanceAsync(5_000);
      const next = await worldOf({ beside: world });
      new JobTimeouts(next).start();
      await world.time.advanceAsync(left - 1);
      expect(codes(world)).toEqual([]);
      await world.time.advanceAsync(1);
      expect(codes(world)).toEqual([code]);
    }
  });

  it('S-10 what ran out while nobody looked ends at once, or after the grace when a node may have an end to report', async () => {
    for (const [made, grace] of [
      [await watched({ total: 10 }), 0],
      [await running({ total: 10 }), GRACE],
      [await running({ run: 2 }), GRACE],
    ] as const) {
      const { world, timeouts } = made;
      timeouts.stop();
      await world.time.advanceAsync(100_000);
      const next = await worldOf({ beside: world });
      new JobTimeouts(next).start();
      if (grace > 0) {
        await world.time.advanceAsync(grace - 1);
        expect(codes(world)).toEqual([]);
      }
      await world.time.advanceAsync(1);
      expect(codes(world)).toHaveLength(1);
    }
  });

  it('S-10 after the store was away, nodes have their grace to report', async () => {
    const { world } = await running({ run: 10 });
    await world.time.advanceAsync(9_000);
    world.store.cutOff(30_000);
    await world.time.advanceAsync(30_000);
    await world.time.advanceAsync(GRACE - 1);
    expect(overruns(world)).toBe(0);
    await world.time.advanceAsync(1_001);
    expect(overruns(world)).toBe(1);
  });

  it('S-10 what starts after a return of the control plane has no such grace', async () => {
    const { world } = await running({ run: 1 });
    await world.time.advanceAsync(1_000 + MARGIN);
    expect(codes(world)).toEqual(['run-timeout']);
  });

  it('S-10 one that could not be stored is made up for within a second', async () => {
    const faults = onFirst('JobFailed', { kind: 'fail-before-storing', after: 10 });
    const { world } = await watched({ total: 10 }, { faults });
    await world.time.advanceAsync(10_100);
    expect(codes(world)).toEqual([]);
    await world.time.advanceAsync(1_000);
    expect(codes(world)).toEqual(['total-timeout']);
  });

  it('S-10 two control planes end it once', async () => {
    const { world } = await running({ run: 10 }, { change: { retry: { ...aJobSpec().retry, on: ['timeout'] } } });
    const other = await worldOf({ beside: world });
    new JobTimeouts(other).start();
    await world.time.advanceAsync(16_000);
    expect(overruns(world)).toBe(1);
    await world.report('j1.1', 'fail', { class: 'cancelled', code: 'stopped', message: 'stopped as asked' });
    expect(world.types('job-j1').filter((type) => /Failed|Requeued/.test(type))).toEqual([
      'ExecutionFailed',
      'JobRequeued',
    ]);
  });
});
