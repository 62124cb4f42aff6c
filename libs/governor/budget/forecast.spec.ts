import { describe, expect, it } from '@jest/globals';
import type { Contract } from '#nodes';
import { capacity, estimate } from '../testing/bench.js';
import { demandOf, forecast, machineOf } from './index.js';
import type { Estimate, ExpectedRelease } from './index.js';

const NOW = 1000;
const holding = (memory: number): Contract => ({ cpu: 0, memory, disk: 0, ioSlots: 0, gpus: [] });

/** When `needs` are expected to be granted where each of these bytes is given back at that moment. */
const when = (needs: Estimate, held: readonly (readonly [memory: number, at: number])[], unknown = 0) => {
  const releases: ExpectedRelease[] = held.map(([memory, at]) => ({ at, contract: holding(memory) }));
  const all = [...releases.map(({ contract }) => contract), holding(unknown)];
  return forecast(demandOf(needs), machineOf(capacity({ memory: 1000 }), all), releases, NOW);
};

const batch = { size: 10, min: 1, memoryPerItem: 100, gpuMemoryPerItem: 0 };

describe('G-56 a forecast', () => {
  it('is now where there is room already, whatever ends later', () =>
    expect(when(estimate({ memory: 400 }), [[600, 9000]])).toEqual({ at: NOW, items: 0 }));

  it('is the first moment at which enough is given back, in whatever order it is told', () => {
    const held = [
      [300, 9000],
      [300, 5000],
      [300, 7000],
    ] as const;
    expect(when(estimate({ memory: 600 }), held)).toEqual({ at: 7000, items: 0 });
  });

  it('counts all that is given back at one moment before it looks', () => {
    expect(
      when(estimate({}, { batch }), [
        [500, 5000],
        [500, 5000],
      ]),
    ).toEqual({ at: 5000, items: 10 });
    expect(when(estimate({}, { batch }), [[500, NOW]])).toEqual({ at: NOW, items: 10 });
  });

  it('expects what is overdue at once', () =>
    expect(when(estimate({ memory: 1000 }), [[500, NOW - 1]])).toEqual({ at: NOW, items: 0 }));

  it('tells nothing while too much has an end that nobody knows, or where there never is enough', () => {
    expect(when(estimate({ memory: 600 }), [[500, 5000]], 500)).toBeUndefined();
    expect(when(estimate({ memory: 1001 }), [[500, 5000]])).toBeUndefined();
  });
});
