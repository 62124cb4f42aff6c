import { beforeEach, describe, expect, it } from '@jest/globals';
import type { AssignedTask, Contract, Inventory } from '#contracts';
import { FakeTime, toInstant } from '#kernel';
import { someAssignment } from '../testing/assignments.js';
import { Admission } from './admission.js';

const inventory: Inventory = {
  os: 'linux',
  architecture: 'x64',
  cpu: 4,
  memory: 1000,
  disk: 1000,
  ioSlots: 1,
  gpus: [{ id: 'g0', model: 'T4', memory: 100 }],
  applications: [],
  packages: [],
  labels: {},
};

const contract = (part: Partial<Contract>): Contract => ({ cpu: 0, memory: 0, disk: 0, ioSlots: 0, gpus: [], ...part });

let time: FakeTime;
let admission: Admission;
let begun: Map<string, { readonly contract: Contract; readonly release: () => void }>;
let declined: Map<string, string>;

beforeEach(() => {
  time = new FakeTime(1_000_000);
  admission = new Admission(inventory, time, time);
  begun = new Map();
  declined = new Map();
});

/** Admits with so many milliseconds to confirm, and lets it begin if it can. */
const admit = async (
  id: string,
  part: Partial<Contract>,
  wait = 15_000,
  task: Partial<AssignedTask> = {},
): Promise<void> => {
  const confirmBy = toInstant(time.now() + wait);
  admission.admit(someAssignment(id, [], task, { contract: contract(part), confirmBy }), {
    begin: (granted) => new Promise((resolve) => begun.set(id, { contract: granted, release: resolve })),
    decline: (reason) => declined.set(id, reason),
  });
  await time.advanceAsync(0);
};

const release = async (id: string): Promise<void> => {
  begun.get(id)?.release();
  await time.advanceAsync(0);
};

describe('local admission', () => {
  it('G-04 G-05 G-06 G-07 G-08 begins what the governor grants, with exactly the contract that was reserved', async () => {
    const reserved = {
      cpu: 1.5,
      memory: 1000,
      ioSlots: 1,
      gpus: [{ id: 'g0', share: 0.5, memory: 60 }],
      batchSize: 64,
    };
    await admit('a', reserved);
    expect(begun.get('a')?.contract).toEqual(contract(reserved));
    await time.advanceAsync(60_000);
    expect(declined.size).toBe(0);
  });

  it.each([
    [{ cpu: 4.5 }, 'cpu: asked 4.5, 4 of 4 free'],
    [{ memory: 2000 }, 'memory: asked 2000, 1000 of 1000 free'],
    [{ gpus: [{ id: 'g1', share: 1, memory: 1 }] }, 'gpu g1: not on this machine'],
    [{ gpus: [{ id: 'g0', share: 1, memory: 101 }] }, 'gpu g0 memory: asked 101, 100 of 100 free'],
  ])('G-27 G-28 G-29 declines %j at once, which can never fit', async (part, reason) => {
    await admit('a', part);
    expect([begun.size, declined.get('a')]).toEqual([0, reason]);
  });

  it.each([
    [{ cpu: 3.5 }, 'cpu: asked 3.5, 3.25 of 4 free'],
    [{ ioSlots: 1 }, 'ioSlots: asked 1, 0 of 1 free'],
    [{ gpus: [{ id: 'g0', share: 0.6, memory: 1 }] }, 'gpu g0 share: asked 0.6, 0.5 of 1 free'],
    [{ gpus: [{ id: 'g0', share: 0.5, memory: 60 }] }, 'gpu g0 memory: asked 60, 50 of 100 free'],
  ])('G-21 lets %j wait for what is held, and declines it while it can still be heard', async (part, reason) => {
    await admit('held', { cpu: 0.75, ioSlots: 1, gpus: [{ id: 'g0', share: 0.5, memory: 50 }] });
    await admit('a', part);
    await time.advanceAsync(13_999);
    expect([begun.has('a'), declined.size]).toEqual([false, 0]);
    await time.advanceAsync(1);
    expect([begun.has('a'), declined.get('a')]).toEqual([false, reason]);
    await release('held');
    expect(begun.has('a')).toBe(false);
  });

  describe('G-25 G-26 of a task that works in batches', () => {
    const batch = { min: 2, memoryPerItem: 50, gpuMemoryPerItem: 5 };
    const reserved = {
      memory: 900,
      gpus: [{ id: 'g0', share: 0.5, memory: 80 }],
      batchSize: 16,
    };
    const confirmed = (): Contract | undefined => begun.get('a')?.contract;

    it('begins it with fewer items and what they take, when that is all there is', async () => {
      await admit('held', { memory: 400 });
      await admit('a', reserved, 15_000, { batch });
      expect(confirmed()).toEqual(
        contract({ memory: 600, batchSize: 10, gpus: [{ id: 'g0', share: 0.5, memory: 50 }] }),
      );
      await admit('b', { memory: 1 });
      expect([...begun.keys()]).toEqual(['held', 'a']);
    });

    it('is bounded by the memory of its device too, and has all of a whole one', async () => {
      admission.resize({ ...inventory, gpus: [{ id: 'g0', model: 'T4', memory: 30 }] });
      await admit('a', reserved, 15_000, { batch });
      expect(confirmed()).toMatchObject({ batchSize: 6, memory: 400, gpus: [{ memory: 30 }] });
      await release('a');
      await admit('a', { ...reserved, gpus: [{ id: 'g0', share: 1, memory: 30 }] }, 15_000, { batch });
      expect(confirmed()).toMatchObject({ batchSize: 16, gpus: [{ memory: 30 }] });
    });

    it('waits for its smallest batch, and is declined with the reason when the time is over', async () => {
      await admit('held', { memory: 850 });
      await admit('a', reserved, 15_000, { batch });
      expect(confirmed()).toBeUndefined();
      await time.advanceAsync(14_000);
      expect(declined.get('a')).toBe('memory: asked 200, 150 of 1000 free');
    });

    it('has all that was reserved or nothing, where nobody says how it is reduced', async () => {
      await admit('held', { memory: 400 });
      await admit('a', reserved);
      expect(confirmed()).toBeUndefined();
      await release('held');
      expect(confirmed()).toEqual(contract(reserved));
    });
  });

  it('G-23 G-33 begins what waits as soon as there is room, in the order in which it came', async () => {
    await admit('a', { cpu: 3 });
    await admit('b', { cpu: 3 });
    await admit('c', { cpu: 1 });
    expect([...begun.keys()]).toEqual(['a']);
    await release('a');
    expect([...begun.keys()]).toEqual(['a', 'b', 'c']);
    await time.advanceAsync(60_000);
    expect(declined.size).toBe(0);
  });

  it('G-51 lets nobody pass, and says so', async () => {
    await admit('a', { cpu: 3 });
    await admit('b', { cpu: 3 });
    await admit('c', { cpu: 1 }, 5_000);
    await admit('d', { cpu: 1 }, 20_000);
    await admit('never', { cpu: 5 });
    expect(declined.get('never')).toBe('cpu: asked 5, 4 of 4 free');
    await time.advanceAsync(4_000);
    expect(declined.get('c')).toBe('behind b: cpu: asked 3, 1 of 4 free');
    await time.advanceAsync(10_000);
    // The wait of `b` is over, and with it that of `d`.
    expect([declined.get('b'), [...begun.keys()]]).toEqual(['cpu: asked 3, 1 of 4 free', ['a', 'd']]);
  });

  it('G-54 counts what an earlier agent left running until it is over, fitting or not', async () => {
    const over = Promise.withResolvers<undefined>();
    admission.adopt(contract({ cpu: 6 }), over.promise);
    await admit('a', { cpu: 1 });
    expect(begun.size).toBe(0);
    over.resolve(undefined);
    await time.advanceAsync(0);
    expect([...begun.keys()]).toEqual(['a']);
  });

  it('G-54 looks again when the machine is found to have more, or too little for ever', async () => {
    await admit('a', { cpu: 4 });
    await admit('b', { cpu: 2 });
    admission.resize({ ...inventory, cpu: 6 });
    await time.advanceAsync(0);
    expect([...begun.keys()]).toEqual(['a', 'b']);
    await admit('c', { cpu: 5 });
    admission.resize({ ...inventory, cpu: 3 });
    await time.advanceAsync(0);
    expect(declined.get('c')).toBe('cpu: asked 5, 3 of 3 free');
  });

  it('G-34 admits nothing more once closed, and what waits never begins', async () => {
    await admit('a', { cpu: 4 });
    await admit('b', { cpu: 1 });
    const closed = admission.close();
    await release('a');
    await closed;
    await admit('c', { cpu: 1 });
    expect([[...begun.keys()], declined.get('b'), declined.get('c')]).toEqual([
      ['a'],
      'the queue was destroyed',
      'the queue is being destroyed',
    ]);
  });
});
