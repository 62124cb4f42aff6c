import { describe, expect, it } from '@jest/globals';
import { FakeTime, seededRandom } from '#kernel';
import { pino } from 'pino';
import { Refused, Unreachable } from '../client/faults.js';
import { CacheReport } from './cache-report.js';

/** A report over a cache and a server that are told what to do. */
const reporting = () => {
  const time = new FakeTime();
  const sent: { at: number; inputs: string }[] = [];
  const world = { held: ['a'], failing: [] as Error[] };
  const http = {
    json: async (_method: unknown, path: string, call: { body?: unknown } = {}): Promise<never> => {
      const failure = world.failing.shift();
      if (failure) throw failure;
      expect(path).toBe('/nodes/lab-1/cache');
      sent.push({ at: time.now(), inputs: (call.body as { inputs: string[] }).inputs.join() });
      return {} as never;
    },
  };
  const held = (least: number, most: number): string[] => {
    expect([least, most]).toEqual([2 ** 20, 512]);
    return world.held;
  };
  const report = new CacheReport('lab-1', held, http, time, seededRandom(1), pino({ enabled: false }));
  const change = (...now: string[]): void => {
    world.held = now;
    report.changed();
  };
  return { time, sent, world, report, change };
};

describe('what is told of the cache', () => {
  it('gathers changes for two seconds', async () => {
    const { time, sent, change } = reporting();
    change('a');
    await time.advanceAsync(1_000);
    change('a', 'b');
    await time.advanceAsync(5_000);
    expect(sent).toEqual([{ at: 2_000, inputs: 'a,b' }]);
  });

  it('is told once a minute at most, and the newest is never left out', async () => {
    const { time, sent, change } = reporting();
    change('a');
    await time.advanceAsync(2_000);
    for (let index = 0; index < 100; index += 1) {
      change(String(index));
      await time.advanceAsync(1_000);
    }
    await time.advanceAsync(120_000);
    expect(sent).toEqual([
      { at: 2_000, inputs: 'a' },
      { at: 62_000, inputs: '59' },
      { at: 122_000, inputs: '99' },
    ]);
  });

  it('says nothing when it is the same in another order, but the same again every ten minutes', async () => {
    const { time, sent, change } = reporting();
    change('a', 'b');
    await time.advanceAsync(100_000);
    change('b', 'a');
    await time.advanceAsync(100_000);
    expect(sent).toHaveLength(1);
    await time.advanceAsync(1_300_000);
    expect(sent).toHaveLength(3);
    change('c');
    await time.advanceAsync(62_000);
    expect(sent.at(-1)).toMatchObject({ inputs: 'c' });
  });

  it('tries again, less and less often, until it is taken', async () => {
    const { time, sent, world, change } = reporting();
    const late = new Refused(429, {}, 'PUT');
    world.failing = [new Unreachable(new Error('away')), late, new Refused(503, {}, 'PUT')];
    change('a');
    await time.advanceAsync(2_000);
    world.held = ['a', 'b'];
    await time.advanceAsync(10_000);
    expect(sent.map(({ inputs }) => inputs)).toEqual(['a,b']);
    expect(sent[0]?.at).toBeGreaterThan(2_000 + 250 + 500 + 1_000);
  });

  it('ends with a control plane that knows no such report', async () => {
    const { time, sent, world, change } = reporting();
    world.failing = [new Refused(404, {}, 'PUT')];
    change('a');
    await time.advanceAsync(2_000);
    change('b');
    await time.advanceAsync(600_000);
    expect(sent).toEqual([]);
  });

  it('ends when it is stopped', async () => {
    const { time, sent, report, change } = reporting();
    change('a');
    report.stop();
    await time.advanceAsync(600_000);
    expect(sent).toEqual([]);
  });
});
