import { describe, expect, it } from '@jest/globals';
import {
  aConfirmation,
  aContract,
  aFailure,
  anArtifact,
  aPlacement,
  aReport,
  aSubmission,
  aSuccess,
  aConsumption,
  deciderSpec,
  EXECUTION_PATHS,
  second,
} from '#testing';
import type { ReportExecution } from './commands.js';
import { jobDecider } from './decide.js';
import type { Contract } from '#nodes';
import type { ReportType } from './events.js';
import { answerReport } from './report.js';
import type { ExecutionStateName, JobState } from './state.js';

const spec = deciderSpec(jobDecider);

const REPORTS: Readonly<Record<ReportType | 'stopped', ReportExecution>> = {
  confirm: aConfirmation(1, 20),
  decline: aReport(1, 20, { type: 'decline', reason: 'busy' }),
  prepare: aReport(1, 20, { type: 'prepare' }),
  start: aReport(1, 20, { type: 'start' }),
  progress: aReport(1, 20, { type: 'progress', fraction: 0.5 }),
  pause: aReport(1, 20, { type: 'pause' }),
  resume: aReport(1, 20, { type: 'resume' }),
  publish: aReport(1, 20, { type: 'publish' }),
  succeed: aSuccess(1, 20),
  fail: aFailure(1, 20),
  stopped: aFailure(1, 20, { class: 'cancelled', code: 'stopped', message: 'the node is drained' }),
};

/** Short for the events of the table. `late` is LateResultRejected, `-` nothing, `!` a refusal. */
const WORDS: Readonly<Record<string, string>> = {
  late: 'LateResultRejected',
  confirmed: 'ReservationConfirmed',
  declined: 'ReservationDeclined',
  preparing: 'ExecutionPreparing',
  started: 'ExecutionStarted',
  progressed: 'ExecutionProgressed',
  paused: 'ExecutionPaused',
  resumed: 'ExecutionResumed',
  publishing: 'ExecutionPublishing',
  succeeded: 'ExecutionSucceeded',
  failed: 'ExecutionFailed',
  cancelled: 'ExecutionCancelled',
  requeued: 'JobRequeued',
  completed: 'JobCompleted',
};

type Row = Partial<Record<ExecutionStateName, string>>;

const all = (states: readonly ExecutionStateName[], words: string): Row =>
  Object.fromEntries(states.map((state) => [state, words]));
const LIVE = ['reserved', 'confirmed', 'preparing', 'running', 'paused', 'publishing'] as const;
const OVER = ['succeeded', 'failed', 'lost', 'expired', 'declined', 'cancelled'] as const;
const late = all(OVER, 'late');

/**
 * Whatever was taken in once is `-` ever after: the same report, the same answer, no new event. Only of what was lost every
 * report is late, so that its node stops.
 */
const TABLE: Readonly<Record<keyof typeof REPORTS, Row>> = {
  confirm: { ...all(LIVE, '-'), reserved: 'confirmed', ...late, succeeded: '-', failed: '-' },
  decline: {
    ...all(['reserved', 'confirmed', 'preparing'], 'declined requeued'),
    ...all(['running', 'paused', 'publishing'], '!EXECUTION_STATE'),
    ...late,
    declined: '-',
  },
  prepare: { ...all(LIVE, '-'), reserved: 'confirmed preparing', confirmed: 'preparing', ...late },
  start: {
    ...all(LIVE, '-'),
    reserved: 'confirmed started',
    ...all(['confirmed', 'preparing'], 'started'),
    ...late,
    ...all(['succeeded', 'failed'], '-'),
  },
  progress: {
    ...all(['reserved', 'confirmed', 'preparing'], '-'),
    ...all(['running', 'paused', 'publishing'], 'progressed'),
    ...late,
    ...all(['succeeded', 'failed', 'declined'], '-'),
  },
  pause: { ...all(LIVE, '-'), running: 'paused', ...late },
  resume: { ...all(LIVE, '-'), paused: 'resumed', ...late },
  publish: {
    reserved: 'confirmed started publishing',
    ...all(['confirmed', 'preparing'], 'started publishing'),
    ...all(['running', 'paused'], 'publishing'),
    publishing: '-',
    ...late,
  },
  succeed: {
    reserved: 'confirmed started succeeded completed',
    ...all(['confirmed', 'preparing'], 'started succeeded completed'),
    ...all(['running', 'paused', 'publishing'], 'succeeded completed'),
    ...late,
    succeeded: '-',
  },
  fail: { ...all(LIVE, 'failed requeued'), ...late, failed: '-' },
  stopped: { ...all(LIVE, 'cancelled requeued'), reserved: 'confirmed cancelled requeued', ...late, failed: '-' },
};

const answer = (job: JobState, { nodeId, report }: ReportExecution) => answerReport(job, nodeId, report);

describe('E-04 a try that was stopped', () => {
  const began = spec.after(aSubmission(), aPlacement(1), aConfirmation(1, 10), aReport(1, 12, { type: 'start' }));
  const stopped = { class: 'cancelled', code: 'stopped', message: 'stopped as asked' } as const;

  it('keeps the exit code and what it had stored', () => {
    const left = { exitCode: 143, artifacts: [anArtifact()] };
    const { events, state } = began.when(aFailure(1, 20, { ...stopped, ...left }));
    expect(events[0]).toMatchObject({ type: 'ExecutionCancelled', data: left });
    expect(Object.values(state.executions)).toMatchObject([{ state: 'cancelled', ...left }]);
  });

  it('has neither when it left none', () => {
    const { events, state } = began.when(aFailure(1, 20, stopped));
    expect(Object.keys(events[0]?.data ?? {})).toEqual(['executionId', 'reason', 'at']);
    expect(Object.values(state.executions)).toMatchObject([{ state: 'cancelled', artifacts: [] }]);
  });
});

describe('G-25 a confirmation with a smaller contract', () => {
  const contract = aContract({ memory: 1000, batchSize: 8, gpus: [{ id: 'a', share: 0.5, memory: 800 }] });
  const less = { ...contract, memory: 600, batchSize: 4, gpus: [{ id: 'a', share: 0.5, memory: 400 }] };
  const reserved = spec.after(aSubmission(), aPlacement(1, 5, { contract }));
  const confirm = (granted: Contract) => aReport(1, 20, { type: 'confirm', contract: granted });

  it('is recorded with it, and from then on that is the contract', () => {
    const confirmed = reserved.when(confirm(less));
    confirmed.then({
      type: 'ReservationConfirmed',
      data: { executionId: 'job-1.1', contract: less, at: second(20) },
    });
    expect(confirmed.state.executions['job-1.1']).toMatchObject({ state: 'confirmed', contract: less });
    const again = spec.after(aSubmission(), aPlacement(1, 5, { contract }), confirm(less));
    again.when(confirm(less)).then();
    expect(answer(again.state, confirm(less))).toEqual({ executionId: 'job-1.1', accepted: true });
  });

  it('tells nothing new where it is the one reserved', () => {
    reserved.when(confirm(contract)).then({
      type: 'ReservationConfirmed',
      data: { executionId: 'job-1.1', at: second(20) },
    });
  });

  it.each<[string, Partial<Contract>]>([
    ['more memory', { memory: 1001 }],
    ['more items', { batchSize: 9 }],
    ['no batch', { batchSize: undefined as never }],
    ['another device', { gpus: [{ id: 'b', share: 0.5, memory: 400 }] }],
    ['fewer devices', { gpus: [] }],
    ['more of a device', { gpus: [{ id: 'a', share: 0.501, memory: 400 }] }],
  ])('A-39 is refused with %s', (_, more) => {
    reserved.when(confirm({ ...less, ...more })).thenRejected('CONTRACT_NOT_SMALLER');
  });
});

describe('every report in every state of its execution', () => {
  const cases = Object.keys(REPORTS).flatMap((report) =>
    [...LIVE, ...OVER].map((state) => [report as keyof typeof REPORTS, state] as const),
  );

  it.each(cases)('%s, when it is %s', (name, state) => {
    const words = TABLE[name][state]!;
    const command = REPORTS[name];
    const before = spec.after(...EXECUTION_PATHS[state]);
    expect(before.state.executions['job-1.1']?.state).toBe(state);
    const first = before.when(command);
    if (words.startsWith('!')) return first.thenRejected(words.slice(1));
    first.thenTypes(...(words === '-' ? [] : words.split(' ').map((word) => WORDS[word]!)));
    expect(answer(first.state, command).accepted).toBe(words !== 'late');
    // The same again: no event, the same answer.
    const repeated = spec.given(...before.history, ...first.events).when(command);
    repeated.then();
    expect(answer(repeated.state, command)).toEqual(answer(first.state, command));
  });
});

describe('what a node says', () => {
  it('A-83 confirms the reservation before anything runs', () => {
    spec
      .after(...EXECUTION_PATHS.reserved)
      .when(aConfirmation(1, 2))
      .then({ type: 'ReservationConfirmed', data: { executionId: 'job-1.1', at: second(2) } });
  });

  it('A-83 a confirmation counts for as long as the claim stands: only its expiry revokes it', () => {
    const late = aConfirmation(1, 300);
    spec
      .after(...EXECUTION_PATHS.reserved)
      .when(late)
      .thenTypes('ReservationConfirmed');
    const expired = spec.after(...EXECUTION_PATHS.expired).when(late);
    expired.thenTypes('LateResultRejected');
    expect(answer(expired.state, late)).toEqual({
      executionId: 'job-1.1',
      accepted: false,
      reason: 'EXECUTION_ENDED: expired',
    });
  });

  it('A-42 keeps each quarter of progress once, in 0…1, and no tick between', () => {
    const tick = (fraction: number, message?: string) =>
      aReport(1, 20, { type: 'progress', fraction, ...(message === undefined ? {} : { message }) });
    const running = spec.after(...EXECUTION_PATHS.running);
    running.when(tick(0.24)).then();
    running.when(tick(-1)).then();
    running.when(tick(Number.NaN)).then();
    running.when(tick(0.25, 'a quarter')).then({
      type: 'ExecutionProgressed',
      data: { executionId: 'job-1.1', fraction: 0.25, message: 'a quarter', at: second(20) },
    });
    running.when(tick(7)).thenState((job) => job.executions['job-1.1']?.quarters === 4);
    const half = spec.after(...EXECUTION_PATHS.running, tick(0.6));
    half.when(tick(0.74)).then();
    half.when(tick(0.3)).then();
    half.when(tick(0.75)).thenTypes('ExecutionProgressed');
  });

  it('A-47 A-48 A-49 puts artifacts, consumption and node with the job, and completes it in the same append', () => {
    const { nodeId } = aSuccess(1, 10);
    const result = { exitCode: 0, artifacts: [anArtifact()], consumption: aConsumption() };
    const outcome = spec.after(...EXECUTION_PATHS.running).when(aSuccess(1, 10));
    outcome.then(
      { type: 'ExecutionSucceeded', data: { executionId: 'job-1.1', ...result, at: second(10) } },
      { type: 'JobCompleted', data: { at: second(10) } },
    );
    expect(outcome.state.executions['job-1.1']).toMatchObject({ ...result, nodeId, endedAt: second(10) });
  });

  it('A-43 A-44 keeps class, code, diagnostics and what was published of a failure', () => {
    const details = { diagnostics: { stderr: 'no such file' }, artifacts: [anArtifact()], consumption: aConsumption() };
    const report = aFailure(1, 10, {
      class: 'application',
      code: 'exit-code',
      message: 'exit code 3',
      exitCode: 3,
      ...details,
    });
    const outcome = spec.after(...EXECUTION_PATHS.running).when(report);
    const ending = { class: 'application', code: 'exit-code', message: 'exit code 3' } as const;
    outcome.then(
      { type: 'ExecutionFailed', data: { executionId: 'job-1.1', ...ending, exitCode: 3, ...details, at: second(10) } },
      { type: 'JobFailed', data: { ...ending, at: second(10) } },
    );
    expect(outcome.state.executions['job-1.1']).toMatchObject({
      exitCode: 3,
      failure: ending,
      artifacts: [anArtifact()],
    });
  });

  it('an exit code tells that the task ran, even if its start was never reported', () => {
    spec
      .after(...EXECUTION_PATHS.reserved)
      .when(aFailure(1, 5, { class: 'infrastructure', exitCode: 137 }))
      .thenTypes('ReservationConfirmed', 'ExecutionStarted', 'ExecutionFailed', 'JobRequeued');
  });

  it('what has started cannot be declined: it may still run there', () => {
    const outcome = spec.after(...EXECUTION_PATHS.running).when(REPORTS.decline);
    outcome.thenRejected('EXECUTION_STATE');
    expect(outcome.decision).toMatchObject({ rejection: { message: expect.stringContaining('running') } });
  });
});

describe('A-80 A-86 A-87 one completion, whoever reports and however often', () => {
  it('two successes of one execution are one completion with one answer', () => {
    const first = aSuccess(1, 10);
    const done = spec.after(...EXECUTION_PATHS.running, first);
    const other = aReport(1, 11, { type: 'succeed', exitCode: 0, artifacts: [], consumption: aConsumption() });
    for (const again of [first, aSuccess(1, 999), other]) {
      const outcome = done.when(again);
      outcome.then();
      expect(answer(outcome.state, again)).toEqual({ executionId: 'job-1.1', accepted: true });
    }
    expect(done.state.executions['job-1.1']?.artifacts).toEqual([anArtifact()]);
  });

  it('a failure after the success is late, and so is a success after the failure', () => {
    const done = spec.after(...EXECUTION_PATHS.running, aSuccess(1, 10)).when(aFailure(1, 11));
    done.thenTypes('LateResultRejected');
    done.thenState((job) => job.ended === 'completed');
    expect(answer(done.state, aFailure(1, 11)).reason).toBe('EXECUTION_ENDED: succeeded');
    spec
      .after(...EXECUTION_PATHS.failed)
      .when(aSuccess(1, 11))
      .thenTypes('LateResultRejected');
  });

  it('of two attempts that both succeed, only the current one counts', () => {
    const newer = spec.after(
      ...EXECUTION_PATHS.lost,
      aPlacement(2, 30, { nodeId: 'node-2' }),
      aReport(2, 31, { type: 'start' }, { nodeId: 'node-2' }),
    );
    const old = newer.when(aSuccess(1, 32));
    old.then({
      type: 'LateResultRejected',
      data: {
        executionId: 'job-1.1',
        fencingToken: 1,
        report: 'succeed',
        nodeId: 'node-1',
        reason: 'EXECUTION_ENDED',
        at: second(32),
      },
    });
    old.thenState((job) => job.ended === undefined && job.executions['job-1.2']?.state === 'running');
    const done = spec.given(...newer.history, ...old.events).when(aSuccess(2, 40, { nodeId: 'node-2' }));
    done.thenTypes('ExecutionSucceeded', 'JobCompleted');
    spec
      .given(...newer.history, ...old.events, ...done.events)
      .when(aSuccess(1, 50))
      .then();
  });

  it('the new attempt first, then the old one: recorded once as late, nothing else', () => {
    const done = spec.after(
      ...EXECUTION_PATHS.lost,
      aPlacement(2, 30, { nodeId: 'node-2' }),
      aSuccess(2, 40, { nodeId: 'node-2' }),
    );
    const late = done.when(aSuccess(1, 41));
    late.thenTypes('LateResultRejected');
    spec
      .given(...done.history, ...late.events)
      .when(aSuccess(1, 42))
      .then();
    spec
      .given(...done.history, ...late.events)
      .when(aFailure(1, 43))
      .thenTypes('LateResultRejected');
  });

  it('an old or foreign token changes nothing and is recorded once', () => {
    const running = spec.after(...EXECUTION_PATHS.running);
    for (const fencingToken of [0, 2, 99]) {
      const forged = aSuccess(1, 10, { fencingToken });
      const outcome = running.when(forged);
      outcome.thenTypes('LateResultRejected');
      outcome.thenState((job) => job.ended === undefined && job.executions['job-1.1']?.state === 'running');
      expect(answer(outcome.state, forged)).toEqual({ executionId: 'job-1.1', accepted: false, reason: 'STALE_TOKEN' });
      spec
        .given(...running.history, ...outcome.events)
        .when(forged)
        .then();
      spec
        .given(...running.history, ...outcome.events)
        .when(aSuccess(1, 11))
        .thenTypes('ExecutionSucceeded', 'JobCompleted');
    }
  });

  it('E-07 another node changes nothing and leaves no trace, alive or over', () => {
    const foreign = aSuccess(1, 12, { nodeId: 'node-2' });
    for (const state of [...LIVE, ...OVER]) {
      const outcome = spec.after(...EXECUTION_PATHS[state]).when(foreign);
      outcome.then();
      expect(answer(outcome.state, foreign)).toMatchObject({ accepted: false, reason: 'WRONG_NODE' });
    }
  });

  it('E-07 an execution that never was changes nothing', () => {
    const unknown = aSuccess(9, 12);
    const outcome = spec.after(aSubmission()).when(unknown);
    outcome.then();
    expect(answer(outcome.state, unknown)).toEqual({
      executionId: 'job-1.9',
      accepted: false,
      reason: 'UNKNOWN_EXECUTION',
    });
  });
});
