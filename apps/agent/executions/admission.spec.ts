import { describe, expect, it } from '@jest/globals';
import type { Contract, Inventory } from '#contracts';
import { refusal } from './admission.js';

const inventory: Inventory = {
  os: 'linux',
  architecture: 'x64',
  cpu: 1,
  memory: 1000,
  disk: 1000,
  ioSlots: 1,
  gpus: [{ id: 'g0', model: 'T4', memory: 100 }],
  applications: [],
  packages: [],
  labels: {},
};

const contract = (part: Partial<Contract>): Contract => ({ cpu: 0, memory: 0, disk: 0, ioSlots: 0, gpus: [], ...part });

describe('local admission', () => {
  it('takes what fits exactly, decimal shares too', () => {
    const held = Array.from({ length: 9 }, () => contract({ cpu: 0.1 }));
    expect(refusal(contract({ cpu: 0.1, memory: 1000 }), held, inventory)).toBeUndefined();
  });

  it.each([
    [{ cpu: 0.5 }, 'cpu: asked 0.5, 0.25 of 1 free'],
    [{ memory: 2000 }, 'memory: asked 2000, 1000 of 1000 free'],
    [{ ioSlots: 1 }, 'ioSlots: asked 1, 0 of 1 free'],
    [{ gpus: [{ id: 'g1', share: 1, memory: 1 }] }, 'gpu g1: not on this node'],
    [{ gpus: [{ id: 'g0', share: 0.6, memory: 1 }] }, 'gpu g0 share: asked 0.6, 0.5 of 1 free'],
    [{ gpus: [{ id: 'g0', share: 0.5, memory: 60 }] }, 'gpu g0 memory: asked 60, 50 of 100 free'],
  ])('refuses %j', (part, reason) => {
    const held = [contract({ cpu: 0.75, ioSlots: 1, gpus: [{ id: 'g0', share: 0.5, memory: 50 }] })];
    expect(refusal(contract(part), held, inventory)).toBe(reason);
  });

  it('lets in what asks nothing of a part that is over-committed', () => {
    expect(refusal(contract({ memory: 1 }), [contract({ cpu: 5 })], inventory)).toBeUndefined();
  });
});
