import { describe, expect, it } from '@jest/globals';
import {
  aConfirmation,
  aFailure,
  aJobSpec,
  aPlacement,
  aReport,
  aSubmission,
  aSuccess,
  aTargetChange,
  deciderSpec,
  second,
} from '#testing';
import type { JobCommand } from './commands.js';
import { jobDecider } from './decide.js';
import type { JobSpec, Timeouts } from './job-spec.js';
import { jobStateName } from './state.js';
import { nextTimeout } from './timeouts.js';

const spec = deciderSpec(jobDecider);

const bounded = (timeouts: Partial<Timeouts>, change: Partial<JobSpec> = {}): JobCommand =>
  aSubmission({ spec: aJobSpec({ timeouts: { confirm: 15, ...timeouts }, ...change }) });
const timeOut = (at: number): JobCommand => ({ type: 'TimeOutJob', at: second(at) });
const timeOutRun = (at: number, grace = 5): JobCommand => ({
  type: 'TimeOutExecution',
  executionId: 'job-1.1',
  grace,
  at: second(at),
});
const expire = (execution: number, at: number): JobCommand => ({
  type: 'ExpireReservation',
  executionId: `job-1.${String(execution)}`,
  at: second(at),
});
const start = (at: number): JobCommand => aReport(1, at, { type: 'start' });
const pause = (at: number): JobCommand => ({ type: 'PauseJob', reason: 'wait', at: second(at) });
const resume = (at: number): JobCommand => ({ type: 'ResumeJob', at: second(at) });
const cancel = (at: number): JobCommand => ({ type: 'CancelJob', reason: 'mistake', byUser: true, at: second(at) });

describe('S-10 the time in the queue', () => {
  const queued = spec.after(bounded({ queue: 10 }));

  it('ends the job at its end, in its own words, and not a millisecond before', () => {
    queued.when(timeOut(9.999)).then();
    const outcome = queued.when(timeOut(10));
    const ending = { class: 'timeout' as const, code: 'queue-timeout', message: 'timed out after 10 s in the queue' };
    outcome.then({ type: 'JobFailed', data: { ...ending, at: second(10) } });
    expect(outcome.state).toMatchObject({ ended: 'failed', ending });
  });

  it('is over when a node is reserved, and begins again when the reservation comes back', () => {
    const reserved = spec.after(bounded({ queue: 10 }), aPlacement(1, 5));
    reserved.when(timeOut(3600)).then();
    expect(nextTimeout(reserved.state)).toBeUndefined();
    const again = spec.after(bounded({ queue: 10 }), aPlacement(1, 5), expire(1, 20));
    again.when(timeOut(29.999)).then();
    again.when(timeOut(30)).thenTypes('JobFailed');
    expect(nextTimeout(again.state)).toBe(second(30));
  });

  it('begins at the end of a backoff', () => {
    const failed = spec.after(bounded({ queue: 10 }), aPlacement(1, 1), start(2), aFailure(1, 5));
    expect(nextTimeout(failed.state)).toBe(second(25));
    failed.when(timeOut(24.999)).then();
    failed.when(timeOut(25)).thenTypes('JobFailed');
  });

  it('R-05 the last real error stays visible when nodes run out', () => {
    const broken = aFailure(1, 5, { message: 'no CUDA driver' });
    const failed = spec.after(bounded({ queue: 10 }), aPlacement(1, 1), start(2), broken);
    expect(failed.when(timeOut(25)).state.ending).toEqual({
      class: 'timeout',
      code: 'queue-timeout',
      message: 'timed out after 10 s in the queue; the last error of a run was infrastructure: no CUDA driver',
    });
    const whole = spec.after(bounded({ total: 10 }), aPlacement(1, 1), start(2), broken);
    expect(whole.when(timeOut(10)).state.ending?.message).toMatch(/since its submission; .* no CUDA driver$/);
  });

  it('stands still while the job is held, and begins again with it', () => {
    const held = spec.after(bounded({ queue: 10 }), pause(9));
    held.when(timeOut(3600)).then();
    const resumed = spec.after(bounded({ queue: 10 }), pause(9), resume(100));
    resumed.when(timeOut(109.999)).then();
    resumed.when(timeOut(110)).thenTypes('JobFailed');
  });

  it('is that of the part which waits longest; the others end with the job', () => {
    const two = spec.after(
      bounded({ queue: 10 }, { count: 3 }),
      aPlacement(1, 5),
      aPlacement(2, 6, { partition: 1 }),
      start(7),
    );
    const outcome = two.when(timeOut(10));
    outcome.thenTypes('ExecutionCancelled', 'JobFailed');
    expect(outcome.state.executions['job-1.1']?.state).toBe('running');
  });
});

describe('S-10 the time of the whole job', () => {
  it('counts from the submission, whatever the job does', () => {
    for (const then of [[], [aPlacement(1, 5)], [aPlacement(1, 5), start(6)], [pause(5)]] as const) {
      const job = spec.after(bounded({ total: 10 }), ...then);
      job.when(timeOut(9.999)).then();
      const { state, events } = job.when(timeOut(10));
      expect(events.at(-1)?.type).toBe('JobFailed');
      expect(state.ending).toEqual({
        class: 'timeout',
        code: 'total-timeout',
        message: 'timed out after 10 s since its submission',
      });
    }
  });

  it('is told apart from the time in the queue by which comes first', () => {
    const waiting = spec.after(bounded({ queue: 4, total: 10 }), aPlacement(1, 1), expire(1, 16));
    expect(waiting.when(timeOut(16)).state.ending?.code).toBe('total-timeout');
    expect(spec.after(bounded({ queue: 4, total: 10 })).when(timeOut(16)).state.ending?.code).toBe('queue-timeout');
  });

  it('leaves what runs to its node, which ends it and says so; never as the wish of a user', () => {
    const path = [bounded({ total: 10 }), aPlacement(1, 1), start(2), timeOut(10)] as const;
    const ended = spec.after(...path);
    expect(jobStateName(ended.state)).toBe('failed');
    const stopped = ended.when(aFailure(1, 11, { class: 'cancelled', code: 'stopped', message: 'as asked' }));
    stopped.thenTypes('ExecutionCancelled');
    expect(stopped.events[0]?.data).toMatchObject({ reason: 'timed out after 10 s since its submission' });
    ended.when(aSuccess(1, 11)).thenTypes('ExecutionSucceeded');
    ended.when(timeOut(12)).then();
  });

  it('does not take the place of a cancellation, or of an end', () => {
    spec
      .after(bounded({ total: 10 }), aPlacement(1, 1), start(2), cancel(9))
      .when(timeOut(10))
      .then();
    spec
      .after(bounded({ total: 10 }), aPlacement(1, 1), aSuccess(1, 9))
      .when(timeOut(10))
      .then();
    spec.after(aSubmission()).when(timeOut(1e6)).then();
  });
});

describe('S-10 the time of a run that its node does not end', () => {
  const running = (change: Partial<JobSpec> = {}, ...then: readonly JobCommand[]) =>
    spec.after(bounded({ run: 10 }, change), aPlacement(1, 1), aConfirmation(1, 2), start(4), ...then);

  const again = { retry: { ...aJobSpec().retry, on: ['timeout'] as const } };
  const ended = { class: 'timeout', code: 'run-timeout', message: 'timed out after 10 s' };
  const stopped = (at: number) => aFailure(1, at, { class: 'cancelled', code: 'stopped', message: 'stopped as asked' });

  it('is over with its margin, and so is a job without another try', () => {
    running().when(timeOutRun(18.999)).then();
    const outcome = running().when(timeOutRun(19));
    outcome.then(
      { type: 'ExecutionTimedOut', data: { executionId: 'job-1.1', limit: 10, at: second(19) } },
      { type: 'JobFailed', data: { ...ended, class: 'timeout', at: second(19) } },
    );
    expect(outcome.state.executions['job-1.1']).toMatchObject({ state: 'running', timedOut: ended });
    running({}, timeOutRun(19)).when(timeOutRun(20)).then();
  });

  it('P-04 goes on until its node says that it has ended, and so do its capacity and the wait for another try', () => {
    running(again).when(timeOutRun(19)).thenTypes('ExecutionTimedOut');
    const held = running(again, timeOutRun(19));
    expect(held.state.partitions[0]).toMatchObject({ state: 'live', failures: 0 });
    held.when(aPlacement(2, 20)).thenRejected('DECISION_OUTDATED');
    held.when(timeOutRun(3600)).then();
    for (const report of [stopped(30), aFailure(1, 30, { class: 'application', exitCode: 143 })]) {
      const over = held.when(report);
      over.thenTypes('ExecutionFailed', 'JobRequeued');
      expect(over.events.map(({ data }) => data)).toMatchObject([ended, { cause: 'timeout', notBefore: second(40) }]);
      expect(over.state.partitions[0]).toMatchObject({ state: 'waiting', failures: 1, lastError: ended });
    }
  });

  it('S-08 ends as that also when its node is lost', () => {
    const lost: JobCommand = { type: 'DeclareExecutionLost', executionId: 'job-1.1', reason: 'silent', at: second(90) };
    const over = running(again, timeOutRun(19)).when(lost);
    over.thenTypes('ExecutionLost', 'JobRequeued');
    expect(over.state.executions['job-1.1']).toMatchObject({ state: 'lost', failure: ended });
    expect(over.state.partitions[0]).toMatchObject({ failures: 1, lastError: ended });
    running({}, timeOutRun(19)).when(lost).thenTypes('ExecutionLost');
  });

  it('takes a success that was on its way, which completes a job that has not ended', () => {
    running(again, timeOutRun(19)).when(aSuccess(1, 20)).thenTypes('ExecutionSucceeded', 'JobCompleted');
    const failed = running({}, timeOutRun(19)).when(aSuccess(1, 20));
    failed.thenTypes('ExecutionSucceeded');
    expect(failed.state.ending).toEqual(ended);
  });

  it('E-03 is never told as cancelled, and a cancellation that came first is not told as this', () => {
    running({}, timeOutRun(19)).when(stopped(20)).thenTypes('ExecutionFailed');
    running({}, cancel(10)).when(timeOutRun(19)).then();
    running(again, timeOutRun(19), cancel(20)).when(stopped(21)).thenTypes('ExecutionFailed', 'JobCancelled');
  });

  it('of a part with a node of its own waits for that node', () => {
    const ops = [
      aSubmission({ spec: aJobSpec({ type: 'ops', timeouts: { confirm: 15, run: 10 } }) }),
      aTargetChange(['node-1'], 1),
    ] as const;
    const run = spec.after(...ops, aPlacement(1, 1), aConfirmation(1, 2), start(4));
    run.when(timeOutRun(19)).thenTypes('ExecutionTimedOut');
    const over = spec.after(...ops, aPlacement(1, 1), aConfirmation(1, 2), start(4), timeOutRun(19)).when(stopped(20));
    over.thenTypes('ExecutionFailed', 'PartitionFailed', 'JobFailed');
  });

  it('does not count the inputs, the outputs, or what stood still', () => {
    const preparing = spec.after(bounded({ run: 10 }), aPlacement(1, 1), aReport(1, 2, { type: 'prepare' }));
    preparing.when(timeOutRun(3600)).then();
    running({}, aReport(1, 13, { type: 'publish' }))
      .when(timeOutRun(3600))
      .then();
    const halted = [aReport(1, 6, { type: 'pause' })] as const;
    running({}, ...halted)
      .when(timeOutRun(3600))
      .then();
    const goesOn = [...halted, aReport(1, 106, { type: 'resume' })] as const;
    running({}, ...goesOn)
      .when(timeOutRun(118.999))
      .then();
    running({}, ...goesOn)
      .when(timeOutRun(119))
      .thenTypes('ExecutionTimedOut', 'JobFailed');
  });

  it('leaves what has ended, or whose job has', () => {
    running({}, aSuccess(1, 10)).when(timeOutRun(3600)).then();
    running({ count: 2 }, aFailure(1, 10)).when(timeOutRun(3600)).then();
    const ended: JobCommand = { type: 'FailJob', class: 'policy', code: 'x', message: 'x', at: second(10) };
    running({}, ended).when(timeOutRun(3600)).then();
    spec.after(aSubmission(), aPlacement(1, 1), start(2)).when(timeOutRun(1e6)).then();
  });
});
