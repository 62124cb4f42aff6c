import { describe, expect, it } from '@jest/globals';
import type { Decider } from '#kernel';
import { jobDecider } from '#jobs';
import type { JobCommand, JobEvent } from '#jobs';
import { nodeDecider } from '#nodes';
import type { NodeCommand, NodeEvent } from '#nodes';
import { projectDecider } from '#projects';
import {
  aContract,
  anEnrollment,
  anInventory,
  aJobSpec,
  aPlacement,
  aPolicy,
  aProject,
  aReport,
  aReservation,
  aSuccess,
  aSubmission,
  aTargetChange,
  EXECUTION_PATHS,
  JOB_PATHS,
  second,
} from '#testing';
import { currentVersion, EVENT_TYPES } from './registry.js';
import { validateEvent } from './schemas.js';

/* The schemas must describe what the deciders really decide, not what somebody thinks they do. */

interface Decided {
  readonly type: string;
  readonly data: object;
}

/** All events of the commands, each decided on the state that the ones before it left. */
const decided = <Command, Event extends Decided, State>(
  decider: Decider<Command, Event, State>,
  commands: readonly Command[],
): Decided[] => {
  let state = decider.initialState();
  return commands.flatMap((command) => {
    const decision = decider.decide(command, state);
    if (decision.kind === 'rejected') throw new Error(`${JSON.stringify(command)}: ${decision.rejection.message}`);
    for (const event of decision.events) state = decider.evolve(state, event);
    return decision.events;
  });
};

const pathsOf = (paths: Readonly<Record<string, readonly JobCommand[]>>): Decided[] =>
  Object.values(paths).flatMap((commands) => decided<JobCommand, JobEvent, unknown>(jobDecider as never, commands));

const { running, completed } = JOB_PATHS;
const drained = { cause: 'node-drained', reason: 'drained' } as const;
const extra: readonly (readonly JobCommand[])[] = [
  [aSubmission({ spec: aJobSpec({ task: { command: [], env: {}, image: 'quay.io/lab/tool:1' } }) })],
  [aSubmission(), { type: 'ChangePriority', priority: 80, at: second(1) }],
  [
    ...JOB_PATHS.blocked,
    {
      type: 'MeetDependencies',
      dependencies: [{ job: 'job-0', outcome: 'completed' }],
      inputs: [{ source: 'job:job-0/grid.nc', sha256: 'a'.repeat(64), size: 7 }],
      at: second(5),
    },
  ],
  [...running, { type: 'PauseJob', reason: 'hold', at: second(5) }, { type: 'ResumeJob', at: second(6) }],
  [...running, { type: 'StopExecution', executionId: 'job-1.1', ...drained, at: second(9) }],
  [
    aSubmission({ spec: aJobSpec({ timeouts: { confirm: 15, run: 10 } }) }),
    aPlacement(1, 1),
    aReport(1, 2, { type: 'start' }),
    { type: 'TimeOutExecution', executionId: 'job-1.1', grace: 0.7, at: second(13) },
  ],
  [...running, aReport(1, 5, { type: 'pause' }), aReport(1, 6, { type: 'resume' })],
  [...running, aReport(1, 5, { type: 'progress', fraction: 0.6, message: 'half' })],
  [...completed, aReport(1, 11, { type: 'start' }, { fencingToken: 0 })],
  [aSubmission(), { type: 'AbandonReservation', executionId: 'job-1.9', nodeId: 'node-1', at: second(1) }],
  [...EXECUTION_PATHS.failed, aPlacement(2, 90)],
  [
    aSubmission(),
    { type: 'RecordEvaluationFailed', evaluationId: 'e', trigger: 'x', deliveries: 3, reason: 'away', at: second(1) },
    {
      type: 'RecordEvaluationsSuperseded',
      by: 'f',
      evaluations: [{ evaluationId: 'g', trigger: 'x' }],
      at: second(2),
    },
  ],
  [aSubmission(), aPlacement(1), aReport(1, 3, { type: 'confirm', contract: aContract({ memory: 1 }) })],
  [aSubmission(), { type: 'FailJob', class: 'timeout', code: 'queue-timeout', message: 'timed out', at: second(9) }],
];

/** Of a job on two nodes: one is given up, the other taken away while it runs. */
const onNodes: readonly JobCommand[] = [
  aSubmission({ spec: aJobSpec({ type: 'daemon' }) }),
  aTargetChange(['node-1', 'node-2'], 1),
  aPlacement(1, 2),
  aReport(1, 3, { type: 'start' }),
  aSuccess(1, 5),
  { type: 'FailPartition', partition: 1, class: 'policy', code: 'closed', message: 'closed', at: second(6) },
  aPlacement(2, 20),
  aReport(2, 21, { type: 'start' }),
  aTargetChange([], 30, { removed: ['node-1', 'node-2'] }),
];

const node: readonly NodeCommand[] = [
  anEnrollment({ policy: aPolicy({ maxDuration: 3600 }) }),
  { type: 'ChangeInventory', inventory: anInventory({ cpu: 3 }), at: second(1) },
  {
    type: 'ChangeInventory',
    inventory: anInventory({ container: { engine: 'podman', version: '4.3.1' } }),
    at: second(1),
  },
  { type: 'ChangePolicy', policy: aPolicy({ maxShare: { demo: 0.5 } }), at: second(2) },
  { type: 'MarkOnline', at: second(3) },
  aReservation(),
  {
    type: 'ReduceCapacity',
    executionId: aReservation().executionId,
    contract: aContract({ memory: 1 }),
    at: second(4),
  },
  { type: 'ReleaseCapacity', executionId: aReservation().executionId, cause: 'succeeded', at: second(5) },
  { type: 'CordonNode', reason: 'fan', at: second(6) },
  { type: 'UncordonNode', at: second(7) },
  { type: 'DrainNode', reason: 'moves', deadline: second(99), at: second(8) },
  { type: 'ReportLatency', roundTrip: 0.2, at: second(8) },
  { type: 'ReportCache', held: ['a'.repeat(64)], at: second(8) },
  { type: 'ChangePool', pool: { name: 'gpu', discipline: 'backfill' }, at: second(9) },
  { type: 'ChangePool', pool: null, at: second(10) },
  { type: 'MarkOffline', lastSeenAt: second(8), reason: 'silent', at: second(30) },
];

const events = [
  ...pathsOf(EXECUTION_PATHS),
  ...pathsOf(JOB_PATHS),
  ...pathsOf({ onNodes }),
  ...pathsOf(Object.fromEntries(extra.map((commands, index) => [index, commands]))),
  ...decided<NodeCommand, NodeEvent, unknown>(nodeDecider as never, node),
  ...decided(projectDecider, [aProject()]),
];

describe('what the deciders decide', () => {
  it.each(EVENT_TYPES)('%s fits its schema', (type) => {
    const ofType = events.filter((event) => event.type === type);
    expect(ofType.length).toBeGreaterThan(0);
    const mistakes = ofType.flatMap(({ data }) => validateEvent(type, currentVersion(type), data));
    expect(mistakes).toEqual([]);
  });
});
