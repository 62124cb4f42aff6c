import { describe, expect, it } from '@jest/globals';
import type { JobSpec } from '#jobs';
import type { Assignment } from '#contracts';
import { World } from '#placement/testing';
import { second } from '#testing';
import { assignmentOf } from './assignments.js';

/** What a node is told of a job's first execution. */
const told = (world: World, spec: Partial<JobSpec>): Assignment => {
  world.node('n1');
  world.job('j', spec);
  const executionId = world.reserve('j', 'n1');
  return assignmentOf(world.cluster, world.cluster.jobs.get('j')!.executions.get(executionId)!);
};

describe('what a node is told of an execution', () => {
  it('G-56 G-58 the estimate and the priority that its lanes order by', () => {
    const world = new World();
    expect(told(world, { priority: 70, estimate: { duration: 90 } })).toMatchObject({
      priority: 70,
      task: { duration: 90 },
    });
  });

  it('G-56 the priority as it was changed, and no estimate where the job has none', () => {
    const world = new World();
    const first = told(world, { estimate: {} });
    expect('duration' in first.task).toBe(false);
    world.onJob('j', { type: 'JobPriorityChanged', data: { priority: 3, at: second(1) } });
    const execution = [...world.cluster.jobs.get('j')!.executions.values()][0]!;
    expect(assignmentOf(world.cluster, execution).priority).toBe(3);
  });
});
