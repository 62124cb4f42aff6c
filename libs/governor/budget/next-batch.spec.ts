import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Contract } from '#nodes';
import { ResourceGovernor } from '../index.js';
import type { BatchSeen, Estimate } from '../index.js';

const CAPACITY = { cpu: 4, memory: 1000, disk: 0, ioSlots: 0, gpus: [{ id: 'g0', model: 'A100', memory: 400 }] };
/** 100 bytes and 20 for each of 2 to 20 items. */
const estimate = (change: Partial<Estimate> = {}): Estimate => ({
  resources: { cpu: 1, memory: 100, disk: 0, ioSlots: 0 },
  batch: { size: 20, min: 2, memoryPerItem: 20, gpuMemoryPerItem: 0 },
  ...change,
});
const held = (memory: number): Contract => ({ cpu: 1, memory, disk: 0, ioSlots: 0, gpus: [] });

/** A governor that has granted the estimate, and how it answers for the next batch. */
const granted = (asked = estimate()) => {
  const governor = new ResourceGovernor(CAPACITY);
  const reserved = governor.reserve(asked);
  if (!('contract' in reserved)) throw new Error('was not granted');
  const { contract } = reserved;
  return { governor, contract, next: (seen: BatchSeen = {}) => governor.nextBatch(contract, asked, seen) };
};

describe('G-57 G-59 the governor on the next batch of what holds its contract', () => {
  it('grants what it granted, and changes nothing by being asked', () => {
    const { governor, contract, next } = granted();
    expect([next(), next(), governor.contracts()]).toEqual([20, 20, [contract]]);
  });

  it('G-25 grants less when the machine became smaller, down to the minimum, and more when it is back', () => {
    const { governor, next } = granted();
    governor.setCapacity({ ...CAPACITY, memory: 300 });
    expect(next()).toBe(10);
    governor.adopt(held(120));
    expect(next()).toBe(4);
    governor.setCapacity({ ...CAPACITY, memory: 50 });
    expect(next()).toBe(2);
    governor.setCapacity(CAPACITY);
    expect(next()).toBe(20);
  });

  it('grants what is free in truth, whatever it knows of', () => {
    const { next } = granted();
    expect([next({ freeMemory: 260 }), next({ freeMemory: 90 }), next({ freeMemory: 10_000 })]).toEqual([8, 2, 20]);
  });

  it('grants less when an item takes more than was stated, and no more when it takes less', () => {
    const { next } = granted();
    expect(next({ last: { items: 4, peakMemory: 260 } })).toBe(10);
    expect(next({ last: { items: 4, peakMemory: 120 } })).toBe(20);
    expect(next({ last: { items: 4, peakMemory: 260 }, freeMemory: 300 })).toBe(5);
  });

  it('looks at what is free on devices too', () => {
    const batch = { size: 20, min: 2, memoryPerItem: 0, gpuMemoryPerItem: 10 };
    const { governor, next } = granted(estimate({ batch, devices: [{ id: 'g0', share: 0.5, memory: 100 }] }));
    expect(next({ freeMemory: 200 })).toBe(20);
    governor.setCapacity({ ...CAPACITY, gpus: [{ id: 'g0', model: 'A100', memory: 160 }] });
    expect(next()).toBe(6);
  });

  it('never leaves the bounds, whatever was seen', () => {
    const seen = fc.record(
      {
        freeMemory: fc.nat({ max: 2000 }),
        last: fc.record({ items: fc.nat({ max: 20 }), peakMemory: fc.nat({ max: 2000 }) }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(seen, fc.nat({ max: 2000 }), fc.nat({ max: 1500 }), (what, memory, others) => {
        const { governor, contract, next } = granted();
        governor.setCapacity({ ...CAPACITY, memory });
        governor.adopt(held(others));
        const items = next(what);
        expect(Number.isInteger(items)).toBe(true);
        expect(items).toBeGreaterThanOrEqual(2);
        expect(items).toBeLessThanOrEqual(contract.batchSize!);
      }),
    );
  });
});
