import { describe, expect, it } from '@jest/globals';
import { ResourceGovernor } from './index.js';
import type { Estimate, Granted } from './index.js';
import { capacity, estimate } from './testing/bench.js';

const claim = (governor: ResourceGovernor, needs: Estimate): Granted => {
  const answer = governor.reserve(needs);
  if (!('reservation' in answer)) throw new Error(answer.reason.message);
  return answer;
};

describe('ResourceGovernor', () => {
  it('claims what it grants, until it is released', () => {
    const governor = new ResourceGovernor(capacity());
    const { reservation } = claim(governor, estimate({ cpu: 3 }));
    expect(governor.isActive(reservation)).toBe(true);
    expect(governor.reserve(estimate({ cpu: 2 })).kind).toBe('WAIT');
    governor.release(reservation);
    expect(governor.isActive(reservation)).toBe(false);
    expect(governor.reserve(estimate({ cpu: 4 })).kind).toBe('GRANT');
  });

  it('says what it would answer without a claim', () => {
    const governor = new ResourceGovernor(capacity());
    expect(governor.examine(estimate({ cpu: 4 })).kind).toBe('GRANT');
    expect(governor.examine(estimate({ cpu: 4 })).kind).toBe('GRANT');
    expect(governor.contracts()).toEqual([]);
  });

  it('G-30 a second release is told and changes nothing, as is a stranger', () => {
    const governor = new ResourceGovernor(capacity());
    const first = claim(governor, estimate({ cpu: 2 })).reservation;
    claim(governor, estimate({ cpu: 2 }));
    expect([governor.release(first), governor.release(first)]).toEqual(['released', 'already-released']);
    expect(governor.contracts()).toMatchObject([{ cpu: 2 }]);
    const foreign = claim(new ResourceGovernor(capacity()), estimate({ cpu: 1 })).reservation;
    expect(governor.release(foreign)).toBe('unknown');
    expect(governor.contracts()).toMatchObject([{ cpu: 2 }]);
  });

  it('G-13 G-14 a reservation tells nothing, and a contract that is handed out is a copy', () => {
    const governor = new ResourceGovernor(capacity());
    const { reservation, contract } = claim(governor, estimate({ cpu: 2 }));
    expect(Reflect.ownKeys(reservation)).toEqual([]);
    expect(Object.isFrozen(reservation)).toBe(true);
    expect(() => Object.assign(contract, { cpu: 0 })).toThrow(TypeError);
    Object.assign(governor.contracts()[0]!, { cpu: 0 });
    expect(governor.contracts()).toMatchObject([{ cpu: 2 }]);
  });

  it('refuses an estimate that is none, naming every mistake', () => {
    const gpu = { count: 1.5, share: 0, models: [] };
    const batch = { size: 2, min: 3, memoryPerItem: -1, gpuMemoryPerItem: 0 };
    const answer = new ResourceGovernor(capacity()).reserve(
      estimate({ cpu: Number.NaN, memory: -1, ioSlots: 0.5, gpu }, { batch, devices: [], duration: -1 }),
    );
    if (answer.kind !== 'REJECT') throw new Error('granted');
    expect(answer.reason.code).toBe('estimate.invalid');
    for (const name of [
      'cpu',
      'memory',
      'ioSlots',
      'gpu.count',
      'gpu.share',
      'memoryPerItem',
      'min',
      'duration',
      'devices',
    ])
      expect(answer.reason.message).toContain(name);
  });

  it('adopts what runs already, whether it fits or not, and counts it', () => {
    const governor = new ResourceGovernor(capacity());
    const adopted = governor.adopt({ cpu: 6, memory: 10, disk: 0, ioSlots: 0, gpus: [] });
    expect(governor.reserve(estimate({ cpu: 1 })).kind).toBe('WAIT');
    expect(governor.release(adopted)).toBe('released');
    expect(governor.reserve(estimate({ cpu: 4 })).kind).toBe('GRANT');
  });

  it('keeps its claims through a change of capacity', () => {
    const governor = new ResourceGovernor(capacity({ gpus: [{ id: 'g', model: 'T4', memory: 10 }] }));
    const gpu = { count: 1, share: 1, models: [] };
    const { reservation } = claim(governor, estimate({ cpu: 3, gpu }));
    governor.setCapacity(capacity({ cpu: 2 }));
    expect(governor.reserve(estimate({ cpu: 3 })).kind).toBe('REJECT');
    expect(governor.reserve(estimate({ cpu: 1 })).kind).toBe('WAIT');
    governor.setCapacity(capacity({ gpus: [{ id: 'g', model: 'T4', memory: 10 }] }));
    expect(governor.reserve(estimate({ gpu })).kind).toBe('WAIT');
    governor.release(reservation);
    expect(governor.reserve(estimate({ cpu: 4, gpu })).kind).toBe('GRANT');
  });
});
