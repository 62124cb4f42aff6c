import { describe, expect, it } from '@jest/globals';
import { fold } from '#kernel';
import {
  aConfirmation,
  aDecision,
  aFailure,
  aJobSpec,
  aPlacement,
  aPlan,
  aReport,
  aSubmission,
  aSuccess,
  aTargetChange,
  deciderSpec,
  second,
} from '#testing';
import type { JobCommand } from './commands.js';
import { jobDecider, jobDeciderWith } from './decide.js';
import { ENDED_KEPT } from './ended-executions.js';
import type { JobEvent } from './events.js';
import type { JobSpec, JobType } from './job-spec.js';
import { FRESH_START_SECONDS, MOST_RETURNS, noRetries } from './retry.js';
import { answerReport } from './report.js';
import { jobStateName } from './state.js';
import type { JobState } from './state.js';

/* What the types of jobs have of their own; what they share with a batch is told where that is. */

const spec = deciderSpec(jobDecider);
const submit = (type: JobType, change: Partial<JobSpec> = {}) => aSubmission({ spec: aJobSpec({ type, ...change }) });
const policy = (change: Partial<JobSpec['retry']>) => ({ retry: { ...aJobSpec().retry, ...change } });
const start = (execution: number, at: number, nodeId = 'node-1') =>
  aReport(execution, at, { type: 'start' }, { nodeId });
const lost = (execution: number, at: number): JobCommand => ({
  type: 'DeclareExecutionLost',
  executionId: `job-1.${String(execution)}`,
  reason: 'silent for 75 s',
  at: second(at),
});
const decline = (execution: number, at: number, nodeId = 'node-1') =>
  aReport(execution, at, { type: 'decline', reason: 'busy' }, { nodeId });
const cancel = (at: number): JobCommand => ({ type: 'CancelJob', reason: 'mistake', byUser: true, at: second(at) });
const timeOut = (at: number): JobCommand => ({ type: 'TimeOutJob', at: second(at) });
const on = (nodeId: string) => ({ nodeId });
const requeued = (events: readonly JobEvent[]) => events.find((event) => event.type === 'JobRequeued')?.data;
const application = { class: 'application', code: 'exit-code', message: 'exit code 3', exitCode: 3 } as const;

describe('a service', () => {
  const running = spec.after(submit('service', { count: 2 }), aPlacement(1, 1), start(1, 2));

  it('S-03 replaces what ends, also what ends well, after the interval and without a word of completion', () => {
    const ended = running.when(aSuccess(1, 10));
    expect(ended.events.map(({ type }) => type)).toEqual(['ExecutionSucceeded', 'JobRequeued']);
    expect(requeued(ended.events)).toEqual({
      partition: 0,
      cause: 'ended',
      message: 'it ended with exit code 0, and a service goes on',
      notBefore: second(20),
      at: second(10),
    });
    expect(ended.state.partitions[0]).toMatchObject({ state: 'waiting', tries: 1, failures: 0 });
    expect(jobStateName(ended.state)).toBe('queued');
  });

  it('S-03 goes on when all of its parts have ended well, any number of times', () => {
    let story = spec.after(submit('service'));
    for (let execution = 1; execution <= 150; execution += 1) {
      const at = execution * 100;
      for (const command of [aPlacement(execution, at), start(execution, at + 1), aSuccess(execution, at + 2)])
        story = spec.given(...story.history, ...story.when(command).events);
    }
    expect(story.state).toMatchObject({ ended: undefined, partitions: [{ state: 'waiting', tries: 150 }] });
  });

  /** What a service comes to by these commands; faster than a story where there are thousands. */
  const reached = (count: number, commands: readonly JobCommand[]): JobState =>
    [submit('service', { count }), ...commands].reduce((state, command) => {
      const decision = jobDecider.decide(command, state);
      if (decision.kind === 'rejected') throw new Error(decision.rejection.code);
      return fold(jobDecider, decision.events, state);
    }, jobDecider.initialState());

  /** So many executions, one after the other, that each end well. */
  const restarts = (times: number): JobCommand[] =>
    Array.from({ length: times }, (_, index) => {
      const [execution, at] = [index + 1, (index + 1) * 100];
      return [aPlacement(execution, at), start(execution, at + 1), aSuccess(execution, at + 2)];
    }).flat();

  it('S-03 keeps the last of its executions that ended, however often it is restarted', () => {
    const state = reached(1, restarts(10_000));
    expect(state).toMatchObject({ reservations: 10_000, partitions: [{ state: 'waiting', tries: 10_000 }] });
    const kept = Array.from({ length: ENDED_KEPT }, (_, index) => `job-1.${String(10_000 - ENDED_KEPT + 1 + index)}`);
    expect(Object.keys(state.executions)).toEqual(kept);
    const bytes = (job: JobState): number => JSON.stringify(job).length;
    expect(bytes(state)).toBeLessThan(bytes(reached(1, restarts(100))) * 1.1);
  });

  it('S-03 E-07 answers a report of an execution that it knows no more, and takes nothing from it', () => {
    const state = reached(1, restarts(ENDED_KEPT + 1));
    const again = aSuccess(1, 5_000);
    expect(jobDecider.decide(again, state)).toEqual({ kind: 'accepted', events: [] });
    const unknown = { executionId: 'job-1.1', accepted: false, reason: 'UNKNOWN_EXECUTION' };
    expect(answerReport(state, 'node-1', again.report)).toEqual(unknown);
    expect(answerReport(state, 'node-1', aSuccess(2, 5_000).report)).toMatchObject({ accepted: true });
  });

  it('S-03 keeps what is live of it, and of each of its parts what ended last', () => {
    const [live, next] = [ENDED_KEPT + 1, ENDED_KEPT + 2];
    const beside = [aPlacement(live, 5_000, { partition: 1 }), start(live, 5_001)];
    const again = [aPlacement(next, 5_010), start(next, 5_011), aSuccess(next, 5_020)];
    const { executions } = reached(2, [...restarts(ENDED_KEPT), ...beside, ...again]);
    const tokens = Object.values(executions).map(({ fencingToken }) => fencingToken);
    expect(tokens).toEqual(Array.from({ length: ENDED_KEPT + 1 }, (_, index) => index + 2));
    expect(executions[`job-1.${String(live)}`]).toMatchObject({ state: 'running', partition: 1 });
  });

  it('S-03 R-02 fails when too many of its tries fail in a row', () => {
    const failing = submit('service', policy({ attempts: 2, on: ['application'] }));
    const once = spec.after(
      failing,
      aPlacement(1, 1),
      start(1, 2),
      aFailure(1, 3, application),
      aPlacement(2, 20),
      start(2, 21),
    );
    once.when(aFailure(2, 30, application)).thenTypes('ExecutionFailed', 'JobFailed');
    // A good end in between, or ten minutes of work, begins the count anew.
    const good = spec.given(...once.history, ...once.when(aSuccess(2, 30)).events);
    const third = spec.given(...good.history, ...good.when(aPlacement(3, 50)).events);
    third
      .when(aFailure(3, 60, application))
      .thenTypes('ReservationConfirmed', 'ExecutionStarted', 'ExecutionFailed', 'JobRequeued');
    const late = once.when(aFailure(2, 21 + FRESH_START_SECONDS, application));
    late.thenTypes('ExecutionFailed', 'JobRequeued');
    expect(late.state.partitions[0]).toMatchObject({ failures: 1, tries: 2 });
    once.when(aFailure(2, 20 + FRESH_START_SECONDS, application)).thenTypes('ExecutionFailed', 'JobFailed');
  });

  it('S-03 time that a try stood still on its node is no work', () => {
    const held = [start(1, 2), aReport(1, 10, { type: 'pause' }), aReport(1, 700, { type: 'resume' })];
    const story = spec.after(
      submit('service', policy({ attempts: 1, on: ['application'] })),
      aPlacement(1, 1),
      ...held,
    );
    story.when(aFailure(1, 710, application)).thenTypes('ExecutionFailed', 'JobFailed');
  });

  it('S-03 waits no longer after each good end, nor after a try that its own run time ended', () => {
    const bounded = submit('service', { ...policy({ attempts: 1, on: [] }), timeouts: { confirm: 15, run: 60 } });
    const story = spec.after(bounded, aPlacement(1, 1), start(1, 2));
    const ended = story.when(
      aFailure(1, 62, { class: 'timeout', code: 'run-timeout', message: 'timed out after 60 s' }),
    );
    ended.thenTypes('ExecutionFailed', 'JobRequeued');
    expect(requeued(ended.events)).toMatchObject({ cause: 'timeout', notBefore: second(72) });
    expect(requeued(ended.events)).not.toHaveProperty('avoid');
    expect(ended.state.partitions[0]).toMatchObject({ failures: 0, tries: 1 });
  });

  it('S-03 R-04 is given up when its reservations come back a hundred times without a run between them', () => {
    let story = spec.after(submit('service'));
    const step = (...commands: JobCommand[]) => {
      for (const command of commands) story = spec.given(...story.history, ...story.when(command).events);
    };
    let execution = 0;
    const declined = (times: number) => {
      for (let count = 0; count < times; count += 1)
        step(aPlacement((execution += 1), execution * 100), decline(execution, execution * 100 + 1));
    };
    declined(MOST_RETURNS - 1);
    step(
      aPlacement((execution += 1), execution * 100),
      start(execution, execution * 100 + 1),
      aSuccess(execution, execution * 100 + 2),
    );
    expect(story.state.partitions[0]?.returned).toBe(0);
    declined(MOST_RETURNS - 1);
    expect(story.state.ended).toBeUndefined();
    declined(1);
    expect(story.state.ending).toMatchObject({ code: 'placement-tries' });
  });

  it('S-03 is cancelled as any job', () => {
    const cancelled = spec.given(...running.history, ...running.when(cancel(10)).events);
    cancelled.when(aSuccess(1, 12)).thenTypes('ExecutionSucceeded', 'JobCancelled');
  });
});

describe('an ops job', () => {
  const onTwo = spec.after(submit('ops', policy({ attempts: 2 })), aTargetChange(['node-1', 'node-2'], 1));
  const both = spec.given(...onTwo.history, ...spec.given(...onTwo.history).when(aPlacement(1, 2)).events);
  const running = [
    aPlacement(1, 2),
    start(1, 3),
    aPlacement(2, 4, { partition: 1, nodeId: 'node-2' }),
    start(2, 5, 'node-2'),
  ].reduce((story, command) => spec.given(...story.history, ...story.when(command).events), onTwo);

  it('S-04 has no parts until its nodes are found, then one for each, fixed', () => {
    const fresh = spec.after(submit('ops'));
    expect(fresh.state.partitions).toEqual([]);
    fresh.when(aTargetChange(['b', 'a'], 1)).then({
      type: 'TargetsChanged',
      data: {
        evaluationId: 'evaluation-1',
        position: '0',
        algorithm: '1',
        added: [
          { partition: 0, nodeId: 'b' },
          { partition: 1, nodeId: 'a' },
        ],
        removed: [],
        at: second(1),
      },
    });
    onTwo.when(aTargetChange(['node-3'], 2, { removed: ['node-1'] })).then();
  });

  it('S-04 places a part on its own node and nowhere else', () => {
    onTwo.when(aPlacement(1, 2, on('node-2'))).thenRejected('DECISION_OUTDATED');
    expect(both.state.partitions.map(({ state, target }) => [state, target])).toEqual([
      ['live', 'node-1'],
      ['waiting', 'node-2'],
    ]);
  });

  it('S-04 is completed with the last of its parts, in one append', () => {
    const first = spec.given(...running.history, ...running.when(aSuccess(1, 10)).events);
    expect(first.state.ended).toBeUndefined();
    first.when(aSuccess(2, 11, on('node-2'))).thenTypes('ExecutionSucceeded', 'JobCompleted');
  });

  it('S-04 runs on when a part fails for good, and fails with the last, all results kept', () => {
    const failed = running.when(aFailure(1, 10, application));
    failed.thenTypes('ExecutionFailed', 'PartitionFailed');
    expect(failed.events[1]?.data).toEqual({
      partition: 0,
      class: 'application',
      code: 'exit-code',
      message: 'exit code 3',
      at: second(10),
    });
  });

  it('S-04 tells how many nodes failed, and why the first did', () => {
    const failed = spec.given(...running.history, ...running.when(aFailure(1, 10, application)).events);
    const ended = failed.when(aSuccess(2, 11, on('node-2')));
    ended.thenTypes('ExecutionSucceeded', 'JobFailed');
    expect(ended.state).toMatchObject({
      ended: 'failed',
      ending: {
        class: 'application',
        code: 'nodes-failed',
        message: '1 of 2 nodes failed; the first, node-1: exit code 3',
      },
      partitions: [{ state: 'failed', lastError: { message: 'exit code 3' } }, { state: 'done' }],
    });
    expect(ended.state.executions['job-1.2']?.artifacts).toHaveLength(1);
  });

  it('S-04 R-02 tries again on the same node, as its policy says', () => {
    const again = running.when(aFailure(1, 10));
    again.thenTypes('ExecutionFailed', 'JobRequeued');
    expect(requeued(again.events)).not.toHaveProperty('avoid');
    const second_ = [aPlacement(3, 30), start(3, 31)].reduce(
      (story, command) => spec.given(...story.history, ...story.when(command).events),
      spec.given(...running.history, ...again.events),
    );
    second_.when(aFailure(3, 40)).thenTypes('ExecutionFailed', 'PartitionFailed');
  });

  it('S-04 S-08 a node that is lost takes its part with it, whether it had begun or not', () => {
    running.when(lost(1, 90)).thenTypes('ExecutionLost', 'PartitionFailed');
    both.when(lost(1, 90)).thenTypes('ExecutionLost', 'PartitionFailed');
  });

  it('S-04 R-04 gives a part up when its node returned it a hundred times', () => {
    let story = onTwo;
    for (let execution = 1; execution <= MOST_RETURNS; execution += 1) {
      const at = execution * 100;
      for (const command of [aPlacement(execution, at), decline(execution, at + 1)])
        story = spec.given(...story.history, ...story.when(command).events);
    }
    expect(story.state.partitions.map(({ state }) => state)).toEqual(['failed', 'waiting']);
    expect(story.state.ended).toBeUndefined();
  });

  it('S-04 S-10 a part that waits for its node too long is given up alone', () => {
    const bounded = spec.after(
      submit('ops', { timeouts: { confirm: 15, queue: 100 } }),
      aTargetChange(['node-1', 'node-2'], 1),
      aPlacement(1, 2),
      aConfirmation(1, 3),
    );
    const late = bounded.when(timeOut(100));
    late.then({
      type: 'PartitionFailed',
      data: {
        partition: 1,
        class: 'timeout',
        code: 'queue-timeout',
        message: 'timed out after 100 s in the queue',
        at: second(100),
      },
    });
    spec
      .given(...bounded.history, ...late.events)
      .when(timeOut(200))
      .then();
    const nobody = spec.after(submit('ops', { timeouts: { confirm: 15, queue: 100 } }));
    nobody.when(timeOut(100)).thenTypes('JobFailed');
  });

  it('S-04 a part that nothing can come of is given up, and with the last one the job', () => {
    const give = (partition: number): JobCommand => ({
      type: 'FailPartition',
      partition,
      class: 'policy',
      code: 'no-longer-matches',
      message: 'its owner does not take the project any more',
      at: second(9),
    });
    onTwo.when(give(0)).thenTypes('PartitionFailed');
    onTwo.when(give(7)).then();
    both.when(give(0)).then();
    const one = spec.given(...onTwo.history, ...onTwo.when(give(0)).events);
    one.when(give(0)).then();
    one.when(give(1)).thenTypes('PartitionFailed', 'JobFailed');
  });
});

describe('a daemon', () => {
  const onTwo = spec.after(
    submit('daemon', policy({ attempts: 1, on: [] })),
    aTargetChange(['node-1', 'node-2'], 1),
    aPlacement(1, 2),
    start(1, 3),
  );

  it('S-05 is decided for as a whole while it has no node, once for each reason, and placed nowhere', () => {
    const reasonOf = (reason: string, number = 1, partition = 0) => {
      const filtered = [{ reason, side: 'job' as const, never: true, nodes: 2, also: 0 }];
      return aPlan({ deferrals: [aDecision({ number, partition, outcome: 'rejected', filtered })] });
    };
    const told = spec.after(submit('daemon'), reasonOf('constraint'));
    expect(told.state.lastDecision).toMatchObject({ outcome: 'rejected' });
    expect(told.state.partitions).toEqual([]);
    told.when(reasonOf('constraint', 2)).then();
    told.when(reasonOf('node.offline', 2)).thenTypes('PlacementDecided');
    told.when(aPlacement(1, 1, { number: 2 })).thenRejected('DECISION_OUTDATED');
    const there = spec.given(...told.history, ...told.when(aTargetChange(['node-1'], 2)).events);
    there.when(reasonOf('constraint', 2, 1)).thenRejected('DECISION_OUTDATED');
    const gone = there.when(aTargetChange([], 3, { removed: ['node-1'] }));
    spec
      .given(...there.history, ...gone.events)
      .when(reasonOf('constraint', 2, 1))
      .thenTypes('PlacementDecided');
  });

  it('S-05 a failure is followed by another try on its node, for ever, with a backoff that has an end', () => {
    let story = onTwo;
    const waits: number[] = [];
    for (let execution = 1; execution <= 200; execution += 1) {
      const at = execution * 100;
      const failed = story.when(aFailure(execution, at, application));
      failed.thenTypes('ExecutionFailed', 'JobRequeued');
      const { notBefore = '' } = requeued(failed.events) ?? {};
      waits.push((Date.parse(notBefore) - Date.parse(second(at))) / 1000);
      story = spec.given(...story.history, ...failed.events);
      for (const command of [aPlacement(execution + 1, at + 70), start(execution + 1, at + 71)])
        story = spec.given(...story.history, ...story.when(command).events);
    }
    expect(waits.slice(0, 5)).toEqual([10, 20, 40, 60, 60]);
    expect(Math.max(...waits)).toBe(60);
  });

  it('S-05 R-04 a node that returns its part a hundred times has it offered again, a minute later', () => {
    let story = spec.after(submit('daemon'), aTargetChange(['node-1'], 1));
    for (let execution = 1; execution <= MOST_RETURNS + 10; execution += 1) {
      const at = execution * 100;
      for (const command of [aPlacement(execution, at), decline(execution, at + 1)])
        story = spec.given(...story.history, ...story.when(command).events);
      expect(story.state.exclusions).toEqual([{ nodeId: 'node-1', until: second(at + 61) }]);
    }
    expect(story.state.ended).toBeUndefined();
  });

  it('S-05 an instance that could not begin is not tried every moment', () => {
    const story = spec.after(submit('daemon'), aTargetChange(['node-1'], 1), aPlacement(1, 2), aConfirmation(1, 3));
    const missing = { class: 'input', code: 'input-missing', message: 'no such file' } as const;
    expect(requeued(story.when(aFailure(1, 4, missing)).events)).toMatchObject({ exclude: { until: second(64) } });
  });

  it('S-05 loses a node: what runs there is asked to stop in the same append, and nothing follows', () => {
    const left = onTwo.when(aTargetChange(['node-3'], 10, { removed: ['node-1', 'node-2'] }));
    left.thenTypes('TargetsChanged', 'ExecutionStopRequested');
    expect(left.events[1]?.data).toMatchObject({ executionId: 'job-1.1', cause: 'no-longer-matches' });
    const gone = spec.given(...onTwo.history, ...left.events);
    expect(gone.state.partitions.map(({ state, leaving, target }) => [state, leaving, target])).toEqual([
      ['live', true, 'node-1'],
      ['removed', undefined, 'node-2'],
      ['waiting', undefined, 'node-3'],
    ]);
    const stopped = gone.when(aFailure(1, 12, { class: 'cancelled', code: 'stopped', message: 'stopped' }));
    stopped.thenTypes('ExecutionCancelled');
    expect(stopped.state.partitions[0]).toMatchObject({ state: 'removed', target: 'node-1' });
    gone.when(aSuccess(1, 12)).thenTypes('ExecutionSucceeded');
    gone.when(aFailure(1, 12, application)).thenTypes('ExecutionFailed');
    gone.when(lost(1, 90)).thenTypes('ExecutionLost');
  });

  it('S-05 what its node had not confirmed ends at once', () => {
    const story = spec.after(submit('daemon'), aTargetChange(['node-1'], 1), aPlacement(1, 2));
    const left = story.when(aTargetChange([], 3, { removed: ['node-1'] }));
    left.thenTypes('TargetsChanged', 'ExecutionCancelled');
    expect(left.state.partitions[0]?.state).toBe('removed');
  });

  it('S-05 a node that returns gets its number again, be it before or after its instance has stopped', () => {
    const left = spec.given(...onTwo.history, ...onTwo.when(aTargetChange([], 10, { removed: ['node-1'] })).events);
    const soon = left.when(aTargetChange(['node-1'], 11));
    expect(soon.events.map(({ data }) => (data as { added?: unknown }).added)).toEqual([
      [{ partition: 0, nodeId: 'node-1' }],
    ]);
    const back = spec.given(...left.history, ...soon.events);
    back
      .when(aFailure(1, 12, { class: 'cancelled', code: 'stopped', message: 'stopped' }))
      .thenTypes('ExecutionCancelled', 'JobRequeued');
    const stopped = spec.given(...left.history, ...left.when(aSuccess(1, 12)).events);
    const later = stopped.when(aTargetChange(['node-3', 'node-1'], 20));
    expect(later.state.partitions.map(({ state, target }) => [state, target])).toEqual([
      ['waiting', 'node-1'],
      ['waiting', 'node-2'],
      ['waiting', 'node-3'],
    ]);
  });

  it('S-05 who has its part gets no other, and who has none loses nothing', () => {
    onTwo.when(aTargetChange(['node-2', 'node-1'], 10)).then();
    onTwo.when(aTargetChange([], 10, { removed: ['node-9'] })).then();
    spec
      .after(submit('batch'))
      .when(aTargetChange(['node-1'], 1))
      .then();
  });

  it('S-05 a held daemon may still gain and lose nodes; one that ends may not', () => {
    const paused = onTwo.when({ type: 'PauseJob', reason: 'hold', at: second(5) });
    spec
      .given(...onTwo.history, ...paused.events)
      .when(aTargetChange(['node-3'], 6))
      .thenTypes('TargetsChanged');
    const cancelled = onTwo.when(cancel(5));
    spec
      .given(...onTwo.history, ...cancelled.events)
      .when(aTargetChange(['node-3'], 6))
      .thenRejected('DECISION_OUTDATED');
    spec
      .after(submit('daemon'), cancel(1))
      .when(aTargetChange(['node-3'], 6))
      .thenRejected('JOB_TERMINAL');
  });

  it('S-05 R-04 the switch that stops all retries gives up the part that failed, not the job', () => {
    const still = deciderSpec(jobDeciderWith(noRetries)).given(...onTwo.history);
    const failed = still.when(aFailure(1, 10, application));
    failed.thenTypes('ExecutionFailed', 'PartitionFailed');
    expect(failed.state).toMatchObject({ ended: undefined, partitions: [{ state: 'failed' }, { state: 'waiting' }] });
  });

  it('S-05 each part’s reason to wait is recorded when it changes, whatever the others wait for', () => {
    const story = spec.after(submit('daemon'), aTargetChange(['node-1', 'node-2'], 1));
    const deferral = (number: number, partition: number, reason: string): JobCommand => {
      const filtered = [{ reason, side: 'system', never: false, nodes: 1, also: 0 }] as const;
      const { decision } = aPlacement(1, 2).placements[0]!;
      const deferred = { ...decision, number, partition, outcome: 'deferred' as const, filtered };
      return { type: 'RecordPlan', placements: [], deferrals: [deferred], stops: [], at: second(2) };
    };
    const first = spec.given(...story.history, ...story.when(deferral(1, 0, 'node.offline')).events);
    const both = spec.given(...first.history, ...first.when(deferral(2, 1, 'node.cordoned')).events);
    expect(both.state.decisions).toBe(2);
    both.when(deferral(3, 0, 'node.offline')).then();
    both.when(deferral(3, 1, 'node.cordoned')).then();
    both.when(deferral(3, 0, 'node.draining')).thenTypes('PlacementDecided');
  });
});
