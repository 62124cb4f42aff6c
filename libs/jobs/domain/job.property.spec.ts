import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { accept, fold } from '#kernel';
import { aConsumption, aDecision, aJobSpec, aPlacement, aPlan, aReport, aSubmission, second } from '#testing';
import type { JobCommand, ReportExecution } from './commands.js';
import { jobDecider } from './decide.js';
import type { Decision } from './decision.js';
import type { JobEvent, JobOutcome } from './events.js';
import { FAILURE_CLASSES, hasTargets, isEndless } from './job-spec.js';
import type { JobSpec, JobType } from './job-spec.js';
import { answerReport } from './report.js';
import { isLive, jobStateName, liveExecutions } from './state.js';
import type { JobState } from './state.js';

/*
 * Whatever order commands come in, whoever sends them and however often: these hold. A step is written as what happens
 * (node 2 fails execution 3), and becomes a command on the state it meets, so that most steps find something to change.
 */

type Step = (job: JobState, at: number) => JobCommand;

/** Mostly one that is live, else any of the job, rarely one that never was. */
const executionOf = (job: JobState, pick: number): number => {
  if (pick % 16 === 15) return 99;
  const live = liveExecutions(job).map(({ fencingToken }) => fencingToken);
  const all = Object.values(job.executions).map(({ fencingToken }) => fencingToken);
  const among = live.length > 0 && pick % 4 > 0 ? live : all;
  return among[pick % Math.max(1, among.length)] ?? 1;
};

const NODES = ['node-1', 'node-2', 'node-3'];

const report = (tail: Parameters<typeof aReport>[2]): fc.Arbitrary<Step> =>
  fc.record({ pick: fc.nat(63), honest: fc.nat(9) }).map(({ pick, honest }) => (job, at) => {
    const number = executionOf(job, pick);
    const execution = job.executions[`job-1.${number}`];
    const nodeId = honest === 0 ? 'node-9' : (execution?.nodeId ?? 'node-1');
    return aReport(number, at, tail, { nodeId, fencingToken: honest === 1 ? number + 1 : number });
  });

const aDeferral = (number: number, partition: number, reason: string): Decision =>
  aDecision({
    number,
    partition,
    outcome: 'deferred',
    filtered: [{ reason, side: 'job', never: false, nodes: 1, also: 0 }],
  });

/** Places as many of those that wait, defers the next, and stops one of those that are live. */
const wholePlan = fc
  .record({ places: fc.nat(3), node: fc.nat(2), stops: fc.nat(3), ends: fc.nat(49), off: fc.nat(9) })
  .map(({ places, node, stops, ends, off }): Step => (job, at) => {
    const waiting = job.partitions.flatMap(({ state }, index) => (state === 'waiting' ? [index] : []));
    const placements = waiting.slice(0, places).flatMap((partition, index) => {
      const [execution, number] = [job.reservations + 1 + index, job.decisions + 1 + index];
      return aPlacement(execution, at, { number, partition, nodeId: NODES[node]! }).placements;
    });
    const next = waiting[places];
    const number = job.decisions + placements.length + (off === 0 ? 2 : 1);
    const live = liveExecutions(job).slice(0, stops === 0 ? 1 : 0);
    return aPlan({
      placements,
      deferrals: next === undefined ? [] : [aDeferral(number, next, 'capacity.cpu')],
      stops: live.map(({ executionId }) => ({ executionId, cause: 'node-drained', reason: 'the node is drained' })),
      ...(ends === 0 ? { end: { class: 'policy', code: 'no-matching-nodes', message: 'none' } } : {}),
      at: second(at),
    });
  });

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Step>((_job, at) => aSubmission({ at: second(at) })) },
  {
    weight: 10,
    arbitrary: fc.tuple(fc.nat(3), fc.nat(2), fc.nat(9)).map(([partition, node, odd]): Step => (job, at) => {
      const waiting = job.partitions.findIndex(({ state }) => state === 'waiting');
      const number = job.decisions + (odd === 0 ? 2 : 1);
      const chosen = odd === 1 ? partition : Math.max(0, waiting);
      const nodeId = odd === 2 ? NODES[node]! : (job.partitions[chosen]?.target ?? NODES[node]!);
      const place = { number, partition: chosen, nodeId };
      return aPlacement(job.reservations + 1, at, place);
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('capacity.cpu', 'presence.offline').map((reason): Step => (job, at) => {
      const deferrals = [aDeferral(job.decisions + 1, 0, reason)];
      return aPlan({ deferrals, at: second(at) });
    }),
  },
  { weight: 4, arbitrary: wholePlan },
  ...(['confirm', 'prepare', 'start', 'pause', 'resume', 'publish'] as const).map((type) => ({
    weight: type === 'pause' || type === 'resume' ? 6 : 2,
    arbitrary: report({ type }),
  })),
  { weight: 2, arbitrary: report({ type: 'decline', reason: 'busy' }) },
  { weight: 2, arbitrary: fc.double().chain((fraction) => report({ type: 'progress', fraction })) },
  { weight: 4, arbitrary: report({ type: 'succeed', exitCode: 0, artifacts: [], consumption: aConsumption() }) },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom(...FAILURE_CLASSES)
      .chain((kind) => report({ type: 'fail', class: kind, code: 'some', message: 'why' })),
  },
  {
    weight: 3,
    arbitrary: fc.nat(63).map((pick): Step => (job, at) => ({
      type: 'ExpireReservation',
      executionId: `job-1.${executionOf(job, pick)}`,
      at: second(at),
    })),
  },
  {
    weight: 2,
    arbitrary: fc.nat(63).map((pick): Step => (job, at) => ({
      type: 'DeclareExecutionLost',
      executionId: `job-1.${executionOf(job, pick)}`,
      reason: 'silent',
      at: second(at),
    })),
  },
  {
    weight: 1,
    arbitrary: fc.nat(63).map((pick): Step => (job, at) => ({
      type: 'TimeOutExecution',
      executionId: `job-1.${executionOf(job, pick)}`,
      grace: pick % 8,
      at: second(at),
    })),
  },
  {
    weight: 1,
    arbitrary: fc.nat(63).map((pick): Step => (job, at) => ({
      type: 'StopExecution',
      executionId: `job-1.${executionOf(job, pick)}`,
      cause: pick % 2 ? 'node-drained' : 'no-longer-matches',
      reason: 'the node is drained',
      at: second(at),
    })),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.subarray([...NODES]), fc.subarray([...NODES], { maxLength: 1 }))
      .map(([added, removed]): Step => (_job, at) => ({
        type: 'ChangeTargets',
        evaluationId: 'e',
        position: '7',
        algorithm: '1',
        added: added.filter((nodeId) => !removed.includes(nodeId)),
        removed,
        at: second(at),
      })),
  },
  {
    weight: 1,
    arbitrary: fc.nat(15).map((partition): Step => (_job, at) => ({
      type: 'FailPartition',
      partition,
      class: 'infrastructure',
      code: 'some',
      message: 'why',
      at: second(at),
    })),
  },
  {
    weight: 1,
    arbitrary: fc.nat(3).map((pick): Step => (_job, at) => ({
      type: 'RecordEvaluationFailed',
      evaluationId: `e${pick}`,
      trigger: 'x',
      deliveries: 10,
      reason: 'away',
      at: second(at),
    })),
  },
  {
    weight: 1,
    arbitrary: fc.nat(3).map((pick): Step => (_job, at) => ({
      type: 'RecordEvaluationsSuperseded',
      by: 'e',
      evaluations: [{ evaluationId: `e${pick}`, trigger: 'x' }],
      at: second(at),
    })),
  },
  { weight: 1, arbitrary: fc.constant<Step>((_job, at) => ({ type: 'TimeOutJob', at: second(at) })) },
  {
    weight: 1,
    arbitrary: fc.nat(9).map((pick): Step => (job, at) => ({
      type: 'AbandonReservation',
      executionId: `job-1.${job.reservations + (pick % 3)}`,
      nodeId: 'node-1',
      at: second(at),
    })),
  },
  {
    weight: 1,
    arbitrary: fc
      .nat(100)
      .map((priority): Step => (_job, at) => ({ type: 'ChangePriority', priority, at: second(at) })),
  },
  { weight: 1, arbitrary: fc.constant<Step>((_job, at) => ({ type: 'PauseJob', reason: 'wait', at: second(at) })) },
  { weight: 2, arbitrary: fc.constant<Step>((_job, at) => ({ type: 'ResumeJob', at: second(at) })) },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom<JobOutcome>('completed', 'completed', 'completed', 'failed', 'cancelled')
      .map((outcome): Step => (job, at) => ({
        type: 'MeetDependencies',
        dependencies: (job.spec?.dependsOn ?? []).map((one) => ({ job: one.job, outcome })),
        at: second(at),
      })),
  },
  {
    weight: 1,
    arbitrary: fc.nat(9).map(
      (rare): Step =>
        (_job, at) =>
          rare > 2
            ? { type: 'ResumeJob', at: second(at) }
            : { type: 'CancelJob', reason: 'mistake', byUser: true, at: second(at) },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat(9).map(
      (rare): Step =>
        (_job, at) =>
          rare > 1
            ? { type: 'ResumeJob', at: second(at) }
            : { type: 'FailJob', class: 'timeout', code: 'total-timeout', message: 'too long', at: second(at) },
    ),
  },
);

const submission = fc
  .record({
    type: fc.constantFrom<JobType>('batch', 'batch', 'service', 'ops', 'daemon'),
    count: fc.integer({ min: 1, max: 4 }),
    dependsOn: fc.constantFrom<JobSpec['dependsOn']>([], [], [], [{ job: 'job-0', when: 'completed' }]),
    attempts: fc.integer({ min: 1, max: 4 }),
    on: fc.subarray([...FAILURE_CLASSES], { minLength: 5 }),
    bounds: fc.record(
      { queue: fc.integer({ min: 60, max: 600 }), run: fc.integer({ min: 1, max: 60 }) },
      { requiredKeys: [] },
    ),
  })
  .map(({ type, count, dependsOn, attempts, on, bounds }) =>
    aSubmission({
      spec: aJobSpec({
        type,
        dependsOn,
        count: hasTargets(type) ? 1 : count,
        retry: { ...aJobSpec().retry, attempts, on },
        timeouts: { confirm: 15, ...bounds },
      }),
    }),
  );

interface Taken {
  readonly command: JobCommand;
  readonly before: JobState;
  readonly events: readonly JobEvent[];
  readonly after: JobState;
}

/** A whole history: the submission, then each step on what the ones before left. */
const histories = fc
  .record({
    first: submission,
    then: fc.array(fc.tuple(steps, fc.nat(30)), { minLength: 1, maxLength: 60, size: 'max' }),
  })
  .map(({ first, then }) => {
    const taken: Taken[] = [];
    let state = jobDecider.initialState();
    let at = 0;
    const take = (command: JobCommand) => {
      const decision = jobDecider.decide(command, state);
      const events = decision.kind === 'accepted' ? decision.events : [];
      const after = fold(jobDecider, events, state);
      taken.push({ command, before: state, events, after });
      state = after;
    };
    take(first);
    for (const [step, wait] of then) take(step(state, (at += wait)));
    return { taken, events: taken.flatMap(({ events }) => events), state };
  });

const JOB_ENDS = ['JobCompleted', 'JobFailed', 'JobCancelled'];
const EXECUTION_ENDS = [
  'ExecutionSucceeded',
  'ExecutionFailed',
  'ExecutionLost',
  'ExecutionCancelled',
  'ReservationExpired',
  'ReservationDeclined',
];
const executionOfEvent = ({ data }: JobEvent): string => ('executionId' in data ? data.executionId : '');

const holds = (claim: (history: typeof histories extends fc.Arbitrary<infer H> ? H : never) => void, numRuns = 400) =>
  fc.assert(fc.property(histories, claim), { numRuns });

describe('whatever happens to a job', () => {
  it('A-46 A-80 A-86 it ends at most once, and each partition succeeds at most once', () => {
    holds(({ events, state }) => {
      expect(events.filter(({ type }) => JOB_ENDS.includes(type)).length).toBeLessThanOrEqual(1);
      if (!state.spec || isEndless(state.spec.type)) return;
      const won = events.filter(({ type }) => type === 'ExecutionSucceeded').map(executionOfEvent);
      const partitions = won.map((id) => state.executions[id]!.partition);
      expect(new Set(partitions).size).toBe(partitions.length);
      if (state.ended === 'completed') expect(partitions).toHaveLength(state.partitions.length);
    });
  });

  it('P-02 its end is stored with what ends it: none is ever missing', () => {
    holds(({ taken }) => {
      for (const { after } of taken.filter(({ after }) => after.exists))
        expect(jobDecider.decide({ type: 'EndIfOver', at: second(1e6) }, after)).toEqual(accept());
    });
  });

  it('S-03 S-05 a service or a daemon never completes, and a daemon fails by its time alone', () => {
    holds(({ taken, state }) => {
      if (!state.spec || !isEndless(state.spec.type)) return;
      expect(state.ended).not.toBe('completed');
      expect(state.partitions.some((partition) => partition.state === 'done')).toBe(false);
      if (state.spec.type !== 'daemon') return;
      const failing = taken.find(({ events }) => events.some(({ type }) => type === 'JobFailed'));
      if (!failing) return;
      // A plan may give the job up as well: `end` says what FailJob does.
      const given = failing.command.type === 'RecordPlan' && failing.command.end ? 'FailJob' : failing.command.type;
      expect(['FailJob', 'TimeOutJob', 'RecordPlan']).toContain(given);
    });
  });

  it('S-04 an ops job ends with the last of its partitions, completed when all are done and failed when one is not', () => {
    holds(({ taken, state }) => {
      if (state.spec?.type !== 'ops' || state.partitions.length === 0) return;
      const states = state.partitions.map((partition) => partition.state);
      const open = states.some((one) => one === 'waiting' || one === 'live');
      if (!open) expect(state.ended).toBeDefined();
      if (state.ended === 'completed') expect(new Set(states)).toEqual(new Set(['done']));
      const ends = taken.find(({ events }) => events.some(({ type }) => JOB_ENDS.includes(type)));
      if (!ends || ['FailJob', 'TimeOutJob', 'CancelJob', 'RecordPlan'].includes(ends.command.type)) return;
      if (state.ended === 'failed') expect(states).toContain('failed');
    });
  });

  it('G-55 nothing of it is placed before its dependencies are met, which is recorded once and with ends as asked', () => {
    holds(({ events, taken }) => {
      const met = events.filter(({ type }) => type === 'DependenciesMet');
      expect(met.length).toBeLessThanOrEqual(1);
      for (const { before, events: recorded } of taken) {
        const placing = recorded.some(({ type }) => ['PlacementDecided', 'TargetsChanged'].includes(type));
        if (before.blocked) expect([placing, liveExecutions(before).length]).toEqual([false, 0]);
        for (const event of recorded)
          if (event.type === 'DependenciesMet')
            expect(event.data.dependencies).toEqual([{ job: 'job-0', outcome: 'completed' }]);
      }
    });
  });

  it('S-04 S-05 each node has at most one partition, for ever the same, and runs nothing else of the job', () => {
    holds(({ taken, state }) => {
      if (!state.spec || !hasTargets(state.spec.type)) return;
      const targets = state.partitions.map(({ target }) => target);
      expect(targets).not.toContain(undefined);
      expect(new Set(targets).size).toBe(targets.length);
      for (const { nodeId, partition } of Object.values(state.executions)) expect(nodeId).toBe(targets[partition]);
      for (const { after } of taken)
        expect(targets.slice(0, after.partitions.length)).toEqual(after.partitions.map(({ target }) => target));
    });
  });

  it('S-05 what is live of a node that left is asked to stop, and nothing follows it', () => {
    holds(({ taken }) => {
      for (const { before, after } of taken) {
        for (const { partition, stopRequested } of liveExecutions(after))
          if (after.partitions[partition]!.leaving && !after.ended && after.cancelRequested === undefined)
            expect(stopRequested).toBeDefined();
        before.partitions.forEach(({ leaving }, index) => {
          const { state, leaving: still } = after.partitions[index]!;
          if (leaving && state !== 'live') expect([state, still]).toEqual(['removed', undefined]);
        });
      }
    });
  });

  it('S-02 S-03 never more is live than there are partitions, and of a batch or service no more than its count', () => {
    holds(({ taken }) => {
      for (const { after } of taken) {
        const { length } = liveExecutions(after);
        expect(length).toBeLessThanOrEqual(after.partitions.length);
        if (after.spec && !hasTargets(after.spec.type)) expect(after.partitions).toHaveLength(after.spec.count);
      }
    });
  });

  it('A-87 after its end nothing is recorded but the ends of live executions and late reports', () => {
    holds(({ events }) => {
      const end = events.findIndex(({ type }) => JOB_ENDS.includes(type));
      const after = end < 0 ? [] : events.slice(end + 1);
      expect(after.filter(({ type }) => ![...EXECUTION_ENDS, 'LateResultRejected'].includes(type))).toEqual([]);
    });
  });

  it('A-87 each execution ends at most once, and only late reports follow', () => {
    holds(({ events }) => {
      const over = new Set<string>();
      for (const event of events) {
        const id = executionOfEvent(event);
        if (over.has(id)) expect(event.type).toBe('LateResultRejected');
        if (EXECUTION_ENDS.includes(event.type)) over.add(id);
      }
    });
  });

  it('A-17 A-80 at most one execution of a partition is live, and exactly the live ones are marked', () => {
    holds(({ taken }) => {
      for (const { after } of taken) {
        const live = liveExecutions(after).map(({ partition }) => partition);
        expect(new Set(live).size).toBe(live.length);
        const marked = after.partitions.flatMap(({ state }, index) => (state === 'live' ? [index] : []));
        expect([...live].sort()).toEqual(marked);
      }
    });
  });

  it('P-03 a plan is recorded whole or not at all, its decisions numbered on from the last', () => {
    holds(({ taken, events }) => {
      const numbers = events.flatMap((event) => (event.type === 'PlacementDecided' ? [event.data.number] : []));
      expect(numbers).toEqual(numbers.map((_, index) => index + 1));
      for (const { command, before, events: recorded } of taken) {
        if (command.type !== 'RecordPlan' || recorded.length === 0) continue;
        const placed = recorded.flatMap((event) => (event.type === 'ExecutionReserved' ? [event.data.partition] : []));
        expect(placed).toEqual(command.placements.map(({ decision }) => decision.partition));
        expect(placed.every((partition) => before.partitions[partition]?.state === 'waiting')).toBe(true);
      }
    });
  });

  it('A-86 fencing tokens rise strictly, and only the current one moves anything', () => {
    holds(({ events }) => {
      const tokens = events.flatMap((event) => (event.type === 'ExecutionReserved' ? [event.data.fencingToken] : []));
      expect(tokens).toEqual(tokens.map((_, index) => index + 1));
    });
  });

  it('A-90 attempts of a partition count up by the tries that ran', () => {
    holds(({ events, state }) => {
      const attempts = state.partitions.map(() => 0);
      for (const event of events) {
        if (event.type !== 'ExecutionReserved') continue;
        const { partition, attempt } = event.data;
        expect(attempt - attempts[partition]!).toBeGreaterThanOrEqual(attempts[partition] === 0 ? 1 : 0);
        expect(attempt - attempts[partition]!).toBeLessThanOrEqual(1);
        if (!isEndless(state.spec!.type)) expect(attempt).toBeLessThanOrEqual(state.spec!.retry.attempts);
        attempts[partition] = attempt;
      }
    });
  });

  it('A-22 A-84 only an unconfirmed reservation expires, at or after its deadline', () => {
    holds(({ taken }) => {
      for (const { events, before } of taken) {
        for (const event of events) {
          if (event.type !== 'ReservationExpired') continue;
          const execution = before.executions[event.data.executionId]!;
          expect(execution.state).toBe('reserved');
          expect(event.data.at >= execution.confirmBy).toBe(true);
        }
      }
    });
  });

  it('A-85 nothing is forgotten: a job that goes on, has for each partition an execution, a success or a place in the queue', () => {
    holds(({ taken }) => {
      for (const { after, events } of taken) {
        if (after.ended || !after.exists) continue;
        if (after.cancelRequested !== undefined) expect(liveExecutions(after).length).toBeGreaterThan(0);
        for (const event of events) {
          if (!EXECUTION_ENDS.includes(event.type) || after.cancelRequested !== undefined) continue;
          const { partition } = after.executions[executionOfEvent(event)]!;
          if (['done', 'failed', 'removed'].includes(after.partitions[partition]!.state)) continue;
          const queued = events.some((other) => other.type === 'JobRequeued' && other.data.partition === partition);
          expect(queued).toBe(true);
        }
      }
    });
  });

  it('the state is the fold of the events, and survives storage as JSON', () => {
    holds(({ events, state }) => {
      expect(fold(jobDecider, events)).toEqual(state);
      expect(fold(jobDecider, JSON.parse(JSON.stringify(events)) as JobEvent[])).toEqual(state);
      const names = ['blocked', 'queued', 'reserved', 'running', 'paused', 'completed', 'failed', 'cancelled'];
      expect(names).toContain(jobStateName(state));
    }, 300);
  });

  it('A-86 the same report twice leaves the second time no event, and gets the same answer', () => {
    holds(({ taken }) => {
      for (const { command, after } of taken) {
        if (command.type !== 'ReportExecution') continue;
        const again = jobDecider.decide(command, after);
        if (again.kind === 'accepted') expect(again.events).toEqual([]);
        expect(answerAfter(after, command)).toEqual(answerReport(after, command.nodeId, command.report));
      }
    });
  });

  it('the same command twice, whatever it is, changes nothing the second time', () => {
    holds(({ taken }) => {
      for (const { command, after } of taken) {
        const again = jobDecider.decide(command, after);
        if (again.kind === 'accepted') expect(again.events).toEqual([]);
      }
    });
  });

  it('A-86 what was reported as accepted and ended an execution is accepted for ever', () => {
    holds(({ taken, state }) => {
      for (const { command, events } of taken) {
        if (command.type !== 'ReportExecution' || !['succeed', 'fail', 'decline'].includes(command.report.type))
          continue;
        if (!events.some(({ type }) => EXECUTION_ENDS.includes(type))) continue;
        expect(answerReport(state, command.nodeId, command.report).accepted).toBe(true);
      }
    });
  });

  it('late reports are recorded once per execution and kind', () => {
    holds(({ events }) => {
      const late = events.flatMap((event) =>
        event.type === 'LateResultRejected' ? [`${event.data.executionId} ${event.data.report}`] : [],
      );
      expect(new Set(late).size).toBe(late.length);
    });
  });

  it('deciding never changes the state it looks at', () => {
    holds(({ taken, state }) => {
      const before = JSON.stringify(state);
      for (const { command } of taken) jobDecider.decide(command, state);
      expect(JSON.stringify(state)).toBe(before);
      expect(Object.values(state.executions).filter(isLive)).toEqual(liveExecutions(state));
    }, 200);
  });

  it('histories reach every kind of event', () => {
    const found = fc
      .sample(histories, { numRuns: 1000, seed: 1 })
      .flatMap(({ events }) => events.map(({ type }) => type));
    const seen = new Set(found);
    expect(Object.keys(EVERY).filter((type) => !seen.has(type as JobEvent['type']))).toEqual([]);
  });
});

const EVERY: Readonly<Record<JobEvent['type'], true>> = {
  JobSubmitted: true,
  JobPriorityChanged: true,
  JobPaused: true,
  JobResumed: true,
  DependenciesMet: true,
  TargetsChanged: true,
  PlacementDecided: true,
  ExecutionReserved: true,
  ReservationConfirmed: true,
  ReservationDeclined: true,
  ReservationExpired: true,
  ReservationAbandoned: true,
  ExecutionPreparing: true,
  ExecutionStarted: true,
  ExecutionProgressed: true,
  ExecutionPaused: true,
  ExecutionResumed: true,
  ExecutionPublishing: true,
  ExecutionSucceeded: true,
  ExecutionFailed: true,
  ExecutionLost: true,
  ExecutionStopRequested: true,
  ExecutionTimedOut: true,
  ExecutionCancelled: true,
  LateResultRejected: true,
  JobRequeued: true,
  PartitionFailed: true,
  EvaluationFailed: true,
  EvaluationsSuperseded: true,
  JobCancelRequested: true,
  JobCompleted: true,
  JobFailed: true,
  JobCancelled: true,
};

const answerAfter = (job: JobState, command: ReportExecution) => {
  const again = jobDecider.decide(command, job);
  const state = fold(jobDecider, again.kind === 'accepted' ? again.events : [], job);
  return answerReport(state, command.nodeId, command.report);
};
