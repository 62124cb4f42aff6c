import { describe, expect, it } from '@jest/globals';
import { CommandHandler, MemoryEventStore } from '#event-store';
import { countingIds, FakeTime, toMillis } from '#kernel';
import { ClusterView } from '#scheduling';
import { aSubmission, EPOCH } from '#testing';
import { jobDecider } from '../domain/decide.js';
import { jobStream } from '../domain/events.js';
import { JobChanges } from './job-changes.js';

const following = async () => {
  const time = new FakeTime(toMillis(EPOCH));
  const store = new MemoryEventStore({ clock: time, timers: time });
  const jobs = new CommandHandler(jobDecider, store, countingIds());
  const view = new ClusterView(store, (error) => {
    throw error;
  });
  view.start();
  await time.advanceAsync(100);
  const submit = (jobId: string) => jobs.handle(jobStream(jobId), aSubmission({ jobId }), { actor: 'ana' });
  return { time, submit, changes: new JobChanges(view) };
};

describe('live movements of jobs', () => {
  it('are told in the order of the log, to whoever may see them', async () => {
    const { time, submit, changes } = await following();
    const all = changes.follow(undefined, (jobId) => jobId !== 'hidden');
    const one = changes.follow('j2', () => true);
    const first = Promise.all([all.next(), one.next()]);
    for (const jobId of ['hidden', 'j1', 'j2']) await submit(jobId);
    await time.advanceAsync(100);
    const [ofAll, ofOne] = await first;
    expect([ofAll.value, (await all.next()).value]).toMatchObject([{ jobId: 'j1' }, { jobId: 'j2' }]);
    expect(ofOne.value).toMatchObject({ jobId: 'j2', type: 'JobSubmitted', revision: '0' });
  });

  it('are no longer listened to when the reader leaves, though nothing comes after', async () => {
    const { changes } = await following();
    const reader = changes.follow(undefined, () => true);
    const next = reader.next();
    expect(changes.open).toBe(1);
    await reader.return(undefined);
    expect(await next).toEqual({ done: true, value: undefined });
    expect(changes.open).toBe(0);
  });
});
