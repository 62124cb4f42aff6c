import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { jobDecider, jobStateName, jobStream } from '#jobs';
import { fold, toInstant } from '#kernel';
import { projectInMemory, recordedLog } from '#read-store/testing';
import { aContract, aDecision, aJobSpec } from '#testing';
import { jobsProjection } from './index.js';
import type { JobEvent, JobSpec } from '#jobs';
import type { DecisionRow, ExecutionRow, JobRow, JobTimelineRow } from './index.js';

const at = toInstant(1_764_000_000_000);
const later = toInstant(1_764_000_060_000);

const submitted = (count = 1, change: Partial<JobSpec> = {}): JobEvent => ({
  type: 'JobSubmitted',
  data: {
    jobId: 'job-1',
    spec: aJobSpec({ count, labels: { study: 'coral' }, ...change }),
    account: 'ana',
    institution: 'usp',
    evaluationId: 'evaluation-1',
    fingerprint: 'fingerprint',
    at,
  },
});

const reserved = (executionId = 'job-1.1', partition = 0, attempt = 1): JobEvent => ({
  type: 'ExecutionReserved',
  data: {
    executionId,
    partition,
    attempt,
    nodeId: 'node-1',
    fencingToken: attempt,
    contract: aContract(),
    confirmBy: later,
    at,
  },
});

const started = (executionId = 'job-1.1'): JobEvent => ({ type: 'ExecutionStarted', data: { executionId, at: later } });

const consumption = { cpuSeconds: 1, wallSeconds: 1, maxMemory: 1, maxDisk: 0, gpuSeconds: 0, bytesIn: 0, bytesOut: 0 };
const artifact = { path: 'result.json', sha256: 'a'.repeat(64), size: 12, mediaType: 'application/json' };

const succeeded = (executionId = 'job-1.1'): JobEvent => ({
  type: 'ExecutionSucceeded',
  data: { executionId, exitCode: 0, artifacts: [artifact], consumption, at: later },
});

const failed = (executionId = 'job-1.1'): JobEvent => ({
  type: 'ExecutionFailed',
  data: {
    executionId,
    class: 'application',
    code: 'exit-code',
    message: 'exit code 3',
    exitCode: 3,
    diagnostics: { lastLine: 'out of beans' },
    artifacts: [],
    at: later,
  },
});

const targets = (added: readonly [number, string][], removed: readonly number[] = []): JobEvent => ({
  type: 'TargetsChanged',
  data: {
    evaluationId: 'evaluation-1',
    position: '1',
    algorithm: '1',
    added: added.map(([partition, nodeId]) => ({ partition, nodeId })),
    removed,
    at,
  },
});

const givenUp = (partition: number): JobEvent => ({
  type: 'PartitionFailed',
  data: { partition, class: 'application', code: 'exit-code', message: 'exit code 3', at: later },
});

interface Rows {
  readonly jobs: readonly (JobRow & { revision: string; position: string })[];
  readonly executions: readonly ExecutionRow[];
  readonly job_timeline: readonly JobTimelineRow[];
  readonly decisions: readonly DecisionRow[];
}

const rowsAfter = (...events: readonly JobEvent[]): Rows =>
  projectInMemory(jobsProjection, recordedLog(events.map((event) => [jobStream('job-1'), event]))) as unknown as Rows;

describe('the jobs projection', () => {
  it('shows a submitted job as queued, with its spec and where it stands', () => {
    const [job] = rowsAfter(submitted()).jobs;
    expect(job).toMatchObject({ id: 'job-1', name: 'primes', state: 'queued', attempt: 0, labels: { study: 'coral' } });
    expect(job).toMatchObject({ revision: '0', position: '137', stateSince: at, submittedAt: at });
  });

  it('G-55 shows a job that waits for others as blocked, naming them, and as queued from when they have ended', () => {
    const blocked = submitted(1, { dependsOn: ['a', 'b'].map((job) => ({ job, when: 'completed' as const })) });
    const paused: JobEvent = { type: 'JobPaused', data: { reason: 'lunch', at } };
    const resumed: JobEvent = { type: 'JobResumed', data: { at } };
    const dependencies = ['a', 'b'].map((job) => ({ job, outcome: 'completed' as const }));
    const met: JobEvent = { type: 'DependenciesMet', data: { dependencies, at: later } };
    const seen = [[], [paused], [paused, resumed], [met], [paused, met], [paused, met, resumed]].map((events) => {
      const [job] = rowsAfter(blocked, ...events).jobs;
      return [job?.state, job?.reason, job?.stateSince];
    });
    expect(seen).toEqual([
      ['blocked', 'waits for jobs a, b', at],
      ['paused', 'paused: lunch', at],
      ['blocked', 'waits for other jobs', at],
      ['queued', 'waits for its first look at the nodes', later],
      ['paused', 'paused: lunch', at],
      ['queued', 'resumed', at],
    ]);
    const titles = rowsAfter(blocked, met).job_timeline.map(({ title }) => title);
    expect(titles.at(-1)).toBe('What it waited for has ended: job a completed, job b completed');
  });

  it('says why a job waits, in one line and with every reason', () => {
    const filtered = [
      { reason: 'capacity.memory', side: 'job', never: false, nodes: 2, also: 0, asked: '64 GiB', best: '16 GiB' },
    ] as const;
    const decision = aDecision({ outcome: 'deferred', considered: 2, eligible: 0, filtered });
    const rows = rowsAfter(submitted(), { type: 'PlacementDecided', data: decision });
    expect(rows.jobs[0]).toMatchObject({ state: 'queued', decisions: 1, waitingOn: filtered });
    expect(rows.jobs[0]?.reason).toMatch(/2 nodes.*64 GiB/s);
    expect(rows.decisions).toEqual([
      {
        jobId: 'job-1',
        number: 1,
        outcome: 'deferred',
        winner: 'node-1',
        runnerUp: null,
        time: decision.time,
        position: '274',
        decision,
      },
    ]);
  });

  it('follows a run to its result', () => {
    const rows = rowsAfter(submitted(), reserved(), started(), succeeded(), {
      type: 'JobCompleted',
      data: { at: later },
    });
    expect(rows.jobs[0]).toMatchObject({
      state: 'completed',
      startedAt: later,
      endedAt: later,
      progress: 1,
      reason: null,
    });
    expect(rows.executions[0]).toMatchObject({ state: 'succeeded', exitCode: 0, artifacts: [artifact], consumption });
    expect(rows.job_timeline.map(({ title }) => title)).toEqual([
      'ana submitted the job to project demo',
      `Attempt 1 reserved on node-1, to be confirmed by ${later}`,
      'Started',
      'Succeeded with exit code 0 and 1 artifact',
      'Completed',
    ]);
  });

  it('R-05 keeps the last real error in sight while the job is tried again', () => {
    const again: JobEvent = {
      type: 'JobRequeued',
      data: { partition: 0, cause: 'application', message: 'exit code 3', notBefore: later, at: later },
    };
    const [job] = rowsAfter(submitted(), reserved(), started(), failed(), again).jobs;
    expect(job).toMatchObject({
      state: 'queued',
      notBefore: later,
      failure: { code: 'exit-code', message: 'exit code 3' },
    });
  });

  it('R-03 says with how much memory it is tried again', () => {
    const data = { partition: 0, cause: 'resource' as const, message: 'the task ran out of memory', notBefore: later };
    const again: JobEvent = { type: 'JobRequeued', data: { ...data, memory: 6 * 1024 ** 3, at: later } };
    const rows = rowsAfter(submitted(), reserved(), started(), again);
    expect(rows.jobs[0]?.reason).toBe(`tried again after ${later} with 6 GiB of memory: the task ran out of memory`);
    expect(rows.job_timeline.at(-1)?.title).toBe(
      'Waits to be tried again with 6 GiB of memory: the task ran out of memory',
    );
  });

  it('S-02 is running while any partition runs, and counts those that succeeded', () => {
    const first = rowsAfter(submitted(2), reserved('job-1.1', 0), reserved('job-1.2', 1), started('job-1.1'));
    expect(first.jobs[0]).toMatchObject({ state: 'running', liveReserved: 1, liveRunning: 1 });
    const second = rowsAfter(submitted(2), reserved('job-1.1', 0), reserved('job-1.2', 1), started(), succeeded());
    expect(second.jobs[0]).toMatchObject({ state: 'reserved', succeeded: 1, progress: 0.5 });
  });

  it('S-04 an ops job has as many parts as it found nodes; those that are given up are told apart from those that succeeded', () => {
    const onTwo = [
      submitted(1, { type: 'ops' }),
      targets([
        [0, 'node-1'],
        [1, 'node-2'],
      ]),
    ];
    expect(rowsAfter(submitted(1, { type: 'ops' })).jobs[0]).toMatchObject({ state: 'queued', count: 0 });
    expect(rowsAfter(...onTwo).jobs[0]).toMatchObject({ count: 2, failedPartitions: [] });
    const both = [...onTwo, reserved('job-1.1', 0), reserved('job-1.2', 1), started('job-1.1'), started('job-1.2')];
    expect(rowsAfter(...both).jobs[0]).toMatchObject({ state: 'running', liveRunning: 2 });
    const [job] = rowsAfter(...both, failed('job-1.1'), givenUp(0), succeeded('job-1.2')).jobs;
    expect(job).toMatchObject({ count: 2, succeeded: 1, failedPartitions: [0], liveRunning: 0, progress: 0.5 });
    expect(job?.failure).toEqual({ class: 'application', code: 'exit-code', message: 'exit code 3' });
  });

  it('S-05 a daemon has as many parts as nodes match it now, and one that is back is given up no more', () => {
    const onTwo = [
      submitted(1, { type: 'daemon' }),
      targets([
        [0, 'node-1'],
        [1, 'node-2'],
      ]),
    ];
    const both = [...onTwo, reserved('job-1.1', 0), reserved('job-1.2', 1), started('job-1.1'), started('job-1.2')];
    const cancelled: JobEvent = {
      type: 'ExecutionCancelled',
      data: { executionId: 'job-1.1', reason: 'it matches no more', at: later },
    };
    const left = [...both, failed('job-1.1'), givenUp(0), targets([], [0])];
    expect(rowsAfter(...both, givenUp(0)).jobs[0]?.failedPartitions).toEqual([0]);
    expect(rowsAfter(...left).jobs[0]).toMatchObject({
      state: 'running',
      count: 1,
      failedPartitions: [],
      liveRunning: 1,
    });
    expect(rowsAfter(...both, targets([], [0]), cancelled).jobs[0]).toMatchObject({ count: 1, liveRunning: 1 });
    const back = rowsAfter(
      ...left,
      targets([
        [0, 'node-1'],
        [2, 'node-3'],
      ]),
    ).jobs[0];
    expect(back).toMatchObject({ count: 3, failedPartitions: [], liveRunning: 1 });
  });

  it.each(['service', 'daemon'] as const)('S-03 S-05 what ends well of a %s is no progress: it goes on', (type) => {
    const begun = [
      submitted(2, { type }),
      ...(type === 'daemon'
        ? [
            targets([
              [0, 'node-1'],
              [1, 'node-2'],
            ]),
          ]
        : []),
    ];
    const rows = rowsAfter(...begun, reserved('job-1.1', 0), reserved('job-1.2', 1), started(), succeeded());
    expect(rows.jobs[0]).toMatchObject({ count: 2, succeeded: 0, progress: 0, liveReserved: 1, liveRunning: 0 });
  });

  it('leaves spec and decisions out of the timeline, which other tables hold', () => {
    const rows = rowsAfter(submitted(), { type: 'PlacementDecided', data: aDecision() });
    expect(rows.job_timeline[0]?.data).not.toHaveProperty('spec');
    expect(rows.job_timeline[1]?.data).not.toHaveProperty('ranking');
  });
});

/** Any event after the submission, in any order: the fold is total, and so must be the projection. */
const anyEvent = (): fc.Arbitrary<JobEvent> => {
  const id = fc.constantFrom('job-1.1', 'job-1.2', 'job-1.3');
  const about = (type: JobEvent['type'], more: object = {}): fc.Arbitrary<JobEvent> =>
    id.map((executionId) => ({ type, data: { executionId, at: later, ...more } }) as unknown as JobEvent);
  const plain = (type: JobEvent['type'], more: object = {}): fc.Arbitrary<JobEvent> =>
    fc.constant({ type, data: { at: later, ...more } } as unknown as JobEvent);
  return fc.oneof(
    fc.record({ id, partition: fc.integer({ min: 0, max: 2 }) }).map((claim) => reserved(claim.id, claim.partition)),
    about('ReservationConfirmed'),
    about('ReservationConfirmed', { contract: aContract({ memory: 7, batchSize: 3 }) }),
    about('ReservationDeclined', { reason: 'busy' }),
    about('ReservationExpired', { confirmBy: later }),
    about('ReservationAbandoned', { nodeId: 'node-1' }),
    about('ExecutionPreparing'),
    about('ExecutionStarted'),
    about('ExecutionProgressed', { fraction: 0.5, message: '' }),
    about('ExecutionPaused'),
    about('ExecutionResumed'),
    about('ExecutionPublishing'),
    id.map(succeeded),
    id.map(failed),
    about('ExecutionLost', { reason: 'silent' }),
    about('ExecutionCancelled', { reason: 'stop' }),
    about('LateResultRejected', { report: 'fail', nodeId: 'node-1', fencingToken: 1, reason: 'over' }),
    plain('JobPriorityChanged', { priority: 7 }),
    plain('JobPaused', { reason: 'lunch' }),
    plain('JobResumed'),
    plain('JobRequeued', { partition: 0, cause: 'node-lost', message: 'silent', notBefore: later }),
    plain('JobCancelRequested', { reason: 'enough', byUser: true }),
    plain('EvaluationFailed', { evaluationId: 'e', trigger: 'x', deliveries: 10, reason: 'away' }),
    plain('EvaluationsSuperseded', { by: 'e', evaluations: [{ evaluationId: 'f', trigger: 'x' }] }),
    plain('PartitionFailed', { partition: 1, class: 'application', code: 'exit-code', message: 'exit code 3' }),
    about('ExecutionStopRequested', { cause: 'no-longer-matches', reason: 'it matches no more' }),
    about('ExecutionTimedOut', { limit: 60 }),
    plain('JobCompleted'),
    plain('JobFailed', { class: 'application', code: 'exit-code', message: 'exit code 3' }),
    plain('JobCancelled', { reason: 'enough' }),
    fc.constant<JobEvent>({ type: 'PlacementDecided', data: aDecision({ outcome: 'deferred' }) }),
  );
};

describe('the jobs projection and the domain', () => {
  it('agree on the state of the job and of every execution, whatever the history', () => {
    fc.assert(
      fc.property(fc.array(anyEvent(), { maxLength: 40 }), (events) => {
        const history = [submitted(3), ...events];
        const state = fold(jobDecider, history);
        const rows = rowsAfter(...history);
        expect(rows.jobs[0]?.state).toBe(jobStateName(state));
        expect(rows.jobs[0]?.priority).toBe(state.priority);
        const states = Object.values(state.executions).map(({ executionId, state: name }) => [executionId, name]);
        expect(rows.executions.map(({ executionId, state: name }) => [executionId, name])).toEqual(states.sort());
        for (const row of rows.executions) expect(row.contract).toEqual(state.executions[row.executionId]?.contract);
        expect(rows.job_timeline).toHaveLength(history.length);
      }),
      { numRuns: 300 },
    );
  });
});
