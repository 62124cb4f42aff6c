import { describe, expect, it } from '@jest/globals';
import { ServerUnreachable, toProblem } from '#contracts';
import type { BatchAnswer } from '#contracts';
import { FakeTime } from '#kernel';
import { submitBatch } from './batch.js';

type Item = BatchAnswer['items'][number];

const taken = (id: string): Item => ({ status: 201, id, evaluationId: 'e', revision: '0', warnings: [] });
const away: Item = { status: 503, problem: toProblem('STORE_UNAVAILABLE', 'the event store does not answer') };
const wrong: Item = { status: 422, problem: toProblem('VALIDATION_FAILED', 'is wrong') };

const submitting = (...answers: readonly (readonly Item[] | Error)[]) => {
  const time = new FakeTime();
  const keys: (string | undefined)[] = [];
  const sent: unknown[] = [];
  let told = '';
  const client = {
    submitJobs: (items: readonly unknown[], { idempotencyKey }: { idempotencyKey?: string } = {}) => {
      const answer = answers[Math.min(keys.push(idempotencyKey), answers.length) - 1]!;
      sent.push(items);
      if (answer instanceof Error) return Promise.reject(answer);
      return Promise.resolve({ body: { items: answer }, revision: undefined, position: undefined });
    },
  };
  const err = { write: (text: string) => void (told += text) };
  const jobs = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];
  const done = submitBatch(client, jobs, 'k', { err, timers: time } as never);
  return { time, keys, sent, jobs, done, told: () => told };
};

describe('E-01 a batch that is cut short', () => {
  it('is sent again under its key until all of it is stored, in its order, and says so', async () => {
    const first = [taken('1'), away, away];
    const { time, keys, sent, jobs, done, told } = submitting(first, new ServerUnreachable('gone'), [
      taken('1'),
      taken('2'),
      taken('3'),
    ]);
    await time.advanceAsync(1_000);
    expect(keys).toEqual(['k', 'k']);
    await time.advanceAsync(2_000);
    expect(await done).toEqual([taken('1'), taken('2'), taken('3')]);
    expect([keys, sent]).toEqual([
      ['k', 'k', 'k'],
      [jobs, jobs, jobs],
    ]);
    expect(told()).toBe(
      '2 of 3 jobs are not stored yet (STORE_UNAVAILABLE); trying again in 1 s\ngone; trying again in 2 s\n',
    );
  });

  it('is not sent again for what is refused for good', async () => {
    const { keys, done, told } = submitting([taken('1'), wrong, taken('3')]);
    expect(await done).toEqual([taken('1'), wrong, taken('3')]);
    expect([keys, told()]).toEqual([['k'], '']);
  });

  it('is given up after a minute, with what failed', async () => {
    const { time, keys, done } = submitting([taken('1'), away, away]);
    await time.advanceAsync(60_000);
    expect(await done).toEqual([taken('1'), away, away]);
    expect(keys).toHaveLength(8);
  });

  it('is over at once when the server refuses the whole', async () => {
    const { keys, done } = submitting(new Error('refused'));
    await expect(done).rejects.toThrow('refused');
    expect(keys).toHaveLength(1);
  });
});
