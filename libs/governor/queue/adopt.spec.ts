import { describe, expect, it } from '@jest/globals';
import type { Contract } from '#nodes';
import type { TaskRequest } from '../index.js';
import { Bench, estimate, settle } from '../testing/bench.js';

const contract = (part: Partial<Contract>): Contract => ({ cpu: 0, memory: 0, disk: 0, ioSlots: 0, gpus: [], ...part });
const cpu = (amount: number, duration?: number) =>
  estimate({ cpu: amount }, duration === undefined ? {} : { duration });

/** Takes in a task that runs already. */
const adopt = async (bench: Bench, id: string, amount: number, more: Partial<TaskRequest> = {}): Promise<void> => {
  const answer = bench.queue.adopt(bench.request(id, cpu(amount), more), contract({ cpu: amount }));
  if (answer.kind === 'rejected') throw new Error(answer.rejection.message);
  void answer.ended.then((end) => bench.ends.set(id, end));
  await settle();
};

describe('G-54 a task that ran before', () => {
  it('holds its contract, fitting or not, until its work has ended, and then wakes those who wait', async () => {
    const bench = new Bench({}, [{ name: 'tasks', workers: 9 }]);
    await adopt(bench, 'old', 6);
    await bench.start('a', cpu(1));
    expect([bench.state('old'), bench.state('a'), bench.freeCpu]).toEqual(['running', 'pending', -2000]);
    expect(bench.calls.get('old')?.contract).toEqual(contract({ cpu: 6 }));
    await bench.finish('old', 7);
    expect([bench.ends.get('old'), bench.state('a')]).toEqual([{ state: 'completed', result: 7 }, 'running']);
    expect(bench.path('old')).toEqual(['created', 'estimated', 'reserved', 'taken', 'started', 'released', 'ended']);
  });

  it('has a worker of its lane, though there are fewer than run already', async () => {
    const bench = new Bench({}, [{ name: 'tasks', workers: 2 }, { name: 'other' }]);
    for (const id of ['x', 'y', 'z']) await adopt(bench, id, 0);
    await bench.start('a');
    await bench.start('b');
    await bench.start('elsewhere', estimate(), { lane: 'other' });
    expect(bench.started()).toEqual(['x', 'y', 'z', 'elsewhere']);
    expect(bench.queue.lane('tasks')).toMatchObject({ running: 3, workers: 2, waiting: ['a', 'b'] });
    await bench.finish('x');
    expect(bench.state('a')).toBe('pending');
    await bench.finish('y');
    expect([bench.state('a'), bench.state('b')]).toEqual(['running', 'pending']);
    await bench.finish('z');
    expect([bench.state('b'), bench.queue.lane('tasks')?.running]).toEqual(['running', 2]);
  });

  it('is counted upon to end when it says so', async () => {
    const bench = new Bench({}, [{ name: 'tasks', workers: 9, discipline: 'backfill' }]);
    let end: number | undefined = 30_000;
    await adopt(bench, 'old', 3, { endsBy: () => end });
    await bench.start('head', cpu(4));
    expect(bench.queue.task('head')?.expectedStart).toBe(30_000);
    await bench.start('long', cpu(1, 31));
    await bench.start('short', cpu(1, 30));
    expect(bench.started()).toEqual(['old', 'short']);
    bench.time.advance(40_000);
    // Overdue: expected at any moment.
    expect(bench.queue.task('head')?.expectedStart).toBe(40_000);
    end = undefined;
    expect(bench.queue.task('head')?.expectedStart).toBeUndefined();
  });

  it('is counted with all others where several have to end before there is a worker', async () => {
    const bench = new Bench({}, [{ name: 'tasks', workers: 2, discipline: 'backfill' }]);
    for (const [id, end] of [
      ['x', 30_000],
      ['y', 10_000],
      ['z', 20_000],
    ] as const)
      await adopt(bench, id, 0, { endsBy: () => end });
    await bench.start('head');
    expect(bench.queue.task('head')?.expectedStart).toBe(20_000);
  });

  it('can be cancelled, and is what destroying waits for', async () => {
    const bench = new Bench();
    await adopt(bench, 'old', 1);
    await adopt(bench, 'older', 1);
    bench.queue.cancel('old', 'enough');
    await bench.queue.destroy();
    expect(bench.ends.get('old')).toMatchObject({ state: 'cancelled', reason: { message: 'enough' } });
    expect([bench.ends.get('older')?.state, bench.governor.contracts()]).toEqual(['cancelled', []]);
  });

  it('is refused as any other is, with every mistake named, and then holds nothing', async () => {
    const bench = new Bench();
    await bench.start('a');
    const wrong = bench.request('a', cpu(-1), { lane: 'none' });
    expect(bench.queue.adopt(wrong, contract({ cpu: 1 }))).toMatchObject({
      kind: 'rejected',
      rejection: {
        details: {
          mistakes: [{ code: 'TASK_DUPLICATE' }, { code: 'ESTIMATE_INVALID' }, { code: 'LANE_UNKNOWN' }],
        },
      },
    });
    expect(bench.governor.contracts()).toHaveLength(1);
    await bench.queue.destroy();
    const late = bench.queue.adopt(bench.request('b', cpu(1)), contract({ cpu: 1 }));
    expect(late).toMatchObject({ kind: 'rejected', rejection: { code: 'QUEUE_CLOSED' } });
  });
});

describe('G-56 backfill beside a pause', () => {
  it('looks again once the end of a paused task is foreseen again', async () => {
    const bench = new Bench({}, [{ name: 'tasks', workers: 9, discipline: 'backfill' }, { name: 'other' }]);
    await bench.start('a', cpu(3, 100), { lane: 'other' });
    await bench.start('head', cpu(4));
    bench.queue.pause('a');
    await bench.start('short', cpu(1, 50));
    expect(bench.started()).toEqual(['a']);
    bench.queue.resume('a');
    await settle();
    expect(bench.started()).toEqual(['a', 'short']);
  });
});
