import { describe, expect, it } from '@jest/globals';
import { onFirst, SchedulingWorld } from './testing/scheduling-world.js';
import { scripted } from './testing/scripted-scheduler.js';
import type { EvaluationOutcome } from './worker/job-scheduler.js';

const WAITING: EvaluationOutcome = { kind: 'waiting', wakesOn: ['NodeEnrolled'], reasons: 'deferred' };
const AWAY = new Error('the store is away');
const NONE = { ready: 0, inFlight: 0, pending: 0, waiting: 0, cancelable: 0 };

const totals = ({ counts }: Awaited<ReturnType<typeof scripted>>['scheduler']) => {
  const { ready, inFlight, pending, waiting, cancelable } = counts;
  return { ready, inFlight, pending, waiting, cancelable };
};

/** The job `a`, whose evaluation has failed as often as it may. */
const failedTooOften = async (world: SchedulingWorld) => {
  const script = await scripted(world);
  await script.submit('a');
  for (const seconds of [5, 30, 0]) {
    await script.answer('a', AWAY);
    await world.time.advanceAsync(seconds * 1_000);
  }
  return script;
};

const failures = (world: SchedulingWorld): unknown[] =>
  world.events('job-a', 'EvaluationFailed').map(({ data }) => data);

describe('an evaluation that fails too often', () => {
  it('B-56 is recorded on its job with the reason, counted, and frees the job', async () => {
    const world = new SchedulingWorld({ options: { deliveryLimit: 3 } });
    let counted = 0;
    world.observer.deadLettered = () => (counted += 1);
    const { scheduler, names } = await failedTooOften(world);
    const reason = 'the store is away';
    expect(failures(world)).toMatchObject([{ evaluationId: 'a-1', trigger: 'JobSubmitted', deliveries: 3, reason }]);
    expect([names(), counted, totals(scheduler), scheduler.counts.blocked]).toEqual([[], 1, NONE, 1]);
  });

  it('B-56 the job is looked at again at the next event that may help it', async () => {
    const world = new SchedulingWorld({ options: { deliveryLimit: 3 } });
    const { names, answer } = await failedTooOften(world);
    await world.project('demo', { cpu: 8 });
    await world.time.advanceAsync(0);
    expect(names()).toEqual(['a']);
    await answer('a', { kind: 'placed' });
    expect(names()).toEqual([]);
  });

  it('B-56 the sweep looks at it too, which is no find of the sweep', async () => {
    const world = new SchedulingWorld({ options: { deliveryLimit: 3, sweepInterval: 300_000 } });
    let overlooked = 0;
    world.observer.overlooked = () => (overlooked += 1);
    const { names, answer } = await failedTooOften(world);
    await world.time.advanceAsync(300_000);
    expect(names()).toEqual(['a']);
    await answer('a', { kind: 'placed' });
    expect(overlooked).toBe(0);
  });

  it('B-56 a cancel still works, and leaves nothing behind', async () => {
    const world = new SchedulingWorld({ options: { deliveryLimit: 3 } });
    const { scheduler, names } = await failedTooOften(world);
    await world.job('a', { type: 'CancelJob', reason: 'enough', byUser: true, at: world.now() });
    await world.time.advanceAsync(0);
    expect((await world.state('a')).ended).toBe('cancelled');
    expect([names(), totals(scheduler), scheduler.counts.blocked]).toEqual([[], NONE, 0]);
  });

  it.each([
    [
      'is tried again while the store is away',
      onFirst('EvaluationFailed', { kind: 'fail-before-storing', after: 0 }, 3),
    ],
    ['is recorded once when the answer is lost', onFirst('EvaluationFailed', { kind: 'lose-answer', after: 0 })],
  ])('B-56 its record %s', async (_what, faults) => {
    const world = new SchedulingWorld({ options: { deliveryLimit: 3 }, faults });
    const { scheduler } = await failedTooOften(world);
    await world.time.advanceAsync(60_000);
    expect([failures(world).length, totals(scheduler)]).toEqual([1, NONE]);
  });

  it('B-56 the scheduler stops though a dead letter cannot be recorded', async () => {
    const faults = onFirst('EvaluationFailed', { kind: 'fail-before-storing', after: 0 }, 1_000);
    const world = new SchedulingWorld({ options: { deliveryLimit: 3 }, faults });
    const { scheduler } = await failedTooOften(world);
    let isStopped = false;
    void scheduler.stop().then(() => (isStopped = true));
    await world.time.advanceAsync(0);
    expect(isStopped).toBe(true);
  });
});

describe('a retry that is delayed', () => {
  it('B-54 B-39 gives way to a change of a user, which is recorded', async () => {
    const world = new SchedulingWorld();
    let counted = 0;
    world.observer.superseded = (count) => (counted += count);
    const { scheduler, names, answer, submit } = await scripted(world);
    await submit('a');
    await answer('a', AWAY);
    expect(names()).toEqual([]);
    await world.job('a', { type: 'ChangePriority', priority: 60, at: world.now() });
    await world.time.advanceAsync(0);
    expect(names()).toEqual(['a']);
    await answer('a', { kind: 'placed' });
    await world.time.advanceAsync(1_000);
    const [superseded] = world.events('job-a', 'EvaluationsSuperseded').map(({ data }) => data);
    expect(superseded).toMatchObject({ evaluations: [{ evaluationId: 'a-1', trigger: 'JobSubmitted' }] });
    expect([counted, names(), totals(scheduler)]).toEqual([1, [], NONE]);
  });
});

describe('evaluations that another one made needless', () => {
  /** The job `a` is being looked at, and an event and its user ask for another look. */
  const asked = async (world: SchedulingWorld) => {
    const script = await scripted(world);
    await script.submit('a');
    await script.answer('a', WAITING);
    for (const name of ['n1', 'n2']) await world.node(name);
    await world.time.advanceAsync(0);
    await world.job('a', { type: 'ChangePriority', priority: 60, at: world.now() });
    await world.time.advanceAsync(0);
    return script;
  };

  it('B-35 B-39 are taken and recorded together, and none of them is made', async () => {
    const world = new SchedulingWorld();
    const { scheduler, names, answer } = await asked(world);
    expect([names(), totals(scheduler).pending]).toEqual([['a'], 2]);
    await answer('a', WAITING);
    expect([names(), totals(scheduler).cancelable]).toEqual([['a'], 1]);
    await answer('a', WAITING);
    await world.time.advanceAsync(1_000);
    const superseded = world.events('job-a', 'EvaluationsSuperseded').map(({ data }) => data);
    expect(superseded).toMatchObject([{ evaluations: [{ trigger: 'NodeEnrolled' }] }]);
    expect([names(), totals(scheduler)]).toEqual([[], NONE]);
  });

  it('B-39 are recorded later when the store was away', async () => {
    const faults = onFirst('EvaluationsSuperseded', { kind: 'fail-before-storing', after: 0 });
    const world = new SchedulingWorld({ faults });
    const { answer } = await asked(world);
    await answer('a', WAITING);
    await answer('a', WAITING);
    await world.time.advanceAsync(20_000);
    expect(world.events('job-a', 'EvaluationsSuperseded')).toEqual([]);
    await world.time.advanceAsync(20_000);
    expect(world.events('job-a', 'EvaluationsSuperseded')).toHaveLength(1);
  });
});

describe('a pass that lost its lease', () => {
  it('W-05 and the one that follows it are not both recorded: the later is refused by the revision of its stream', async () => {
    const faults = onFirst('PlacementDecided', { kind: 'delay-request', by: 8_000 });
    const world = new SchedulingWorld({ faults, options: { leaseTimeout: 1 } });
    const workerFaults: string[] = [];
    world.observer.workerFault = (kind) => void workerFaults.push(kind);
    await world.project();
    await world.node('n1');
    await world.looping();
    await world.submit('j1');
    await world.time.advanceAsync(10_000);
    expect(world.events('job-j1', 'ExecutionReserved')).toHaveLength(1);
    const claims = world.types('node-n1').filter((type) => type.startsWith('Capacity'));
    expect(claims).toEqual(['CapacityReserved', 'CapacityReserved', 'CapacityReleased']);
    expect(workerFaults).toContain('ack');
  });
});

describe('a restart of the control plane', () => {
  it('B-63 handles all of 50 queued and 5 delayed jobs, and none twice', async () => {
    const cores = { resources: { cpu: 0.1, memory: 1, disk: 0, ioSlots: 0 } };
    const world = new SchedulingWorld();
    await world.project();
    await world.node('n1', { cpu: 64 });
    const first = await world.looping();
    const delayed = Array.from({ length: 5 }, (_, index) => `d${String(index)}`);
    for (const jobId of delayed) await world.submit(jobId, cores);
    await world.time.advanceAsync(10);
    for (const jobId of delayed) {
      const { executionId } = await world.execution(jobId);
      await world.report(executionId, 'start');
      await world.report(executionId, 'fail', { class: 'infrastructure', code: 'x', message: 'x' });
    }
    await world.time.advanceAsync(10);
    world.store.crash();
    void first.stop();
    const next = new SchedulingWorld({ beside: world });
    const queued = Array.from({ length: 50 }, (_, index) => `q${String(index)}`);
    for (const jobId of queued) await next.submit(jobId, cores);
    // One that has failed nothing: the other is on probation.
    await next.node('n2', { cpu: 64 });
    let decisions = 0;
    next.observer.decided = () => (decisions += 1);
    const loop = await next.looping();
    await next.time.advanceAsync(100);
    expect([decisions, loop.scheduler.counts.waiting]).toEqual([50, 5]);
    await next.time.advanceAsync(9_000);
    expect(decisions).toBe(50);
    await next.time.advanceAsync(2_000);
    expect(decisions).toBe(55);
    for (const jobId of queued) expect(next.events(`job-${jobId}`, 'ExecutionReserved')).toHaveLength(1);
    for (const jobId of delayed) expect(next.events(`job-${jobId}`, 'ExecutionReserved')).toHaveLength(2);
    expect(loop.scheduler.counts).toMatchObject(NONE);
  });
});
