import { expect, it } from '@jest/globals';
import type { JobRequeued } from '#jobs';
import { toMillis } from '#kernel';
import { SchedulingWorld } from './testing/scheduling-world.js';

it('A-20 two processes with clocks that differ come to rest about a job that for one of them may not have the node of its line yet', async () => {
  const world = new SchedulingWorld({ options: { aging: 0, workers: 1 } });
  await world.project();
  await world.looping();
  await world.node('n0', { cpu: 4 });
  world.time.every(5_000, () => world.seen.set('n0', world.time.now()));
  await world.onNode('n0', { type: 'ChangePool', pool: { name: 'lab', discipline: 'fifo' }, at: world.now() });
  const wanting = (cpu: number) => ({ resources: { cpu, memory: 1, disk: 0, ioSlots: 0 } });

  await world.submit('unanswered', wanting(4));
  await world.time.advanceAsync(16_000);
  const [requeued] = world.events('job-unanswered', 'JobRequeued');
  const { exclude } = requeued?.data as JobRequeued['data'];
  expect(exclude?.nodeId).toBe('n0');
  await world.submit('hog', wanting(1));
  await world.time.advanceAsync(0);
  const { executionId } = await world.execution('hog');
  await world.report(executionId, 'start');

  const ahead = new SchedulingWorld({ beside: world, clockOffset: 2_000, options: { aging: 0, workers: 1 } });
  await ahead.looping();
  await world.time.advanceAsync(toMillis(exclude?.until ?? '') - world.time.now() + 1);
  const reasons = world
    .events('job-unanswered', 'PlacementDecided')
    .map(({ data }) => (data as { filtered: { reason: string }[] }).filtered.map(({ reason }) => reason));
  expect(reasons).toContainEqual(['capacity.cpu']);
  expect(reasons.length).toBeLessThan(8);
});
