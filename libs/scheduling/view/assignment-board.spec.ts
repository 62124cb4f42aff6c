import { describe, expect, it } from '@jest/globals';
import { aPlacement, second } from '#testing';
import type { MemoryFaults } from '#event-store';
import { desiredOf as desired } from '#placement';
import type { ClusterState } from '#placement';
import { SchedulingWorld } from '../testing/scheduling-world.js';
import { AssignmentBoard } from './assignment-board.js';
import type { DesiredSet } from './assignment-board.js';

const opened = async (world: SchedulingWorld): Promise<AssignmentBoard> => {
  const board = new AssignmentBoard(world.view, world.timers);
  await world.live();
  return board;
};

const place = async (world: SchedulingWorld, jobId: string, nodeId = 'n1'): Promise<void> => {
  await world.submit(jobId);
  await world.job(jobId, aPlacement(1, 0, { jobId, nodeId }));
  await world.time.advanceAsync(0);
};

const ids = ({ executions }: DesiredSet): string[] => executions.map(({ executionId }) => executionId);

/** What a poll has been answered, if it has. */
const answered = async (world: SchedulingWorld, poll: Promise<DesiredSet>): Promise<string[] | undefined> => {
  let set: DesiredSet | undefined;
  void poll.then((answer) => (set = answer));
  await world.time.advanceAsync(0);
  return set && ids(set);
};

/** What the node is to do with what it runs of a job. */
const desiredOf = ({ jobs, ended }: ClusterState, jobId: string): string => {
  const job = jobs.get(jobId);
  return job && !ended.has(jobId) ? desired(job) : 'stop';
};

describe('the assignment board', () => {
  it('A-38 tells a node what it is to run, and only that node', async () => {
    const world = new SchedulingWorld();
    const board = await opened(world);
    await place(world, 'j1');
    await place(world, 'j2');
    expect(ids(await board.next('n1', undefined, 0))).toEqual(['j1.1', 'j2.1']);
    const other = await board.next('n2', undefined, 0);
    expect([ids(other), other.revision]).toEqual([[], -1n]);
  });

  it('holds a poll back until the set changes', async () => {
    const world = new SchedulingWorld();
    const board = await opened(world);
    const first = await board.next('n1', undefined, 0);
    const poll = board.next('n1', first.revision, 25_000);
    await world.time.advanceAsync(10_000);
    await place(world, 'j2', 'n2');
    expect(await answered(world, poll)).toBeUndefined();
    await place(world, 'j1');
    expect(await answered(world, poll)).toEqual(['j1.1']);
  });

  it('answers a poll after its time with the set as it is', async () => {
    const world = new SchedulingWorld();
    const board = await opened(world);
    await place(world, 'j1');
    const first = await board.next('n1', undefined, 0);
    const poll = board.next('n1', first.revision, 25_000);
    await world.time.advanceAsync(24_999);
    expect(await answered(world, poll)).toBeUndefined();
    await world.time.advanceAsync(1);
    expect(await poll).toEqual(first);
    expect(world.time.nextDue()).toBeUndefined();
  });

  it.each(['succeed', 'fail', 'decline'] as const)(
    'an end by the word of the node itself (%s) is no news to it',
    async (type) => {
      const world = new SchedulingWorld();
      const board = await opened(world);
      await place(world, 'j1');
      const { revision } = await board.next('n1', undefined, 0);
      const poll = board.next('n1', revision, 25_000);
      const failure = { reason: 'x', class: 'application', code: 'x', message: 'x' };
      await world.report('j1.1', type, { ...failure, exitCode: 0, artifacts: [], consumption: {} });
      expect(await answered(world, poll)).toBeUndefined();
      await world.time.advanceAsync(25_000);
      expect(await poll).toEqual({ revision, executions: [] });
    },
  );

  it.each([
    ['lost', { type: 'DeclareExecutionLost', executionId: 'j1.1', reason: 'x', at: second(20) }],
    ['expired', { type: 'ExpireReservation', executionId: 'j1.1', at: second(20) }],
  ] as const)('P-04 S-07 wakes a poll when an execution is %s', async (_end, command) => {
    const world = new SchedulingWorld();
    const board = await opened(world);
    await place(world, 'j1');
    const { revision } = await board.next('n1', undefined, 0);
    const poll = board.next('n1', revision, 25_000);
    await world.job('j1', command);
    expect(await answered(world, poll)).toEqual([]);
    expect((await poll).revision).toBeGreaterThan(revision);
  });

  it('P-04 S-07 wakes a poll when the job is held, goes on, or is to stop', async () => {
    const world = new SchedulingWorld();
    const board = await opened(world);
    await place(world, 'j1');
    await world.report('j1.1', 'confirm');
    let { revision } = await board.next('n1', undefined, 0);
    const at = world.now();
    for (const command of [
      { type: 'PauseJob', reason: 'x', at },
      { type: 'ResumeJob', at },
      { type: 'FailJob', class: 'timeout', code: 'x', message: 'x', at },
    ] as const) {
      const poll = board.next('n1', revision, 25_000);
      await world.job('j1', command);
      expect(await answered(world, poll)).toEqual(['j1.1']);
      expect((await poll).revision).toBeGreaterThan(revision);
      revision = (await poll).revision;
    }
  });

  it('P-04 S-07 a node that could not be reached gets its cancel when it comes back, again and again until it answers', async () => {
    const world = new SchedulingWorld();
    const board = await opened(world);
    await place(world, 'j1');
    await world.report('j1.1', 'confirm');
    const known = (await board.next('n1', undefined, 0)).revision;
    // Nobody polls: the node is cut off. Another control plane takes over meanwhile.
    await world.job('j1', { type: 'CancelJob', reason: 'x', byUser: true, at: world.now() });
    await world.time.advanceAsync(30_000);
    const next = new SchedulingWorld({ beside: world });
    const later = await opened(next);
    const wanted = (): string[] =>
      later.desired('n1').executions.map(({ jobId }) => desiredOf(next.view.cluster, jobId));
    const back = await later.next('n1', known, 25_000);
    expect([ids(back), wanted()]).toEqual([['j1.1'], ['stop']]);
    for (let poll = 0; poll < 3; poll += 1) {
      const again = later.next('n1', back.revision, 1_000);
      await world.time.advanceAsync(1_000);
      expect([ids(await again), wanted()]).toEqual([['j1.1'], ['stop']]);
    }
    await next.report('j1.1', 'fail', { class: 'cancelled', code: 'stopped', message: 'x' });
    await world.time.advanceAsync(0);
    expect([ids(await later.next('n1', back.revision, 0)), wanted()]).toEqual([[], []]);
  });

  it('has the same revisions in every process, so that an agent may change from one to another', async () => {
    const world = new SchedulingWorld();
    const board = await opened(world);
    await place(world, 'j1');
    await place(world, 'j2', 'n2');
    const late = await opened(new SchedulingWorld({ beside: world }));
    for (const node of ['n1', 'n2', 'n3']) expect(late.desired(node)).toEqual(board.desired(node));
  });

  const slow = (): MemoryFaults => ({
    delivery: ({ type }) => (type === 'ExecutionReserved' ? { kind: 'delay', by: 5_000 } : undefined),
  });

  it('never answers an agent that knows better with an older set', async () => {
    const world = new SchedulingWorld();
    const board = await opened(world);
    const behind = new SchedulingWorld({ beside: world, faults: slow() });
    const late = await opened(behind);
    await place(world, 'j1');
    const { revision } = await board.next('n1', undefined, 0);
    expect(ids(late.desired('n1'))).toEqual([]);
    const poll = late.next('n1', revision, 1_000);
    await world.time.advanceAsync(4_900);
    expect(await answered(world, poll)).toBeUndefined();
    await world.time.advanceAsync(200);
    expect(ids(await poll)).toEqual(['j1.1']);
  });

  it('answers an agent that knows nothing yet with all that is stored', async () => {
    const world = new SchedulingWorld();
    const board = await opened(new SchedulingWorld({ beside: world, faults: slow() }));
    await place(world, 'j1');
    const poll = board.next('n1', undefined, 0);
    expect(await answered(world, poll)).toBeUndefined();
    await world.time.advanceAsync(5_000);
    expect(ids(await poll)).toEqual(['j1.1']);
  });

  it('refuses an answer that cannot be proved while the store is away', async () => {
    const world = new SchedulingWorld();
    const board = await opened(world);
    world.store.cutOff(60_000);
    const poll = expect(board.next('n1', undefined, 0)).rejects.toThrow('cannot be reached');
    await world.time.advanceAsync(1_000);
    await poll;
  });

  it('answers nobody before it has caught up', async () => {
    const before = new SchedulingWorld();
    await place(before, 'j1');
    let asked = 0;
    const delivery: MemoryFaults['delivery'] = () =>
      (asked += 1) === 3 ? { kind: 'interrupt', outage: 10_000 } : undefined;
    const world = new SchedulingWorld({ beside: before, faults: { delivery } });
    const board = await opened(world);
    const poll = board.next('n1', undefined, 0);
    await world.time.advanceAsync(9_000);
    expect(await answered(world, poll)).toBeUndefined();
    await world.time.advanceAsync(1_000);
    expect(ids(await poll)).toEqual(['j1.1']);
  });

  it('ends every wait when it stops', async () => {
    const world = new SchedulingWorld();
    const board = await opened(world);
    const { revision } = await board.next('n1', undefined, 0);
    const poll = board.next('n1', revision, 25_000);
    await world.time.advanceAsync(0);
    board.stop();
    expect(await answered(world, poll)).toEqual([]);
    expect(world.time.nextDue()).toBeUndefined();
  });
});
