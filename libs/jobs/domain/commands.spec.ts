import { describe, expect, it } from '@jest/globals';
import {
  aDecision,
  aFailure,
  aJobSpec,
  aPlacement,
  aPlan,
  aReport,
  aSubmission,
  deciderSpec,
  JOB_PATHS,
  second,
} from '#testing';
import type { JobCommand } from './commands.js';
import { jobDecider } from './decide.js';
import { jobStateName } from './state.js';

const spec = deciderSpec(jobDecider);
const at = second(20);

type Path = keyof typeof JOB_PATHS;
const paths = Object.keys(JOB_PATHS) as Path[];

const COMMANDS = {
  'the same submission': aSubmission(),
  'another submission': aSubmission({ fingerprint: 'fingerprint-2' }),
  ChangePriority: { type: 'ChangePriority', priority: 80, at },
  'ChangePriority to the same': { type: 'ChangePriority', priority: 50, at },
  PauseJob: { type: 'PauseJob', reason: 'maintenance', at },
  ResumeJob: { type: 'ResumeJob', at },
  MeetDependencies: { type: 'MeetDependencies', dependencies: [{ job: 'job-0', outcome: 'completed' }], at },
  'MeetDependencies without one': { type: 'MeetDependencies', dependencies: [], at },
  CancelJob: { type: 'CancelJob', reason: 'mistake', byUser: true, at },
  FailJob: { type: 'FailJob', class: 'timeout', code: 'total-timeout', message: 'timed out after 10 s', at },
  StopExecution: { type: 'StopExecution', executionId: 'job-1.1', cause: 'node-drained', reason: 'drained', at },
  'TimeOutJob without a bound': { type: 'TimeOutJob', at },
  'TimeOutExecution without a bound': { type: 'TimeOutExecution', executionId: 'job-1.1', grace: 0, at },
  'a placement': aPlacement(7, 20, { number: 2 }),
  'a first placement': aPlacement(7, 20, { number: 1 }),
  'a deferral': aPlan({ deferrals: [aDecision({ number: 2, outcome: 'deferred' })], at }),
  RecordEvaluationFailed: {
    type: 'RecordEvaluationFailed',
    evaluationId: 'e',
    trigger: 'NodeEnrolled',
    deliveries: 10,
    reason: 'its stream cannot be written',
    at,
  },
  RecordEvaluationsSuperseded: {
    type: 'RecordEvaluationsSuperseded',
    by: 'e',
    evaluations: [{ evaluationId: 'f', trigger: 'NodeEnrolled' }],
    at,
  },
  LeaveOutNode: { type: 'LeaveOutNode', partition: 0, nodeId: 'node-1', reason: 'refused', at },
  'ExpireReservation in time': { type: 'ExpireReservation', executionId: 'job-1.1', at },
  'ExpireReservation too early': { type: 'ExpireReservation', executionId: 'job-1.1', at: second(15.999) },
  'AbandonReservation of a stranger': { type: 'AbandonReservation', executionId: 'job-1.9', nodeId: 'node-1', at },
  'AbandonReservation of its own': { type: 'AbandonReservation', executionId: 'job-1.1', nodeId: 'node-1', at },
  DeclareExecutionLost: { type: 'DeclareExecutionLost', executionId: 'job-1.1', reason: 'silent', at },
  'a report': aReport(1, 20, { type: 'start' }),
} as const satisfies Record<string, JobCommand>;

/** The types of the events that follow, `-` for none, or the refusal after `!`. What is not listed is under `else`. */
type Row = Partial<Record<Path, string>> & { readonly else: string };

const TERMINAL = { completed: '!JOB_TERMINAL', failed: '!JOB_TERMINAL', cancelled: '!JOB_TERMINAL' };
const OVER = { completed: '-', failed: '-', cancelled: '-' };
const absent = '!JOB_NOT_FOUND';

const TABLE: Readonly<Record<keyof typeof COMMANDS, Row>> = {
  'the same submission': { absent: 'JobSubmitted', else: '-' },
  'another submission': { absent: 'JobSubmitted', else: '!IDEMPOTENCY_KEY_REUSED' },
  ChangePriority: { absent, ...TERMINAL, else: 'JobPriorityChanged' },
  'ChangePriority to the same': { absent, ...TERMINAL, else: '-' },
  PauseJob: {
    absent,
    ...TERMINAL,
    reserved: 'JobPaused ExecutionCancelled JobRequeued',
    paused: '-',
    cancelling: '!JOB_NOT_PAUSABLE',
    else: 'JobPaused',
  },
  ResumeJob: { absent, ...TERMINAL, paused: 'JobResumed', else: '-' },
  MeetDependencies: { absent, blocked: 'DependenciesMet', else: '-' },
  'MeetDependencies without one': { absent, blocked: '!DEPENDENCY_NOT_MET', else: '-' },
  CancelJob: {
    absent,
    ...TERMINAL,
    blocked: 'JobCancelRequested JobCancelled',
    queued: 'JobCancelRequested JobCancelled',
    reserved: 'JobCancelRequested ExecutionCancelled JobCancelled',
    cancelling: '-',
    cancelled: '-',
    else: 'JobCancelRequested',
  },
  FailJob: {
    absent,
    reserved: 'ExecutionCancelled JobFailed',
    cancelling: '-',
    completed: '-',
    failed: '-',
    cancelled: '-',
    else: 'JobFailed',
  },
  StopExecution: {
    absent,
    reserved: 'ExecutionCancelled JobRequeued',
    confirmed: 'ExecutionStopRequested',
    running: 'ExecutionStopRequested',
    paused: 'ExecutionStopRequested',
    else: '-',
  },
  'TimeOutJob without a bound': { absent, else: '-' },
  'TimeOutExecution without a bound': { absent, else: '-' },
  'a placement': { absent, ...TERMINAL, else: '!DECISION_OUTDATED' },
  'a first placement': {
    absent,
    ...TERMINAL,
    queued: 'PlacementDecided ExecutionReserved',
    else: '!DECISION_OUTDATED',
  },
  'a deferral': { absent, ...TERMINAL, else: '!DECISION_OUTDATED' },
  RecordEvaluationFailed: { absent, ...OVER, else: 'EvaluationFailed' },
  RecordEvaluationsSuperseded: { absent, ...OVER, else: 'EvaluationsSuperseded' },
  LeaveOutNode: { absent, queued: 'JobRequeued', else: '-' },
  'ExpireReservation in time': { absent, reserved: 'ReservationExpired JobRequeued', else: '-' },
  'ExpireReservation too early': { absent, else: '-' },
  'AbandonReservation of a stranger': {
    absent,
    completed: '-',
    failed: '-',
    cancelled: '-',
    else: 'ReservationAbandoned',
  },
  'AbandonReservation of its own': {
    absent,
    blocked: 'ReservationAbandoned',
    queued: 'ReservationAbandoned',
    else: '-',
  },
  DeclareExecutionLost: {
    absent,
    reserved: 'ExecutionLost JobRequeued',
    confirmed: 'ExecutionLost JobRequeued',
    running: 'ExecutionLost JobRequeued',
    paused: 'ExecutionLost JobRequeued',
    cancelling: 'ExecutionLost JobCancelled',
    else: '-',
  },
  'a report': {
    absent,
    reserved: 'ReservationConfirmed ExecutionStarted',
    confirmed: 'ExecutionStarted',
    else: '-',
  },
};

describe('every command in every state of a job', () => {
  const cases = Object.keys(TABLE).flatMap((command) =>
    paths.map((path) => [command as keyof typeof COMMANDS, path] as const),
  );

  it.each(cases)('%s, when it is %s', (command, path) => {
    const row: Row = TABLE[command];
    const expected = row[path] ?? row.else;
    const outcome = spec.after(...JOB_PATHS[path]).when(COMMANDS[command]);
    if (expected.startsWith('!')) outcome.thenRejected(expected.slice(1));
    else outcome.thenTypes(...(expected === '-' ? [] : expected.split(' ')));
  });

  it('covers every state that a job can have', () => {
    const names = new Set(paths.map((path) => jobStateName(spec.after(...JOB_PATHS[path]).state)));
    expect([...names].sort()).toEqual(
      ['blocked', 'cancelled', 'completed', 'failed', 'paused', 'queued', 'reserved', 'running'].sort(),
    );
  });
});

describe('a submission', () => {
  it('A-10 keeps the whole contract that the job was created with', () => {
    const command = aSubmission({ spec: aJobSpec({ count: 3, priority: 70 }), rerunOf: 'job-0' });
    const { type: _type, ...data } = command;
    spec.given().when(command).then({ type: 'JobSubmitted', data });
    spec
      .given()
      .when(command)
      .thenState((job) => job.partitions.length === 3 && job.priority === 70 && job.rerunOf === 'job-0');
  });

  it('E-02 answers a repeated one as the first, and tells another one apart', () => {
    spec.after(aSubmission()).when(aSubmission({ at })).then();
    spec
      .after(aSubmission())
      .when(aSubmission({ fingerprint: 'other' }))
      .thenRejected('IDEMPOTENCY_KEY_REUSED');
  });
});

describe('a decision', () => {
  it('A-17 A-38 A-39 A-40 reserves on one node, with the contract, a deadline and the next token', () => {
    const plan = aPlacement(1, 1);
    const { decision, ...claim } = plan.placements[0]!;
    spec
      .after(aSubmission())
      .when(plan)
      .then(
        { type: 'PlacementDecided', data: decision },
        { type: 'ExecutionReserved', data: { ...claim, partition: 0, attempt: 1, fencingToken: 1, at: second(1) } },
      );
  });

  it('A-17 A-80 is refused for a partition that has its execution', () => {
    spec
      .after(...JOB_PATHS.reserved)
      .when(aPlacement(2, 2))
      .thenRejected('DECISION_OUTDATED');
    spec
      .after(...JOB_PATHS.running)
      .when(aPlacement(2, 5))
      .thenRejected('DECISION_OUTDATED');
  });

  it('A-46 is refused for a partition that is done', () => {
    const two = aSubmission({ spec: aJobSpec({ count: 2 }) });
    const done = spec.after(two, aPlacement(1, 1), aReport(1, 3, SUCCESS));
    done.when(aPlacement(2, 4)).thenRejected('DECISION_OUTDATED');
    done.when(aPlacement(2, 4, { partition: 1 })).thenTypes('PlacementDecided', 'ExecutionReserved');
    done.when(aPlacement(2, 4, { partition: 2 })).thenRejected('DECISION_OUTDATED');
  });

  it('P-03 is refused when another one came first', () => {
    spec
      .after(aSubmission())
      .when(aPlacement(1, 1, { number: 2 }))
      .thenRejected('DECISION_OUTDATED');
    spec
      .after(aSubmission())
      .when(aPlacement(1, 1, { number: 0 }))
      .thenRejected('DECISION_OUTDATED');
  });

  it('is refused while the job is paused, and counts on after', () => {
    const paused = spec.after(aSubmission(), { type: 'PauseJob', reason: 'wait', at });
    paused.when(aPlacement(1, 1)).thenRejected('DECISION_OUTDATED');
    const resumed = spec.given(...paused.history, { type: 'JobResumed', data: { at } });
    resumed.when(aPlacement(1, 1)).thenTypes('PlacementDecided', 'ExecutionReserved');
  });

  it('whose reservation is recorded already changes nothing, even after that execution has ended', () => {
    spec
      .after(...JOB_PATHS.reserved)
      .when(aPlacement(1, 1))
      .then();
    spec
      .after(...JOB_PATHS.completed)
      .when(aPlacement(1, 1))
      .then();
  });

  it('cannot give an execution that is known to another node', () => {
    spec
      .after(aSubmission(), aPlacement(1, 1), aReport(1, 2, { type: 'decline', reason: 'busy' }))
      .when(aPlacement(1, 3, { number: 2, nodeId: 'node-2' }))
      .thenRejected('DECISION_OUTDATED');
  });

  it('A-80 cannot revive a claim that was fenced off', () => {
    const abandon: JobCommand = { type: 'AbandonReservation', executionId: 'job-1.1', nodeId: 'node-1', at };
    const fenced = spec.after(aSubmission(), abandon);
    fenced.when(abandon).then();
    fenced.when(aPlacement(1, 21)).thenRejected('DECISION_OUTDATED');
    fenced.when(aPlacement(2, 21, { number: 1 })).thenTypes('PlacementDecided', 'ExecutionReserved');
  });

  it('P-01 P-03 S-02 a plan for several partitions is one answer: all of it, or a refusal', () => {
    const three = spec.after(aSubmission({ spec: aJobSpec({ count: 3 }) }));
    const place = (execution: number, change: object = {}) =>
      aPlacement(execution, 20, { partition: execution - 1, ...change }).placements[0]!;
    const deferral = aDecision({ number: 3, partition: 2, outcome: 'deferred' });
    const plan = aPlan({ placements: [place(1), place(2)], deferrals: [deferral], at });
    const [decided, reserved] = ['PlacementDecided', 'ExecutionReserved'];
    three.when(plan).thenTypes(decided, reserved, decided, reserved, decided);
    three.when(plan).thenState(({ reservations, decisions }) => reservations === 2 && decisions === 3);
    const recorded = spec.given(...three.history, ...three.when(plan).events);
    recorded.when(plan).then();
    for (const placements of [
      [place(1), place(2, { partition: 0 })],
      [place(1), place(1, { number: 2, partition: 1 })],
      [place(1), place(3)],
      [place(1), place(2, { partition: 3 })],
    ]) {
      three.when(aPlan({ placements, at })).thenRejected('DECISION_OUTDATED');
    }
    const half = spec.after(aSubmission({ spec: aJobSpec({ count: 3 }) }), aPlacement(1, 1));
    half.when(aPlan({ placements: [place(1), place(2)], at })).thenRejected('DECISION_OUTDATED');
  });

  it('P-01 S-07 a plan stops executions, and may end the job; an empty one changes nothing', () => {
    const stop = { executionId: 'job-1.1', cause: 'node-drained' as const, reason: 'drained' };
    const end = { class: 'policy' as const, code: 'no-matching-nodes', message: 'no node matches' };
    const running = spec.after(...JOB_PATHS.running);
    running.when(aPlan({ at })).then();
    running.when(aPlan({ stops: [stop, stop], at })).thenTypes('ExecutionStopRequested');
    running.when(aPlan({ stops: [stop], end, at })).thenTypes('ExecutionStopRequested', 'JobFailed');
    const reserved = spec.after(...JOB_PATHS.reserved);
    reserved.when(aPlan({ stops: [stop], at })).thenTypes('ExecutionCancelled', 'JobRequeued');
    spec
      .after(...JOB_PATHS.completed)
      .when(aPlan({ stops: [stop], end, at }))
      .thenRejected('JOB_TERMINAL');
  });

  it('A-82 a deferral is recorded when its reason changes, not at each look', () => {
    const reason = { side: 'job' as const, never: false, nodes: 1, also: 0 };
    const deferral = (number: number, code: string, nodes = 1): JobCommand => {
      const filtered = [{ ...reason, reason: code, nodes }];
      return aPlan({ deferrals: [aDecision({ number, outcome: 'deferred', eligible: 0, filtered })], at });
    };
    const first = spec.after(aSubmission(), deferral(1, 'capacity.cpu'));
    expect(first.history.map(({ type }) => type)).toEqual(['JobSubmitted', 'PlacementDecided']);
    first.when(deferral(2, 'capacity.cpu')).then();
    first.when(deferral(2, 'capacity.cpu', 5)).then();
    first.when(deferral(2, 'capacity.memory')).thenTypes('PlacementDecided');
    first.when(deferral(1, 'capacity.memory')).thenRejected('DECISION_OUTDATED');
    first.when(aPlacement(1, 21, { number: 2 })).thenTypes('PlacementDecided', 'ExecutionReserved');
  });
});

describe('priority, pause and resume', () => {
  it('a change of priority holds until the next', () => {
    const change = (priority: number): JobCommand => ({ type: 'ChangePriority', priority, at });
    spec
      .after(aSubmission(), change(90))
      .when(change(10))
      .then({ type: 'JobPriorityChanged', data: { priority: 10, at } });
    spec
      .after(aSubmission(), change(90))
      .when(change(50))
      .thenState((job) => job.priority === 50);
  });

  it('G-40 G-42 pausing keeps what has begun, with its contract', () => {
    for (const path of ['confirmed', 'running'] as const) {
      const paused = spec.after(...JOB_PATHS[path]).when(COMMANDS.PauseJob);
      paused.then({ type: 'JobPaused', data: { reason: 'maintenance', at } });
      paused.thenState((job) => job.paused && jobStateName(job) === 'paused' && job.partitions[0]!.state === 'live');
    }
  });

  it('pausing gives back what nobody has confirmed, at no cost, and nothing new is placed until the job is resumed', () => {
    const paused = spec.after(...JOB_PATHS.reserved, COMMANDS.PauseJob);
    expect(paused.state.executions['job-1.1']?.state).toBe('cancelled');
    expect(paused.state.partitions[0]).toMatchObject({ state: 'waiting', failures: 0 });
    expect(paused.state.exclusions).toEqual([]);
    paused.when(aPlacement(2, 21)).thenRejected('DECISION_OUTDATED');
    const resumed = spec.given(...paused.history, { type: 'JobResumed', data: { at } });
    resumed.when(aPlacement(2, 21)).thenState((job) => job.executions['job-1.2']?.attempt === 1);
  });

  it('a task that cannot be stopped in place goes back to the queue, where it waits for the end of the pause', () => {
    const paused = spec.after(...JOB_PATHS.paused);
    paused
      .when(aFailure(1, 21, { class: 'cancelled', code: 'stopped', message: 'cannot be paused here' }))
      .thenTypes('ExecutionCancelled', 'JobRequeued');
  });

  it('a node pauses and resumes the task that runs, more than once', () => {
    const pause = (second: number) => aReport(1, second, { type: 'pause' });
    const resume = (second: number) => aReport(1, second, { type: 'resume' });
    const twice = spec.after(...JOB_PATHS.running, pause(11), resume(12), pause(13));
    expect(jobStateName(twice.state)).toBe('paused');
    twice.when(resume(14)).thenState((job) => jobStateName(job) === 'running');
    twice.when(pause(14)).then();
  });
});

const SUCCESS = {
  type: 'succeed',
  exitCode: 0,
  artifacts: [],
  consumption: { cpuSeconds: 1, wallSeconds: 1, maxMemory: 1, maxDisk: 0, gpuSeconds: 0, bytesIn: 0, bytesOut: 0 },
} as const;
