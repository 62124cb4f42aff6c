import { describe, expect, it } from '@jest/globals';
import { aJobSpec, aPlacement, aPlan, aSubmission, aTargetChange, deciderSpec, second } from '#testing';
import type { JobCommand } from './commands.js';
import { jobDecider } from './decide.js';
import { impossible, isMet } from './dependencies.js';
import type { JobOutcome } from './events.js';
import type { Dependency, JobSpec } from './job-spec.js';
import { jobStateName } from './state.js';
import { nextTimeout } from './timeouts.js';

const spec = deciderSpec(jobDecider);

const OUTCOMES: readonly JobOutcome[] = ['completed', 'failed', 'cancelled'];
const two: readonly Dependency[] = [
  { job: 'a', when: 'completed' },
  { job: 'b', when: 'failed' },
];
const waiting = (dependsOn: readonly Dependency[] = two, change: Partial<JobSpec> = {}): JobCommand =>
  aSubmission({ spec: aJobSpec({ dependsOn, ...change }) });
const meet = (at: number, outcomes: Readonly<Record<string, JobOutcome>> = { a: 'completed', b: 'failed' }) =>
  ({
    type: 'MeetDependencies',
    dependencies: Object.entries(outcomes).map(([job, outcome]) => ({ job, outcome })),
    at: second(at),
  }) satisfies JobCommand;
const pause = (at: number): JobCommand => ({ type: 'PauseJob', reason: 'wait', at: second(at) });
const resume = (at: number): JobCommand => ({ type: 'ResumeJob', at: second(at) });
const cancel = (at: number): JobCommand => ({ type: 'CancelJob', reason: 'mistake', byUser: true, at: second(at) });

describe('G-55 a dependency', () => {
  it('is met by the end that it names and by no other, or by any when it says so', () => {
    const met = (when: Dependency['when']) => OUTCOMES.filter((outcome) => isMet({ job: 'a', when }, outcome));
    expect([met('completed'), met('failed'), met('terminal')]).toEqual([['completed'], ['failed'], OUTCOMES]);
  });

  it('that can never be met is told with the parent and its state', () => {
    const { code, message } = impossible({ job: 'a', when: 'completed' }, 'cancelled');
    expect([code, message]).toEqual(['dependency-impossible', 'waits for job a to be completed, and it is cancelled']);
  });
});

describe('G-55 a job that depends on others', () => {
  const blocked = spec.after(waiting());

  it('is blocked from its submission, and gets nothing from any plan', () => {
    expect(jobStateName(blocked.state)).toBe('blocked');
    blocked.when(aPlacement(1, 1)).thenRejected('DECISION_OUTDATED');
    const { evaluationId, position, algorithm, added, removed } = aTargetChange();
    const targets = { evaluationId, position, algorithm, added, removed };
    spec
      .after(waiting(two, { type: 'daemon' }))
      .when(aPlan({ targets }))
      .thenRejected('DECISION_OUTDATED');
  });

  it('enters the queue when all of them have ended as asked, once', () => {
    const { dependencies } = meet(5);
    blocked.when(meet(5)).then({ type: 'DependenciesMet', data: { dependencies, at: second(5) } });
    const queued = spec.after(waiting(), meet(5));
    expect([jobStateName(queued.state), queued.state.queuedAt]).toEqual(['queued', second(5)]);
    queued.when(meet(6)).then();
    queued.when(aPlacement(1, 6)).thenTypes('PlacementDecided', 'ExecutionReserved');
  });

  it('stays blocked while one of them is not named, or ended otherwise', () => {
    blocked.when(meet(5, { a: 'completed' })).thenRejected('DEPENDENCY_NOT_MET');
    blocked.when(meet(5, { a: 'completed', b: 'completed' })).thenRejected('DEPENDENCY_NOT_MET');
    blocked.when(meet(5, { a: 'failed', b: 'failed' })).thenRejected('DEPENDENCY_NOT_MET');
  });

  it('can be cancelled, paused, resumed and given another priority meanwhile', () => {
    blocked.when(cancel(3)).thenTypes('JobCancelRequested', 'JobCancelled');
    spec.after(waiting(), cancel(3)).when(meet(4)).then();
    const paused = spec.after(waiting(), pause(3));
    expect(jobStateName(paused.state)).toBe('paused');
    expect(jobStateName(paused.when(resume(4)).state)).toBe('blocked');
    const metMeanwhile = spec.after(waiting(), pause(3), meet(4));
    expect(jobStateName(metMeanwhile.state)).toBe('paused');
    expect(jobStateName(metMeanwhile.when(resume(5)).state)).toBe('queued');
    blocked.when({ type: 'ChangePriority', priority: 90, at: second(3) }).thenTypes('JobPriorityChanged');
  });

  it('fails for good when one of them ended otherwise, whatever its retries', () => {
    const ending = impossible(two[0]!, 'failed');
    const failed = blocked.when({ type: 'FailJob', ...ending, at: second(5) });
    failed.then({ type: 'JobFailed', data: { ...ending, at: second(5) } });
    expect(failed.state).toMatchObject({ ended: 'failed', ending });
  });

  it('S-10 is not in the queue until then, while the time of the whole job runs from its submission', () => {
    const bounded = waiting(two, { timeouts: { confirm: 15, queue: 10, total: 100 } });
    const before = spec.after(bounded);
    before.when({ type: 'TimeOutJob', at: second(50) }).then();
    expect(nextTimeout(before.state)).toBe(second(100));
    before.when({ type: 'TimeOutJob', at: second(100) }).thenTypes('JobFailed');
    const queued = spec.after(bounded, meet(50));
    expect(nextTimeout(queued.state)).toBe(second(60));
    const outcome = queued.when({ type: 'TimeOutJob', at: second(60) });
    expect(outcome.state.ending?.code).toBe('queue-timeout');
    expect(nextTimeout(spec.after(bounded, pause(40), resume(45), meet(50)).state)).toBe(second(60));
    expect(nextTimeout(spec.after(bounded, pause(40), meet(50), resume(55)).state)).toBe(second(65));
  });
});
