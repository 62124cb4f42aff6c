import { beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { AssignedTask, Assignment, Contract, Inventory } from '#contracts';
import { FakeTime, toInstant } from '#kernel';
import type { Millis } from '#kernel';
import { someAssignment } from '../testing/assignments.js';
import { Admission } from './admission.js';
import type { LaneChoices } from './lanes.js';

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

/** What holds a contract until the test says so, and tells no end unless the test does. */
class Held {
  private readonly end = Promise.withResolvers<undefined>();
  readonly released: Promise<void> = this.end.promise;
  expected: Millis | undefined;

  constructor(readonly contract: Contract) {}

  release(): void {
    this.end.resolve(undefined);
  }

  endsBy(): Millis | undefined {
    return this.expected;
  }
}

let time: FakeTime;
let admission: Admission;
let begun: Map<string, Held>;
let declined: Map<string, string>;
let logged: Record<string, unknown>[];

const open = (lanes: LaneChoices): void => {
  const log = pino({ base: null }, { write: (line) => void logged.push(JSON.parse(line) as Record<string, unknown>) });
  admission = new Admission(inventory, lanes, { clock: time, timers: time, log });
};

beforeEach(() => {
  time = new FakeTime(1_000_000);
  begun = new Map();
  declined = new Map();
  logged = [];
  open({});
});

/** Admits with so many milliseconds to confirm, and lets it begin if it can. */
const admit = async (
  id: string,
  part: Partial<Contract>,
  wait = 15_000,
  task: Partial<AssignedTask> = {},
  more: Partial<Assignment> = {},
): Promise<void> => {
  const confirmBy = toInstant(time.now() + wait);
  admission.admit(someAssignment(id, [], task, { contract: contract(part), confirmBy, ...more }), {
    begin: (granted) => {
      const held = new Held(granted);
      begun.set(id, held);
      return held;
    },
    decline: (reason) => declined.set(id, reason),
  });
  await time.advanceAsync(0);
};

/** Takes back what an earlier agent left running. */
const adopt = (id: string, part: Partial<Contract>, more: Partial<Assignment> = {}): Held => {
  const held = new Held(contract(part));
  admission.adopt(someAssignment(id, [], {}, { ...more, contract: held.contract }), held);
  return held;
};

/** The words for when, so many milliseconds from now. */
const inTime = (millis: Millis): string => toInstant(time.now() + millis);

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
    expect(begun.has('a')).toBe(false);
    expect(declined.get('a')).toMatch(new RegExp(`^${reason}; lane (cpu|io|gpu) \\(backfill\\), place 1 of 1; `));
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
      expect(declined.get('a')).toMatch(/^memory: asked 200, 150 of 1000 free; lane gpu /);
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

  it('G-51 lets nobody pass where that is the discipline, and says so', async () => {
    open({ cpu: { discipline: 'fifo' } });
    await admit('a', { cpu: 3 });
    await admit('b', { cpu: 3 });
    await admit('c', { cpu: 1 }, 5_000);
    await admit('d', { cpu: 1 }, 20_000);
    await admit('never', { cpu: 5 });
    expect(declined.get('never')).toBe('cpu: asked 5, 4 of 4 free');
    await time.advanceAsync(4_000);
    expect(declined.get('c')).toBe(
      'behind b: cpu: asked 3, 1 of 4 free; lane cpu (fifo), place 2 of 3; expected start of b unknown',
    );
    await time.advanceAsync(10_000);
    // The wait of `b` is over, and with it that of `d`.
    expect([declined.get('b'), [...begun.keys()]]).toEqual([
      'cpu: asked 3, 1 of 4 free; lane cpu (fifo), place 1 of 2; expected start unknown',
      ['a', 'd'],
    ]);
  });

  it('G-54 counts what an earlier agent left running until it is over, fitting or not', async () => {
    const old = adopt('old', { cpu: 6 });
    await admit('a', { cpu: 1 });
    expect(begun.size).toBe(0);
    old.release();
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

describe('lanes', () => {
  const gpu = { gpus: [{ id: 'g0', share: 1, memory: 100 }] };

  it('G-58 hold up nobody but their own: a task for devices that waits for memory lets those for cores go on', async () => {
    const ending = adopt('given-up', { memory: 600 });
    await admit('g', { ...gpu, memory: 800 });
    await admit('i', { ioSlots: 1 });
    await admit('c', { cpu: 1, memory: 100 });
    expect([...begun.keys()]).toEqual(['i', 'c']);
    ending.release();
    await time.advanceAsync(0);
    expect([...begun.keys()]).toEqual(['i', 'c', 'g']);
    expect(declined.size).toBe(0);
  });

  it('G-58 begin so many at once as their owner says, those that ran before among them', async () => {
    open({ gpu: { workers: 1 }, io: { workers: 2 } });
    const old = adopt('old', { gpus: [{ id: 'g0', share: 0.5, memory: 10 }] });
    old.expected = time.now() + 60_000;
    await admit('g', { gpus: [{ id: 'g0', share: 0.5, memory: 10 }] });
    await admit('c1', { cpu: 1 });
    await admit('c2', { cpu: 1 });
    expect([...begun.keys()]).toEqual(['c1', 'c2']);
    const when = inTime(60_000);
    await time.advanceAsync(14_000);
    expect(declined.get('g')).toBe(
      `all that may run at once in the lane do, 1 of 1; lane gpu (backfill), place 1 of 1; expected start ${when}`,
    );
    old.release();
    await admit('g2', { gpus: [{ id: 'g0', share: 0.5, memory: 10 }] });
    expect(begun.has('g2')).toBe(true);
  });

  it('G-58 say of what waits where it stands, behind whom and until when, once', async () => {
    (await held('old', { cpu: 4 })).expected = time.now() + 60_000;
    await admit('a', { cpu: 4 });
    await admit('b', { cpu: 1 }, 15_000, { duration: 90 });
    const line = { lane: 'cpu', discipline: 'backfill', expectedStart: inTime(60_000) };
    const waits = logged.filter(({ msg }) => msg === 'an execution waits for room');
    const first = 'cpu: asked 4, 0 of 4 free';
    expect(waits).toMatchObject([
      { executionId: 'a', ...line, place: 1, of: 1, reason: first },
      { executionId: 'b', ...line, place: 2, of: 2, behind: 'a', reason: `${first}; cpu: asked 1, 0 of 4 free` },
    ]);
  });
});

/** Has it begin at once. */
const held = async (id: string, part: Partial<Contract>, task: Partial<AssignedTask> = {}): Promise<Held> => {
  await admit(id, part, 15_000, task);
  const holder = begun.get(id);
  if (!holder) throw new Error(`${id} did not begin`);
  return holder;
};

/** `old` holds three cores for 60 s yet, `head` waits for all four; one core is free. */
const headWaits = async (lanes: LaneChoices): Promise<Held> => {
  open(lanes);
  const old = await held('old', { cpu: 3 });
  old.expected = time.now() + 60_000;
  await admit('head', { cpu: 4 }, 100_000);
  return old;
};

describe('the head waits, and a small task behind it fits', () => {
  it('G-01 G-51 `fifo` keeps it waiting', async () => {
    const old = await headWaits({ cpu: { discipline: 'fifo' } });
    await admit('small', { cpu: 1 }, 100_000, { duration: 1 });
    await time.advanceAsync(59_000);
    expect([...begun.keys()]).toEqual(['old']);
    old.release();
    await time.advanceAsync(0);
    expect([...begun.keys()]).toEqual(['old', 'head']);
  });

  it('G-56 `priority` keeps it waiting too, and has the higher first, equals as they came', async () => {
    const old = await headWaits({ cpu: { discipline: 'priority' } });
    await admit('small', { cpu: 1 }, 100_000, { duration: 1 });
    await admit('high', { cpu: 4 }, 100_000, {}, { priority: 51 });
    await admit('low', { cpu: 1 }, 100_000, {}, { priority: 49 });
    for (const id of ['old', 'high', 'head']) {
      expect([...begun.keys()].at(-1)).toBe(id);
      begun.get(id)?.release();
      await time.advanceAsync(0);
    }
    expect([...begun.keys()]).toEqual(['old', 'high', 'head', 'small', 'low']);
    old.release();
  });

  it('G-56 `backfill` runs it only if the head is not delayed by the estimate', async () => {
    const old = await headWaits({ cpu: { discipline: 'backfill' } });
    await admit('long', { cpu: 1 }, 100_000, { duration: 61 });
    await admit('unknown', { cpu: 1 }, 10_000);
    expect([...begun.keys()]).toEqual(['old']);
    await admit('short', { cpu: 1 }, 100_000, { duration: 60 });
    expect([...begun.keys()]).toEqual(['old', 'short']);
    const when = inTime(60_000);
    begun.get('short')!.expected = time.now() + 60_000;
    await time.advanceAsync(9_000);
    expect(declined.get('unknown')).toBe(
      'behind head: cpu: asked 4, 0 of 4 free; it might delay what waits ahead of it; ' +
        `lane cpu (backfill), place 3 of 3; expected start of head ${when}`,
    );
    await time.advanceAsync(51_000);
    old.release();
    begun.get('short')?.release();
    await time.advanceAsync(0);
    expect([...begun.keys()]).toEqual(['old', 'short', 'head']);
  });

  it('G-56 `backfill` runs it for as long as it likes where the head has room beside it, as the ledger would have it', async () => {
    const ending = adopt('given-up', { cpu: 2 });
    ending.expected = time.now() + 5_000;
    await admit('head', { cpu: 3 });
    await admit('beside', { cpu: 1 });
    expect([...begun.keys()]).toEqual(['beside']);
    ending.release();
    await time.advanceAsync(0);
    expect([...begun.keys()]).toEqual(['beside', 'head']);
  });

  it('G-56 `backfill` lets nothing pass while nobody knows when the head can start, as with no estimates at all', async () => {
    const old = await headWaits({ cpu: { discipline: 'backfill' } });
    old.expected = undefined;
    await admit('small', { cpu: 1 }, 15_000, { duration: 1 });
    await time.advanceAsync(14_000);
    expect([...begun.keys()]).toEqual(['old']);
    expect(declined.get('small')).toBe(
      'behind head: cpu: asked 4, 1 of 4 free; lane cpu (backfill), place 2 of 2; expected start of head unknown',
    );
  });

  it('G-56 looks again when what runs is expected to end at another time', async () => {
    const old = await headWaits({});
    old.expected = undefined;
    await admit('small', { cpu: 1 }, 100_000, { duration: 10 });
    expect(begun.has('small')).toBe(false);
    old.expected = time.now() + 10_000;
    admission.outlookChanged();
    await time.advanceAsync(0);
    expect(begun.has('small')).toBe(true);
  });

  it('G-59 each goes by its own discipline, and none begins what is not granted', async () => {
    open({ cpu: { discipline: 'fifo' }, io: { discipline: 'backfill' } });
    (await held('old', { cpu: 3 })).expected = time.now() + 60_000;
    await admit('head', { cpu: 4 });
    await admit('io-head', { cpu: 4, ioSlots: 1 });
    await admit('small', { cpu: 1 }, 15_000, { duration: 1 });
    await admit('io-small', { cpu: 1, ioSlots: 1 }, 15_000, { duration: 1 });
    await admit('io-more', { cpu: 1, ioSlots: 1 }, 15_000, { duration: 1 });
    expect([...begun.keys()]).toEqual(['old', 'io-small']);
  });
});
