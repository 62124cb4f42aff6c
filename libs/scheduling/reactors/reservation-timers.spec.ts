import { describe, expect, it } from '@jest/globals';
import { aPlacement } from '#testing';
import { onFirst, SchedulingWorld } from '../testing/scheduling-world.js';
import type { WorldOptions } from '../testing/scheduling-world.js';
import { ReservationTimers } from './reservation-timers.js';

/** A job with one reservation, `j1.1` on `n1`, to be confirmed within 15 s. */
const reserved = async (options: WorldOptions = {}): Promise<{ world: SchedulingWorld; timers: ReservationTimers }> => {
  const world = await new SchedulingWorld(options).live();
  const timers = new ReservationTimers(world);
  timers.start();
  await world.submit('j1');
  await world.job('j1', aPlacement(1, 0, { jobId: 'j1', nodeId: 'n1' }));
  await world.time.advanceAsync(0);
  return { world, timers };
};

const expiries = (world: SchedulingWorld): number => world.events('job-j1', 'ReservationExpired').length;

describe('reservation timers', () => {
  it('A-22 A-40 A-84 A-85 end a reservation that is not confirmed in time, and the job waits again', async () => {
    const { world } = await reserved();
    await world.time.advanceAsync(14_999);
    expect(expiries(world)).toBe(0);
    await world.time.advanceAsync(1);
    expect(world.types('job-j1').slice(2)).toEqual(['ReservationExpired', 'JobRequeued']);
    expect((await world.state('j1')).partitions[0]?.state).toBe('waiting');
  });

  it('A-83 leave alone what was confirmed, declined or cancelled', async () => {
    for (const report of ['confirm', 'decline', 'fail'] as const) {
      const { world } = await reserved();
      const failure = { class: 'infrastructure', code: 'x', message: 'x', reason: 'x' };
      await world.report('j1.1', report, report === 'confirm' ? {} : failure);
      await world.time.advanceAsync(60_000);
      expect(expiries(world)).toBe(0);
    }
    const { world } = await reserved();
    await world.job('j1', { type: 'CancelJob', reason: 'x', byUser: true, at: world.now() });
    await world.time.advanceAsync(60_000);
    expect(expiries(world)).toBe(0);
  });

  it('A-40 after a restart the node has its whole time again', async () => {
    const { world, timers } = await reserved();
    await world.time.advanceAsync(14_000);
    timers.stop();
    await world.time.advanceAsync(100_000);
    const next = await new SchedulingWorld({ beside: world }).live();
    new ReservationTimers(next).start();
    await world.time.advanceAsync(14_999);
    expect(expiries(world)).toBe(0);
    await world.time.advanceAsync(1);
    expect(expiries(world)).toBe(1);
  });

  it('A-40 after the event store was away the node has its whole time again', async () => {
    const { world } = await reserved();
    await world.time.advanceAsync(14_000);
    world.store.cutOff(30_000);
    await world.time.advanceAsync(30_000);
    await world.time.advanceAsync(14_999);
    expect(expiries(world)).toBe(0);
    await world.time.advanceAsync(1);
    expect(expiries(world)).toBe(1);
  });

  it('A-84 an expiry that could not be stored is made up for', async () => {
    const faults = onFirst('ReservationExpired', { kind: 'fail-before-storing', after: 100 });
    const { world } = await reserved({ faults });
    await world.time.advanceAsync(15_100);
    expect(expiries(world)).toBe(0);
    await world.time.advanceAsync(15_000);
    expect(expiries(world)).toBe(1);
  });

  it('A-84 by a clock that is behind the one that set the deadline, ends it at the deadline all the same', async () => {
    const behind = await new SchedulingWorld({ clockOffset: -2_000 }).live();
    new ReservationTimers(behind).start();
    await behind.submit('j1');
    await behind.job('j1', aPlacement(1, 0, { jobId: 'j1', nodeId: 'n1' }));
    await behind.time.advanceAsync(16_999);
    expect(expiries(behind)).toBe(0);
    await behind.time.advanceAsync(1);
    expect(expiries(behind)).toBe(1);
  });

  it('A-84 a timer that fires early is set again', async () => {
    const world = await new SchedulingWorld().live();
    let early = 1;
    const after = (delay: number, run: () => void) => {
      const span = delay - early;
      early = 0;
      return world.time.after(span, run);
    };
    const { view, jobs, clock, log, observer } = world;
    const timers = { after, every: (interval: number, run: () => void) => world.time.every(interval, run) };
    new ReservationTimers({ view, jobs, clock, log, observer, timers }).start();
    await world.submit('j1');
    await world.job('j1', aPlacement(1, 0, { jobId: 'j1', nodeId: 'n1' }));
    await world.time.advanceAsync(14_999);
    expect(expiries(world)).toBe(0);
    await world.time.advanceAsync(1);
    expect(expiries(world)).toBe(1);
  });
});
