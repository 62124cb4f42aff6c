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
  EXECUTION_PATHS,
  JOB_PATHS,
  second,
} from '#testing';
import type { JobCommand } from './commands.js';
import { jobDecider, jobDeciderWith } from './decide.js';
import type { JobEvent } from './events.js';
import { FAILURE_CLASSES } from './job-spec.js';
import type { RetryPolicy } from './job-spec.js';
import { EXCLUDED_SECONDS, MOST_RETURNS, backoffSeconds, noRetries } from './retry.js';
import type { FailedTry, RetryStrategy } from './retry.js';
import { jobStateName } from './state.js';

const spec = deciderSpec(jobDecider);
const expire = (execution: number, at: number): JobCommand => ({
  type: 'ExpireReservation',
  executionId: `job-1.${execution}`,
  at: second(at),
});
const lost = (execution: number, at: number): JobCommand => ({
  type: 'DeclareExecutionLost',
  executionId: `job-1.${execution}`,
  reason: 'node-1 was silent for 75 s',
  at: second(at),
});
const stop = (execution: number, at: number): JobCommand => ({
  type: 'StopExecution',
  executionId: `job-1.${execution}`,
  cause: 'node-drained',
  reason: 'node node-1 is drained: new disks',
  at: second(at),
});
const cancel = (at: number): JobCommand => ({ type: 'CancelJob', reason: 'mistake', byUser: true, at: second(at) });
const policy = (change: Partial<RetryPolicy>): RetryPolicy => ({ ...aJobSpec().retry, ...change });
const withRetry = (change: Partial<RetryPolicy>) => aSubmission({ spec: aJobSpec({ retry: policy(change) }) });
const inParts = (count: number) => aSubmission({ spec: aJobSpec({ count }) });
const requeue = (events: readonly JobEvent[]) => events.find((event) => event.type === 'JobRequeued')?.data;

describe('a reservation that nobody confirms', () => {
  const reserved = spec.after(...EXECUTION_PATHS.reserved);

  it('A-22 A-40 A-84 expires at its deadline, not a millisecond before', () => {
    reserved.when(expire(1, 15.999)).then();
    reserved.when(expire(1, 16)).thenTypes('ReservationExpired', 'JobRequeued');
    reserved.when(expire(1, 3600)).thenTypes('ReservationExpired', 'JobRequeued');
  });

  it('A-83 A-84 never expires once it was confirmed, nor twice, nor when unknown', () => {
    for (const state of [
      'confirmed',
      'preparing',
      'running',
      'paused',
      'publishing',
      'expired',
      'cancelled',
    ] as const) {
      spec
        .after(...EXECUTION_PATHS[state])
        .when(expire(1, 3600))
        .then();
    }
    reserved.when(expire(9, 3600)).then();
  });

  it('A-85 goes back to the queue at once, but not to that node for a while', () => {
    const message = `node node-1 did not confirm before ${second(16)}`;
    reserved.when(expire(1, 20)).then(
      { type: 'ReservationExpired', data: { executionId: 'job-1.1', confirmBy: second(16), at: second(20) } },
      {
        type: 'JobRequeued',
        data: {
          partition: 0,
          cause: 'expired',
          message,
          notBefore: second(20),
          exclude: { nodeId: 'node-1', until: second(20 + EXCLUDED_SECONDS) },
          at: second(20),
        },
      },
    );
    reserved.when(expire(1, 20)).thenState((job) => jobStateName(job) === 'queued');
  });

  it('A-85 keeps one exclusion a node, the last, and forgets those that are over', () => {
    const twice = spec.after(...EXECUTION_PATHS.reserved, expire(1, 16), aPlacement(2, 17), expire(2, 40));
    expect(twice.state.exclusions).toEqual([{ nodeId: 'node-1', until: second(100) }]);
    const elsewhere = { nodeId: 'node-2' };
    const third = spec.given(...twice.history).when(aPlacement(3, 41, elsewhere));
    const declined = spec
      .given(...twice.history, ...third.events)
      .when(aReport(3, 200, { type: 'decline', reason: 'busy' }, elsewhere));
    expect(declined.state.exclusions).toEqual([{ nodeId: 'node-2', until: second(260) }]);
  });
});

describe('what a return costs', () => {
  const attempts = (...commands: readonly JobCommand[]) => {
    const { failures, returned } = spec.after(aSubmission(), aPlacement(1, 1), ...commands).state.partitions[0]!;
    return { failures, returned };
  };
  const free = { failures: 0, returned: 1 };
  const oneAttempt = { failures: 1, returned: 0 };
  const start = aReport(1, 3, { type: 'start' });

  it('R-04 nothing that came back before it ran costs an attempt', () => {
    expect(attempts(expire(1, 16))).toEqual(free);
    expect(attempts(aReport(1, 2, { type: 'decline', reason: 'busy' }))).toEqual(free);
    expect(attempts(lost(1, 80))).toEqual(free);
    expect(attempts(aFailure(1, 2))).toEqual(free);
    expect(attempts(aReport(1, 2, { type: 'prepare' }), aFailure(1, 3))).toEqual(free);
  });

  it('R-04 what ran, or may have run, costs one', () => {
    expect(attempts(start, aFailure(1, 4))).toEqual(oneAttempt);
    expect(attempts(start, lost(1, 80))).toEqual(oneAttempt);
    expect(attempts(aConfirmation(1, 2), lost(1, 80))).toEqual(oneAttempt);
    expect(attempts(aFailure(1, 2, { class: 'timeout', code: 'run-timeout' }))).toEqual(oneAttempt);
  });

  it('R-04 preemption costs nothing', () => {
    const stopped = aFailure(1, 9, { class: 'cancelled', code: 'stopped', message: 'the node is drained' });
    expect(attempts(start, stopped)).toEqual(free);
    expect(attempts(stopped)).toEqual(free);
  });

  it('R-04 A-46 a drain takes a run off its node: it is asked for, ends when the node says so, and costs nothing', () => {
    const path = [aSubmission(), aPlacement(1, 1), start, stop(1, 9)] as const;
    const asked = spec.after(...path);
    expect(asked.history.at(-1)).toEqual({
      type: 'ExecutionStopRequested',
      data: {
        executionId: 'job-1.1',
        cause: 'node-drained',
        reason: 'node node-1 is drained: new disks',
        at: second(9),
      },
    });
    asked.when(aPlacement(2, 10)).thenRejected('DECISION_OUTDATED');
    asked.when(stop(1, 10)).then();
    const ended = asked.when(aFailure(1, 12, { class: 'cancelled', code: 'stopped', message: 'stopped as asked' }));
    ended.thenTypes('ExecutionCancelled', 'JobRequeued');
    expect(ended.events.map(({ data }) => data)).toMatchObject([
      { reason: 'node node-1 is drained: new disks' },
      { cause: 'cancelled', message: 'node node-1 is drained: new disks', notBefore: second(12) },
    ]);
    expect(attempts(start, stop(1, 9), aFailure(1, 12, { class: 'cancelled' }))).toEqual(free);
    asked.when(aSuccess(1, 12)).thenTypes('ExecutionSucceeded', 'JobCompleted');
    asked.when(cancel(10)).thenTypes('JobCancelRequested');
  });

  it('R-04 a drain gives back at once what no node has confirmed', () => {
    expect(attempts(stop(1, 9))).toEqual(free);
    spec.after(aSubmission(), aPlacement(1, 1), stop(1, 9)).when(aConfirmation(1, 10)).thenTypes('LateResultRejected');
  });

  it('R-04 the next try has the same number after a return, the next one after a failure', () => {
    const next = (...commands: readonly JobCommand[]) =>
      spec.after(aSubmission(), aPlacement(1, 1), ...commands, aPlacement(2, 100)).state.executions['job-1.2'];
    expect(next(expire(1, 16))).toMatchObject({ attempt: 1, fencingToken: 2 });
    expect(next(start, aFailure(1, 4))).toMatchObject({ attempt: 2, fencingToken: 2 });
  });

  it('R-04 R-05 returns are bounded, and the last real error stays visible', () => {
    let round = spec.after(aSubmission(), aPlacement(1, 1), start, aFailure(1, 4, { message: 'no CUDA driver' }));
    for (let execution = 2; execution <= MOST_RETURNS; execution += 1) {
      const at = execution * 100;
      const placed = round.when(aPlacement(execution, at));
      const held = spec.given(...round.history, ...placed.events);
      const expired = held.when(expire(execution, at + 15));
      expired.thenTypes('ReservationExpired', 'JobRequeued');
      round = spec.given(...held.history, ...expired.events);
    }
    const last = MOST_RETURNS + 1;
    const placed = round.when(aPlacement(last, 1e6));
    const end = spec.given(...round.history, ...placed.events).when(expire(last, 1e6 + 15));
    end.thenTypes('ReservationExpired', 'JobFailed');
    expect(end.state.ending).toMatchObject({ class: 'expired', code: 'placement-tries' });
    expect(end.state.ending?.message).toMatch(/did not confirm.*last error of a run.*infrastructure: no CUDA driver/);
  });
});

describe('a run that failed', () => {
  const failing = (change: Partial<RetryPolicy> = {}) =>
    spec.after(withRetry(change), aPlacement(1, 1), aReport(1, 2, { type: 'start' }));

  it.each(FAILURE_CLASSES.filter((kind) => kind !== 'cancelled'))('A-44 A-45 R-03 by default, class %s', (kind) => {
    const outcome = failing().when(aFailure(1, 10, { class: kind }));
    const again = kind === 'node-lost' || kind === 'infrastructure';
    outcome.thenTypes('ExecutionFailed', again ? 'JobRequeued' : 'JobFailed');
    expect(outcome.state.executions['job-1.1']?.failure?.class).toBe(kind);
  });

  it.each(FAILURE_CLASSES.filter((kind) => kind !== 'cancelled'))('R-03 class %s when the job asks for it', (kind) => {
    failing({ on: [kind] })
      .when(aFailure(1, 10, { class: kind }))
      .thenTypes('ExecutionFailed', 'JobRequeued');
    failing({ on: [] })
      .when(aFailure(1, 10, { class: kind }))
      .thenTypes('ExecutionFailed', 'JobFailed');
  });

  it('R-03 goes elsewhere first', () => {
    const outcome = failing().when(aFailure(1, 10));
    expect(requeue(outcome.events)).toMatchObject({ avoid: 'node-1', cause: 'infrastructure' });
    expect(outcome.state.avoid).toEqual(['node-1']);
  });

  describe('that another node saw before', () => {
    const onTwo = (change = {}, attempts = 3) => {
      const [first, second_] = [{ nodeId: 'node-1' }, { nodeId: 'node-2' }];
      const start = { type: 'start' } as const;
      return spec
        .after(
          withRetry({ attempts }),
          aPlacement(1, 1, first),
          aReport(1, 2, start, first),
          aFailure(1, 10, {}, first),
          aPlacement(2, 30, second_),
          aReport(2, 31, start, second_),
        )
        .when(aFailure(2, 40, change, second_));
    };

    it('R-03 counts against the job: it waits as ever, but no node is avoided for it any more', () => {
      const { events, state } = onTwo();
      expect(requeue(events)).toMatchObject({ cause: 'infrastructure', seenOn: 2, notBefore: second(60) });
      expect(requeue(events)).not.toHaveProperty('avoid');
      expect(state.partitions[0]?.failures).toBe(2);
    });

    it('R-03 R-05 the last error says on how many nodes', () => {
      const outcome = onTwo({ message: 'no CUDA driver' }, 2);
      outcome.thenTypes('ExecutionFailed', 'JobFailed');
      expect(outcome.state.ending?.message).toBe('no CUDA driver (infrastructure was seen on 2 nodes)');
      expect(outcome.state.partitions[0]?.lastError?.message).toBe('no CUDA driver');
    });

    it('R-03 another class on the other node says nothing of either', () => {
      const outcome = onTwo({ class: 'application', exitCode: 3, message: 'exit code 3' });
      outcome.thenTypes('ExecutionFailed', 'JobFailed');
      expect(outcome.state.ending?.message).toBe('exit code 3');
    });

    it('R-01 R-03 a strategy is told on how many nodes', () => {
      const seen: number[] = [];
      const chained = deciderSpec(jobDeciderWith(({ seenOn }) => seen.push(seenOn) > 0));
      const history = spec.after(...JOB_PATHS.running).history;
      chained.given(...history).when(aFailure(1, 10));
      expect(seen).toEqual([1]);
    });
  });

  it('R-02 {attempts 3, base 10 s, exponential, max 60 s} waits 10 s, 20 s, and the next failure ends the job', () => {
    const start = (execution: number, at: number) => aReport(execution, at, { type: 'start' });
    const first = failing().when(aFailure(1, 10));
    expect(requeue(first.events)?.notBefore).toBe(second(20));
    const twice = spec.after(
      aSubmission(),
      aPlacement(1, 1),
      start(1, 2),
      aFailure(1, 10),
      aPlacement(2, 20),
      start(2, 21),
    );
    const again = twice.when(aFailure(2, 30));
    expect(requeue(again.events)?.notBefore).toBe(second(50));
    const history = [...twice.history, ...again.events];
    const placed = spec.given(...history).when(aPlacement(3, 50));
    const end = spec
      .given(...history, ...placed.events)
      .when(aFailure(3, 60, { exitCode: 1, message: 'the last one' }));
    end.thenTypes('ReservationConfirmed', 'ExecutionStarted', 'ExecutionFailed', 'JobFailed');
    expect(end.state.ending).toEqual({ class: 'infrastructure', code: 'sandbox', message: 'the last one' });
    expect(end.state.partitions[0]?.failures).toBe(3);
  });

  it('R-02 waits: constant, doubling, bounded, without overflow', () => {
    const waits = (change: Partial<RetryPolicy>, ...failures: number[]) =>
      failures.map((count) => backoffSeconds(policy(change), count));
    expect(waits({}, 1, 2, 3, 4, 5, 50, 1e6)).toEqual([10, 20, 40, 60, 60, 60, 60]);
    expect(waits({ backoff: 'constant', interval: 7 }, 1, 2, 99)).toEqual([7, 7, 7]);
    expect(waits({ interval: 0 }, 1, 9)).toEqual([0, 0]);
  });

  it('R-02 with one attempt the first failure ends the job', () => {
    failing({ attempts: 1 }).when(aFailure(1, 10)).thenTypes('ExecutionFailed', 'JobFailed');
    failing({ attempts: 1 }).when(lost(1, 10)).thenTypes('ExecutionLost', 'JobFailed');
  });

  it('R-03 an input that is missing ends the job before it runs, with the real error', () => {
    const prepared = spec.after(...EXECUTION_PATHS.preparing);
    const outcome = prepared.when(aFailure(1, 5, { class: 'input', code: 'input-missing', message: 'no numbers.csv' }));
    outcome.thenTypes('ExecutionFailed', 'JobFailed');
    expect(outcome.state.ending).toEqual({ class: 'input', code: 'input-missing', message: 'no numbers.csv' });
  });

  it('S-08 a lost execution fails with that reason and its partition goes elsewhere', () => {
    const outcome = spec.after(...JOB_PATHS.running).when(lost(1, 90));
    outcome.thenTypes('ExecutionLost', 'JobRequeued');
    expect(outcome.state.executions['job-1.1']).toMatchObject({
      state: 'lost',
      failure: { class: 'node-lost', message: 'node-1 was silent for 75 s' },
    });
    expect(requeue(outcome.events)).toMatchObject({ avoid: 'node-1', notBefore: second(100) });
    spec
      .given(...spec.after(...JOB_PATHS.running).history, ...outcome.events)
      .when(lost(1, 91))
      .then();
  });
});

describe('retry strategies', () => {
  const failedOn = (node: string): JobCommand[] => [
    withRetry({ attempts: 9 }),
    aPlacement(1, 1, { nodeId: node }),
    aReport(1, 2, { type: 'start' }, { nodeId: node }),
  ];

  it('R-01 form a chain: each sees job, attempts, class, node and error, and all must say yes', () => {
    const seen: FailedTry[] = [];
    const notOnOne: RetryStrategy = (failed) => {
      seen.push(failed);
      return failed.nodeId !== 'node-1';
    };
    const chained = deciderSpec(jobDeciderWith(notOnOne));
    const fail = (node: string, change = {}) => aFailure(1, 10, change, { nodeId: node });
    chained
      .after(...failedOn('node-1'))
      .when(fail('node-1'))
      .thenTypes('ExecutionFailed', 'JobFailed');
    chained
      .after(...failedOn('node-2'))
      .when(fail('node-2'))
      .thenTypes('ExecutionFailed', 'JobRequeued');
    chained
      .after(...failedOn('node-2'))
      .when(fail('node-2', { class: 'application', exitCode: 1 }))
      .thenTypes('ExecutionFailed', 'JobFailed');
    expect(seen).toMatchObject([
      { failures: 1, nodeId: 'node-1', error: { class: 'infrastructure', code: 'sandbox' }, spec: { name: 'primes' } },
      { nodeId: 'node-2' },
    ]);
  });

  it('R-04 the switch stops all retries and goes on to tell failures apart', () => {
    const stopped = deciderSpec(jobDeciderWith(noRetries));
    for (const end of [aFailure(1, 10), lost(1, 90)]) {
      const outcome = stopped.after(...failedOn('node-1')).when(end);
      expect(outcome.events.at(-1)?.type).toBe('JobFailed');
      expect(outcome.state.ending?.class).toBe(end.type === 'ReportExecution' ? 'infrastructure' : 'node-lost');
    }
    // What never ran was no try: it is placed again.
    stopped.after(aSubmission(), aPlacement(1, 1)).when(expire(1, 16)).thenTypes('ReservationExpired', 'JobRequeued');
    stopped.after(aSubmission(), aPlacement(1, 1)).when(stop(1, 9)).thenTypes('ExecutionCancelled', 'JobRequeued');
  });

  it('R-05 the last real error stays visible while the job waits, and when its attempts run out', () => {
    const again = spec.after(...failedOn('node-1'), aFailure(1, 10, { message: 'no CUDA driver' }), aPlacement(2, 30));
    const { state } = again.when(expire(2, 60));
    expect(state.partitions[0]).toMatchObject({ failures: 1, returned: 1, lastError: { message: 'no CUDA driver' } });
  });
});

describe('partitions', () => {
  const started = (execution: number, at: number) => aReport(execution, at, { type: 'start' });

  it('S-02 the job completes when all have, and each completes once', () => {
    const two = spec.after(inParts(2), aPlacement(1, 1), aPlacement(2, 2, { partition: 1 }));
    two.when(aSuccess(2, 9)).thenTypes('ReservationConfirmed', 'ExecutionStarted', 'ExecutionSucceeded');
    const half = spec.after(inParts(2), aPlacement(1, 1), aPlacement(2, 2, { partition: 1 }), aSuccess(2, 9));
    expect(jobStateName(half.state)).toBe('reserved');
    half
      .when(aSuccess(1, 10))
      .thenTypes('ReservationConfirmed', 'ExecutionStarted', 'ExecutionSucceeded', 'JobCompleted');
  });

  it('R-02 each has its own attempts', () => {
    const each = spec.after(
      inParts(2),
      aPlacement(1, 1),
      aPlacement(2, 2, { partition: 1 }),
      started(1, 3),
      started(2, 3),
      aFailure(1, 10),
      aPlacement(3, 20),
      started(3, 21),
      aFailure(3, 30),
    );
    expect(each.state.partitions.map(({ failures }) => failures)).toEqual([2, 0]);
    expect(each.state.executions['job-1.3']).toMatchObject({ partition: 0, attempt: 2, fencingToken: 3 });
    const other = each.when(aFailure(2, 31));
    other.thenTypes('ExecutionFailed', 'JobRequeued');
    expect(requeue(other.events)).toMatchObject({ partition: 1, notBefore: second(41) });
  });

  const three = (): readonly JobCommand[] => [
    inParts(3),
    aPlacement(1, 1),
    aPlacement(2, 2, { partition: 1 }),
    aPlacement(3, 3, { partition: 2 }),
    started(1, 4),
    started(2, 4),
  ];

  it('S-07 the failure of one fails the job while others are live; unconfirmed ones end with it', () => {
    const fatal = aFailure(1, 10, { class: 'application', exitCode: 1 });
    const outcome = spec.after(...three()).when(fatal);
    outcome.thenTypes('ExecutionFailed', 'ExecutionCancelled', 'JobFailed');
    const ended = spec.after(...three(), fatal);
    expect(ended.state.executions['job-1.3']?.state).toBe('cancelled');
    ended.when(aReport(2, 11, { type: 'publish' })).then();
    ended.when(aSuccess(2, 12)).thenTypes('ExecutionSucceeded');
    ended.when(aFailure(2, 12)).thenTypes('ExecutionFailed');
    ended.when(aFailure(2, 12, { class: 'cancelled' })).thenTypes('ExecutionCancelled');
    ended.when(lost(2, 99)).thenTypes('ExecutionLost');
    ended.when(aPlacement(4, 12, { partition: 2 })).thenRejected('JOB_TERMINAL');
    ended.when(aConfirmation(3, 12)).thenTypes('LateResultRejected');
  });

  it('E-03 P-04 a cancel ends what is unconfirmed at once and waits for what may run', () => {
    const outcome = spec.after(...three()).when(cancel(10));
    outcome.thenTypes('JobCancelRequested', 'ExecutionCancelled');
    const asked = spec.after(...three(), cancel(10));
    asked.when(aFailure(1, 11, { class: 'cancelled' })).thenTypes('ExecutionCancelled');
    const oneLeft = spec.after(...three(), cancel(10), aFailure(1, 11, { class: 'cancelled' }));
    for (const [last, type] of [
      [aFailure(2, 12, { class: 'cancelled' }), 'ExecutionCancelled'],
      [aFailure(2, 12), 'ExecutionFailed'],
      [aSuccess(2, 12), 'ExecutionSucceeded'],
      [lost(2, 90), 'ExecutionLost'],
    ] as const) {
      oneLeft.when(last).thenTypes(type, 'JobCancelled');
    }
    expect(oneLeft.when(aSuccess(2, 12)).state.ending).toEqual({
      class: 'cancelled',
      code: 'cancelled',
      message: 'mistake',
    });
  });

  it('A-46 a partition that is done stays done when another is requeued', () => {
    const mixed = spec.after(...three(), aSuccess(1, 10), aFailure(2, 11));
    expect(mixed.state.partitions.map(({ state }) => state)).toEqual(['done', 'waiting', 'live']);
    mixed.when(aPlacement(4, 30)).thenRejected('DECISION_OUTDATED');
    mixed.when(aPlacement(4, 30, { partition: 1 })).thenTypes('PlacementDecided', 'ExecutionReserved');
  });
});

describe('E-03 cancelling in each phase', () => {
  it.each([
    ['reserved', 'JobCancelRequested ExecutionCancelled JobCancelled'],
    ['confirmed', 'JobCancelRequested'],
    ['preparing', 'JobCancelRequested'],
    ['running', 'JobCancelRequested'],
    ['paused', 'JobCancelRequested'],
    ['publishing', 'JobCancelRequested'],
    ['failed', 'JobCancelRequested JobCancelled'],
    ['lost', 'JobCancelRequested JobCancelled'],
    ['expired', 'JobCancelRequested JobCancelled'],
    ['declined', 'JobCancelRequested JobCancelled'],
  ] as const)('while its execution is %s', (state, types) => {
    spec
      .after(...EXECUTION_PATHS[state])
      .when(cancel(20))
      .thenTypes(...types.split(' '));
  });

  it('again changes nothing, and after another end is refused with that state', () => {
    spec
      .after(...JOB_PATHS.cancelled)
      .when(cancel(20))
      .then();
    for (const end of ['completed', 'failed'] as const) {
      const { decision } = spec.after(...JOB_PATHS[end]).when(cancel(20));
      expect(decision).toMatchObject({ rejection: { code: 'JOB_TERMINAL', details: { state: end } } });
      expect(JSON.stringify(decision)).toContain(`the job is ${end} already`);
    }
  });

  it('records the reason, and whether a user asked', () => {
    for (const byUser of [true, false]) {
      const { events } = spec.after(aSubmission()).when({ type: 'CancelJob', reason: 'why', byUser, at: second(9) });
      expect(events[0]?.data).toEqual({ reason: 'why', byUser, at: second(9) });
      expect(events[1]).toMatchObject({ type: 'JobCancelled', data: { reason: 'why' } });
    }
  });

  const asked = spec.after(...JOB_PATHS.cancelling);

  it('a success after the request is kept, and the job is cancelled as asked', () => {
    const outcome = asked.when(aSuccess(1, 12));
    outcome.thenTypes('ExecutionSucceeded', 'JobCancelled');
    expect(outcome.state).toMatchObject({ ended: 'cancelled', endedAt: second(12) });
    expect(outcome.state.executions['job-1.1']?.artifacts).toHaveLength(1);
  });

  it('a node that is lost after the request ends the job, and no new try begins', () => {
    asked.when(lost(1, 90)).thenTypes('ExecutionLost', 'JobCancelled');
    asked.when(aFailure(1, 12)).thenTypes('ExecutionFailed', 'JobCancelled');
    asked.when(aPlacement(2, 12)).thenRejected('DECISION_OUTDATED');
  });

  it('the reason of the first request stays; a second one changes nothing', () => {
    asked.when({ type: 'CancelJob', reason: 'another', byUser: false, at: second(12) }).then();
    asked
      .when(aFailure(1, 12, { class: 'cancelled', message: 'stopped' }))
      .then(
        { type: 'ExecutionCancelled', data: { executionId: 'job-1.1', reason: 'mistake', at: second(12) } },
        { type: 'JobCancelled', data: { reason: 'mistake', at: second(12) } },
      );
  });

  it('a late start or confirmation does not save what was ended', () => {
    const cancelled = spec.after(...JOB_PATHS.reserved, cancel(5));
    cancelled.when(aConfirmation(1, 6)).thenTypes('LateResultRejected');
    cancelled.when(aSuccess(1, 6)).thenTypes('LateResultRejected');
  });
});

describe('S-10 giving a job up', () => {
  const give = (code: string): JobCommand => ({
    type: 'FailJob',
    class: 'timeout',
    code,
    message: 'timed out after 10 s',
    at: second(30),
  });

  it('ends it with its own reason', () => {
    const outcome = spec.after(aSubmission()).when(give('queue-timeout'));
    outcome.thenTypes('JobFailed');
    expect(outcome.state.ending).toEqual({ class: 'timeout', code: 'queue-timeout', message: 'timed out after 10 s' });
  });

  it('leaves what runs to be stopped and reported', () => {
    const ended = spec.after(...JOB_PATHS.running, give('total-timeout'));
    expect(jobStateName(ended.state)).toBe('failed');
    ended.when(aFailure(1, 31, { class: 'cancelled' })).thenTypes('ExecutionCancelled');
    ended.when(give('total-timeout')).then();
  });
});
