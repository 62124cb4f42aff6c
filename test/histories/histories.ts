import { countingIds, fold, toMillis } from '#kernel';
import type { Decider } from '#kernel';
import { jobDecider } from '#jobs';
import type { JobCommand } from '#jobs';
import { nodeDecider } from '#nodes';
import type { NodeCommand } from '#nodes';
import {
  aConfirmation,
  aFailure,
  aJobSpec,
  anEnrollment,
  anInventory,
  aPlacement,
  aReport,
  aReservation,
  aSubmission,
  aSuccess,
  aTargetChange,
  second,
} from '#testing';

/*
 * Whole lives of a job, and of the node under one, as they are recorded. The commands here say only how a history came to
 * be; what counts from then on is the file. Ids, times and positions are fixed.
 */

/** One line of a recorded history: an event as the store hands it out, numbers beyond 2⁵³ as text. */
export interface RecordedLine {
  readonly stream: string;
  readonly revision: string;
  readonly position: string;
  readonly id: string;
  readonly type: string;
  readonly data: object;
  readonly metadata: { readonly schemaVersion: number; readonly actor: string; readonly $correlationId: string };
  readonly recordedAt: number;
}

const start = (execution: number, at: number, nodeId = 'node-1'): JobCommand =>
  aReport(execution, at, { type: 'start' }, { nodeId });
const cancel = (at: number): JobCommand => ({ type: 'CancelJob', reason: 'wrong data', byUser: true, at: second(at) });
const lost = (execution: number, at: number): JobCommand => ({
  type: 'DeclareExecutionLost',
  executionId: `job-1.${execution}`,
  reason: 'node-1 was silent for 75 s',
  at: second(at),
});
const elsewhere = { nodeId: 'node-2' };

const JOBS: Readonly<Record<string, readonly JobCommand[]>> = {
  'job-completed': [
    aSubmission(),
    aPlacement(1, 1),
    aConfirmation(1, 2),
    aReport(1, 3, { type: 'prepare' }),
    start(1, 5),
    aReport(1, 8, { type: 'progress', fraction: 0.5, message: 'half of the numbers' }),
    aReport(1, 11, { type: 'publish' }),
    aSuccess(1, 12),
  ],
  'job-in-a-container': [
    aSubmission({ spec: aJobSpec({ task: { command: [], env: {}, image: 'quay.io/lab/tool:1.2' } }) }),
    aPlacement(1, 1),
    aReport(1, 3, { type: 'prepare' }),
    aFailure(1, 10, { class: 'input', code: 'image-unavailable', message: 'the image cannot be had', exitCode: 125 }),
  ],
  'job-expired-then-completed-elsewhere': [
    aSubmission(),
    aPlacement(1, 1),
    { type: 'ExpireReservation', executionId: 'job-1.1', at: second(16) },
    aPlacement(2, 17, elsewhere),
    aConfirmation(2, 18, elsewhere),
    aConfirmation(1, 19),
    start(2, 20, 'node-2'),
    aSuccess(2, 30, elsewhere),
  ],
  'job-failed-alike-on-two-nodes': [
    aSubmission(),
    aPlacement(1, 1),
    start(1, 2),
    aFailure(1, 10),
    aPlacement(2, 20, elsewhere),
    start(2, 21, 'node-2'),
    aFailure(2, 30, {}, elsewhere),
    aPlacement(3, 50),
    start(3, 51),
    aFailure(3, 60, { message: 'the sandbox did not start, again', exitCode: 125 }),
  ],
  'job-waited-for-two-branches': [
    aSubmission({
      spec: aJobSpec({
        dependsOn: [
          { job: 'job-left', when: 'completed' },
          { job: 'job-right', when: 'terminal' },
        ],
        timeouts: { confirm: 15, queue: 60 },
      }),
    }),
    { type: 'ChangePriority', priority: 70, at: second(30) },
    {
      type: 'MeetDependencies',
      dependencies: [
        { job: 'job-left', outcome: 'completed' },
        { job: 'job-right', outcome: 'cancelled' },
      ],
      at: second(90),
    },
    aPlacement(1, 91),
    start(1, 92),
    aSuccess(1, 99),
  ],
  'job-dependency-impossible': [
    aSubmission({ spec: aJobSpec({ dependsOn: [{ job: 'job-left', when: 'failed' }] }) }),
    { type: 'PauseJob', reason: 'wait', at: second(10) },
    {
      type: 'FailJob',
      class: 'policy',
      code: 'dependency-impossible',
      message: 'waits for job job-left to be failed, and it is completed',
      at: second(90),
    },
  ],
  'job-run-timed-out-then-retried': [
    aSubmission({
      spec: aJobSpec({
        retry: { ...aJobSpec().retry, on: ['timeout'] },
        timeouts: { confirm: 15, run: 10 },
      }),
    }),
    aPlacement(1, 1),
    start(1, 2),
    { type: 'TimeOutExecution', executionId: 'job-1.1', grace: 0.7, at: second(12.7) },
    aFailure(1, 20, { class: 'cancelled', code: 'stopped', message: 'stopped as the control plane asked' }),
    aPlacement(2, 31, elsewhere),
    start(2, 32, 'node-2'),
    { type: 'TimeOutExecution', executionId: 'job-1.2', grace: 0.7, at: second(42.7) },
    lost(2, 120),
    aPlacement(3, 141),
    start(3, 142),
    { type: 'TimeOutExecution', executionId: 'job-1.3', grace: 0.7, at: second(152.7) },
  ],
  'job-out-of-memory-then-completed': [
    aSubmission({
      spec: aJobSpec({ retry: { ...aJobSpec().retry, memory: { factor: 1.5, max: 2 * 1024 ** 3 } } }),
    }),
    aPlacement(1, 1),
    start(1, 2),
    aFailure(1, 10, { class: 'resource', code: 'out-of-memory', message: 'the task ran out of memory', exitCode: 137 }),
    aPlacement(2, 20, elsewhere),
    start(2, 21, 'node-2'),
    aSuccess(2, 30, elsewhere),
  ],
  'job-cancelled-while-running': [
    aSubmission({ spec: aJobSpec({ count: 2 }) }),
    aPlacement(1, 1),
    aPlacement(2, 2, { partition: 1, nodeId: 'node-2' }),
    start(1, 3),
    cancel(10),
    aConfirmation(2, 11, elsewhere),
    aFailure(1, 12, { class: 'cancelled', code: 'stopped', message: 'stopped on request' }),
  ],
  'job-late-result': [
    aSubmission(),
    aPlacement(1, 1),
    start(1, 2),
    lost(1, 90),
    aPlacement(2, 100, elsewhere),
    start(2, 101, 'node-2'),
    aSuccess(1, 105),
    aSuccess(2, 110, elsewhere),
    aSuccess(1, 120),
  ],
  'job-paused-and-preempted': [
    aSubmission(),
    { type: 'ChangePriority', priority: 80, at: second(1) },
    aPlacement(1, 2),
    { type: 'PauseJob', reason: 'maintenance', at: second(3) },
    { type: 'ResumeJob', at: second(60) },
    { type: 'AbandonReservation', executionId: 'job-1.9', nodeId: 'node-1', at: second(61) },
    aPlacement(2, 62),
    start(2, 63),
    aReport(2, 64, { type: 'pause' }),
    aReport(2, 65, { type: 'resume' }),
    aFailure(2, 70, { class: 'cancelled', code: 'stopped', message: 'the node is drained' }),
    aPlacement(3, 71, elsewhere),
    aReport(3, 72, { type: 'decline', reason: 'busy' }, elsewhere),
    { type: 'FailJob', class: 'timeout', code: 'total-timeout', message: 'timed out after 72 s', at: second(73) },
  ],
  'job-service-replaced': [
    aSubmission({ spec: aJobSpec({ type: 'service', count: 2 }) }),
    aPlacement(1, 1),
    start(1, 2),
    aPlacement(2, 3, { partition: 1, nodeId: 'node-2' }),
    start(2, 4, 'node-2'),
    aSuccess(1, 10),
    aPlacement(3, 20, elsewhere),
    start(3, 21, 'node-2'),
    aFailure(2, 700, {}, elsewhere),
    aPlacement(4, 710, { partition: 1 }),
    start(4, 711),
    cancel(800),
    aSuccess(3, 801, elsewhere),
    aFailure(4, 802, { class: 'cancelled', code: 'stopped', message: 'stopped on request' }),
  ],
  'job-ops-failed-on-one-node': [
    aSubmission({ spec: aJobSpec({ type: 'ops' }) }),
    aTargetChange(['node-1', 'node-2', 'node-3'], 1),
    aPlacement(1, 2),
    aPlacement(2, 2, { partition: 1, nodeId: 'node-2' }),
    start(1, 3),
    start(2, 4, 'node-2'),
    aSuccess(1, 10),
    lost(2, 90),
    aPlacement(3, 91, { partition: 2, nodeId: 'node-3' }),
    start(3, 92, 'node-3'),
    aFailure(3, 93, {}, { nodeId: 'node-3' }),
    aPlacement(4, 110, { partition: 2, nodeId: 'node-3' }),
    start(4, 111, 'node-3'),
    aSuccess(4, 120, { nodeId: 'node-3' }),
  ],
  'job-daemon-gains-and-loses-nodes': [
    aSubmission({ spec: aJobSpec({ type: 'daemon' }) }),
    aTargetChange(['node-1', 'node-2'], 1),
    aPlacement(1, 2),
    start(1, 3),
    aPlacement(2, 4, { partition: 1, nodeId: 'node-2' }),
    aTargetChange(['node-3'], 10, { removed: ['node-1', 'node-2'] }),
    aFailure(1, 12, { class: 'cancelled', code: 'stopped', message: 'stopped on request' }),
    aPlacement(3, 13, { partition: 2, nodeId: 'node-3' }),
    start(3, 14, 'node-3'),
    aTargetChange(['node-1'], 20),
    aPlacement(4, 21),
    start(4, 22),
    aSuccess(4, 30),
    {
      type: 'FailPartition',
      partition: 0,
      class: 'policy',
      code: 'closed',
      message: 'the owner closed the node',
      at: second(31),
    },
  ],
};

const NODES: Readonly<Record<string, readonly NodeCommand[]>> = {
  'node-gains-a-container-engine': [
    anEnrollment(),
    {
      type: 'ChangeInventory',
      inventory: anInventory({ container: { engine: 'podman', version: '4.3.1' } }),
      at: second(1),
    },
    { type: 'ChangeInventory', inventory: anInventory(), at: second(2) },
  ],
  'node-reserves-releases-and-drains': [
    anEnrollment(),
    { type: 'ChangePolicy', policy: { maxShare: { demo: 0.5 }, price: { cpuHour: 0.02 } }, at: second(1) },
    aReservation(1, { at: second(2), expiresAt: second(17) }),
    aReservation(2, { at: second(3), expiresAt: second(18) }),
    { type: 'CordonNode', reason: 'disk', at: second(4) },
    { type: 'ReleaseCapacity', executionId: 'job-1.1', cause: 'succeeded', at: second(5) },
    { type: 'UncordonNode', at: second(6) },
    { type: 'MarkOffline', lastSeenAt: second(7), reason: 'silent for 15 s', at: second(22) },
    { type: 'MarkOnline', at: second(30) },
    { type: 'DrainNode', reason: 'upgrade', deadline: second(600), at: second(40) },
  ],
};

/** Decides a history afresh under the current code. */
const record = <Command extends { readonly type: string; readonly at: string }, Event extends { type: string; data: object }, State>(
  decider: Decider<Command, Event, State>,
  stream: string,
  commands: readonly Command[],
): RecordedLine[] => {
  const ids = countingIds();
  const lines: RecordedLine[] = [];
  let state = decider.initialState();
  for (const command of commands) {
    const decision = decider.decide(command, state);
    if (decision.kind === 'rejected') throw new Error(`${command.type}: ${decision.rejection.message}`);
    for (const { type, data } of decision.events) {
      lines.push({
        stream,
        revision: String(lines.length),
        position: String(lines.length * 1000),
        id: ids.next(),
        type,
        data,
        metadata: { schemaVersion: 1, actor: 'ana', $correlationId: 'correlation-1' },
        recordedAt: toMillis(command.at),
      });
    }
    state = fold(decider, decision.events, state);
  }
  return lines;
};

/** Every history by its file's name, as the current code would record it. */
export const recordAll = (): Record<string, RecordedLine[]> =>
  Object.fromEntries([
    ...Object.entries(JOBS).map(([name, commands]) => [name, record(jobDecider, 'job-job-1', commands)] as const),
    ...Object.entries(NODES).map(([name, commands]) => [name, record(nodeDecider, 'node-node-1', commands)] as const),
  ]);
