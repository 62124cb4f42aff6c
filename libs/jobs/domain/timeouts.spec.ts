import { describe, expect, it } from '@jest/globals';
import {
  aConfirmation,
  aFailure,
  aJobSpec,
  aPlacement,
  aReport,
  aSubmission,
  aSuccess,
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

  it('ends it as timed out when the grace is over too', () => {
    running().when(timeOutRun(18.999)).then();
    const outcome = running().when(timeOutRun(19));
    outcome.thenTypes('ExecutionFailed', 'JobFailed');
    expect(outcome.events[0]?.data).toMatchObject({ class: 'timeout', code: 'run-timeout', endedBy: 'system' });
    expect(outcome.state.ending?.message).toMatch(/^timed out after 10 s, and node-1 /);
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
      .thenTypes('ExecutionFailed', 'JobFailed');
  });

  it('R-03 is an attempt, and tried again elsewhere when the job allows', () => {
    const retry = { ...aJobSpec().retry, on: ['timeout'] as const };
    const outcome = running({ retry }).when(timeOutRun(19));
    outcome.thenTypes('ExecutionFailed', 'JobRequeued');
    expect(outcome.state.partitions[0]).toMatchObject({ state: 'waiting', failures: 1 });
    expect(outcome.events[1]?.data).toMatchObject({ cause: 'timeout', avoid: 'node-1', notBefore: second(29) });
  });

  it('E-07 fences it: whatever its node says then is late, recorded once, and told so', () => {
    const retry = { ...aJobSpec().retry, on: ['timeout'] as const };
    const path = [timeOutRun(19), aPlacement(2, 30, { nodeId: 'node-2' })] as const;
    const late = [aSuccess(1, 40), aFailure(1, 40), start(40)] as const;
    for (const report of late) {
      running({ retry }, ...path)
        .when(report)
        .thenTypes('LateResultRejected');
      running({ retry }, ...path, report)
        .when(report)
        .then();
      expect(running({ retry }, ...path, report).state.executions['job-1.2']?.state).toBe('reserved');
    }
  });

  it('leaves what has ended, or whose job has', () => {
    running({}, aSuccess(1, 10)).when(timeOutRun(3600)).then();
    running({ count: 2 }, aFailure(1, 10)).when(timeOutRun(3600)).then();
    const ended: JobCommand = { type: 'FailJob', class: 'policy', code: 'x', message: 'x', at: second(10) };
    running({}, ended).when(timeOutRun(3600)).then();
    running({}, cancel(10)).when(timeOutRun(19)).thenTypes('ExecutionFailed', 'JobCancelled');
    spec.after(aSubmission(), aPlacement(1, 1), start(2)).when(timeOutRun(1e6)).then();
  });
});
