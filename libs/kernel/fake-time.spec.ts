import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FakeTime } from './fake-time.js';

describe('FakeTime', () => {
  it('stands still until it is moved', () => {
    const time = new FakeTime(500);
    let fired = 0;
    time.after(10, () => (fired += 1));
    expect([time.now(), time.nextDue(), fired]).toEqual([500, 510, 0]);
    time.advance(9);
    expect([time.now(), fired]).toEqual([509, 0]);
    time.advance(1);
    expect([time.now(), time.nextDue(), fired]).toEqual([510, undefined, 1]);
  });

  it('fires in the order of due times, ties in the order set, each at its own time', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 20 }), { maxLength: 30 }), (delays) => {
        const time = new FakeTime();
        const fired: [number, number, number][] = [];
        delays.forEach((delay, index) => time.after(delay, () => fired.push([delay, index, time.now()])));
        time.advance(20);
        const expected = delays.map((delay, index) => [delay, index, delay]);
        expect(fired).toEqual(expected.sort(([a = 0, i = 0], [b = 0, j = 0]) => a - b || i - j));
      }),
    );
  });

  it('repeats until cancelled, also from within', () => {
    const time = new FakeTime();
    const at: number[] = [];
    const timer = time.every(10, () => {
      at.push(time.now());
      if (at.length === 3) timer.cancel();
    });
    time.advance(100);
    expect(at).toEqual([10, 20, 30]);
    timer.cancel();
    expect(time.nextDue()).toBeUndefined();
  });

  it('lets promises settle between timers when advanced asynchronously', async () => {
    const time = new FakeTime();
    const at: number[] = [];
    time.after(10, () => {
      void Promise.resolve()
        .then(() => undefined)
        .then(() => time.after(5, () => at.push(time.now())));
    });
    await time.advanceAsync(20);
    expect(at).toEqual([15]);
    expect(time.now()).toBe(20);
  });
});
