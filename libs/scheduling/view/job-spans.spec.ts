import { describe, expect, it } from '@jest/globals';
import { aConsumption } from '#testing';
import { SchedulingWorld } from '../testing/scheduling-world.js';
import { JobSpans } from './job-spans.js';

const measured = (world: SchedulingWorld) => {
  const seen = { waited: [] as number[], ran: [] as string[], filtered: [] as string[] };
  world.observer.waited = (millis) => void seen.waited.push(millis);
  world.observer.ran = (result, millis) => void seen.ran.push(`${result} ${String(millis)}`);
  world.observer.filtered = (reason, nodes) => void seen.filtered.push(`${reason} ${String(nodes)}`);
  return seen;
};

describe('spans of jobs', () => {
  it('tell how long parts waited and ran, and which reasons ruled nodes out', async () => {
    const world = new SchedulingWorld();
    const seen = measured(world);
    await world.project();
    await world.node('small', { cpu: 1 });
    const loop = await world.looping();
    await world.time.advanceAsync(2_000);
    await world.submit('job-1', { resources: { cpu: 2, memory: 1024, disk: 0, ioSlots: 0 } });
    await world.time.advanceAsync(4_000);
    expect(seen.waited).toEqual([]);
    expect(seen.filtered).toContain('capacity.cpu 1');
    await world.node('large', { cpu: 8 });
    await world.time.advanceAsync(2_000);
    expect(seen.waited).toHaveLength(1);
    expect(seen.waited[0]).toBeGreaterThanOrEqual(4_000);
    const { executionId } = await world.execution('job-1');
    await world.report(executionId, 'start');
    await world.time.advanceAsync(3_000);
    await world.report(executionId, 'fail', { class: 'timeout', code: 'run-timeout', message: 'timed out' });
    await world.time.advanceAsync(100);
    expect(seen.ran).toEqual(['timeout 3000']);
    await loop.stop();
  });

  it('of what was under way before the loop began are told whole', async () => {
    const world = new SchedulingWorld();
    const seen = measured(world);
    await world.project();
    await world.node('n1');
    const first = await world.looping();
    await world.submit('job-1', { count: 1 });
    await world.time.advanceAsync(2_000);
    const { executionId } = await world.execution('job-1');
    await world.report(executionId, 'start');
    await world.time.advanceAsync(1_000);
    await first.stop();
    const spans = new JobSpans(world);
    spans.start();
    await world.time.advanceAsync(1_000);
    await world.report(executionId, 'succeed', { exitCode: 0, artifacts: [], consumption: aConsumption() });
    await world.time.advanceAsync(10);
    expect(seen.ran).toEqual(['succeeded 2000']);
    spans.stop();
  });
});
