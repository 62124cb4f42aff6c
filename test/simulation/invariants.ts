import type { RecordedEvent } from '#event-store';
import { hasTargets, isEndless, isMet, jobDecider, jobIdOfExecution, liveExecutions, nextTimeout } from '#jobs';
import type { Execution, JobEvent, JobOutcome, JobState } from '#jobs';
import type { Instant } from '#kernel';
import { freeCapacity, isWithin, nodeDecider } from '#nodes';
import type { CapacityReduced, NodeEvent } from '#nodes';
import { DecisionWalk, isOfDecision, verifyPoint } from '#scheduling';
import type { DerivationPoint } from '#scheduling';
import type { Observed } from './observed.js';

/* What must hold of a log when all has come to rest, whatever happened. Each answers what does not hold. */

export const violations = (log: readonly RecordedEvent[], observed: Observed): string[] => {
  const streams = Map.groupBy(log, ({ stream }) => stream);
  const jobs = new Map<string, JobState>();
  const wrong: string[] = [];
  for (const [stream, events] of streams) {
    if (stream.startsWith('node-')) wrong.push(...wrongWithNode(stream, events));
    if (!stream.startsWith('job-')) continue;
    const job = wholeJob(events as unknown as JobEvent[]);
    jobs.set(job.jobId, job);
    wrong.push(...wrongWithJob(stream, events, job, observed.longAgo));
  }
  return [
    ...observed.violations,
    ...wrong,
    ...wrongReductions(log, jobs),
    ...wrongDependencies(log, jobs),
    ...forgotten(jobs, observed),
    ...notDerived(log),
  ];
};

/** A job with all of its executions, also those that its own state knows no more. */
const wholeJob = (events: readonly JobEvent[]): JobState => {
  const executions: Record<string, Execution> = {};
  let job = jobDecider.initialState();
  for (const event of events) {
    job = jobDecider.evolve(job, event);
    if (!('executionId' in event.data)) continue;
    const execution = job.executions[event.data.executionId];
    if (execution) executions[execution.executionId] = execution;
  }
  return { ...job, executions };
};

const JOB_ENDS = new Set(['JobCompleted', 'JobFailed', 'JobCancelled']);
const EXECUTION_ENDS = new Set([
  'ExecutionSucceeded',
  'ExecutionFailed',
  'ExecutionLost',
  'ExecutionCancelled',
  'ReservationExpired',
  'ReservationDeclined',
]);

/** One end per job and execution, one success per partition, rising tokens, and nothing left open without a reason. */
const wrongWithJob = (stream: string, events: readonly RecordedEvent[], job: JobState, now: Instant): string[] => {
  const wrong: string[] = [];
  const ends = new Map<string, number>();
  const done = new Map<number, number>();
  let token = 0;
  for (const { type, data } of events) {
    const { executionId = '', fencingToken = 0 } = data as { executionId?: string; fencingToken?: number };
    const key = JOB_ENDS.has(type) ? 'the job' : EXECUTION_ENDS.has(type) ? executionId : undefined;
    if (key !== undefined) ends.set(key, (ends.get(key) ?? 0) + 1);
    const partition = job.executions[executionId]?.partition ?? -1;
    if (type === 'ExecutionSucceeded') done.set(partition, (done.get(partition) ?? 0) + 1);
    if (type !== 'ExecutionReserved') continue;
    if (fencingToken <= token) wrong.push(`${stream}: the token ${String(fencingToken)} does not rise`);
    token = fencingToken;
  }
  for (const [key, times] of ends) if (times > 1) wrong.push(`${stream}: ${key} ended ${String(times)} times`);
  if (!job.spec || isEndless(job.spec.type)) return [...wrong, ...leftOpen(stream, job, now)];
  for (const [part, times] of done) if (times > 1) wrong.push(`${stream}: partition ${String(part)} completed twice`);
  if (job.ended === 'completed' && done.size !== job.partitions.length)
    wrong.push(`${stream} completed without all parts`);
  return [...wrong, ...leftOpen(stream, job, now)];
};

const leftOpen = (stream: string, job: JobState, now: Instant): string[] => {
  const open = liveExecutions(job).map(({ executionId, state }) => `${stream}: ${executionId} is still ${state}`);
  if (job.ended) return open;
  const due = job.cancelRequested === undefined ? nextTimeout(job) : undefined;
  if (due !== undefined && due < now) open.push(`${stream} is not over, though its time was at ${due}`);
  return isStated(job) ? open : [...open, `${stream} waits without a stated reason`];
};

/** Why the job waits: each of its parts for itself, where they wait for nodes of their own. */
const isStated = ({ spec, blocked, lastDecision, partitions }: JobState): boolean => {
  if (blocked) return true;
  if (spec && hasTargets(spec.type))
    return partitions.every(({ state, deferral }) => state !== 'waiting' || deferral !== undefined);
  return lastDecision !== undefined && lastDecision.outcome !== 'placed' && lastDecision.filtered.length > 0;
};

/** Never more held than there is, and every claim given back exactly once. */
const wrongWithNode = (stream: string, events: readonly RecordedEvent[]): string[] => {
  const wrong: string[] = [];
  const claims = new Map<string, number>();
  let node = nodeDecider.initialState();
  for (const event of events) {
    const { executionId = '' } = event.data as { executionId?: string };
    if (event.type === 'CapacityReserved') {
      if (claims.has(executionId)) wrong.push(`${stream}: ${executionId} was reserved twice`);
      claims.set(executionId, 1);
    }
    if (event.type === 'CapacityReleased') {
      if (claims.get(executionId) !== 1) wrong.push(`${stream}: ${executionId} was released twice, or never held`);
      claims.set(executionId, 0);
    }
    node = nodeDecider.evolve(node, event as unknown as NodeEvent);
    if (event.type !== 'CapacityReserved') continue;
    const held = Object.values(node.held).map(({ contract }) => contract);
    const { cpuMilli, memory, disk, ioSlots, gpus } = freeCapacity(node.inventory, held);
    const left = [
      cpuMilli,
      memory,
      disk,
      ioSlots,
      ...Object.values(gpus).flatMap((gpu) => [gpu.shareMilli, gpu.memory]),
    ];
    if (left.some((amount) => amount < 0)) wrong.push(`${stream} is over-committed at ${String(event.revision)}`);
  }
  for (const [id, held] of claims) if (held !== 0) wrong.push(`${stream}: ${id} was never released`);
  return wrong;
};

/** A ledger holds less of an execution only because its job says so, and once. */
const wrongReductions = (log: readonly RecordedEvent[], jobs: ReadonlyMap<string, JobState>): string[] => {
  const seen = new Set<string>();
  return log.flatMap(({ stream, type, data }) => {
    if (type !== 'CapacityReduced') return [];
    const { executionId, contract } = data as CapacityReduced['data'];
    const twice = seen.has(executionId) ? [`${stream}: ${executionId} was reduced twice`] : [];
    seen.add(executionId);
    const stated = jobs.get(jobIdOfExecution(executionId))?.executions[executionId]?.contract;
    const agrees = stated && isWithin(stated, contract) && isWithin(contract, stated);
    return agrees ? twice : [...twice, `${stream}: ${executionId} holds what its job does not say`];
  });
};

/**
 * Nothing of a job is decided before what it waits for has ended as asked; it fails for that only when one has ended otherwise;
 * and it goes on waiting only while that is open.
 */
const wrongDependencies = (log: readonly RecordedEvent[], jobs: ReadonlyMap<string, JobState>): string[] => {
  const ended = new Map<string, JobOutcome>();
  const wrong: string[] = [];
  const verdict = (job: JobState): 'met' | 'impossible' | 'open' => {
    const outcomes = (job.spec?.dependsOn ?? []).map((one) => ({ one, outcome: ended.get(one.job) }));
    if (outcomes.some(({ one, outcome }) => outcome !== undefined && !isMet(one, outcome))) return 'impossible';
    return outcomes.every(({ outcome }) => outcome !== undefined) ? 'met' : 'open';
  };
  for (const { stream, type, data } of log) {
    const job = jobs.get(stream.slice('job-'.length));
    if (!job?.spec || !stream.startsWith('job-')) continue;
    const entered = ['DependenciesMet', 'PlacementDecided', 'TargetsChanged', 'ExecutionReserved'].includes(type);
    if (entered && verdict(job) !== 'met') wrong.push(`${stream}: ${type} though what it waits for is ${verdict(job)}`);
    const { code } = data as { code?: string };
    if (type === 'JobFailed' && code === 'dependency-impossible' && verdict(job) !== 'impossible')
      wrong.push(`${stream} failed though what it waits for is ${verdict(job)}`);
    if (JOB_ENDS.has(type)) ended.set(job.jobId, job.ended ?? 'failed');
  }
  for (const job of jobs.values())
    if (!job.ended && job.blocked && verdict(job) !== 'open')
      wrong.push(`job ${job.jobId} still waits, though that is ${verdict(job)}`);
  return wrong;
};

/** What was acknowledged to anybody is in the log. */
const forgotten = (jobs: ReadonlyMap<string, JobState>, observed: Observed): string[] => {
  const wrong: string[] = [];
  for (const jobId of observed.acknowledgedJobs) if (!jobs.has(jobId)) wrong.push(`job ${jobId} was forgotten`);
  for (const jobId of observed.acknowledgedCancels) {
    const job = jobs.get(jobId);
    if (job?.cancelRequested === undefined && !job?.ended) wrong.push(`the cancellation of ${jobId} was forgotten`);
  }
  for (const { report } of observed.acknowledgedReports) {
    const job = jobs.get(report.executionId.slice(0, report.executionId.indexOf('.')));
    const execution = job?.executions[report.executionId];
    if (report.type === 'succeed' && execution?.state !== 'succeeded') {
      wrong.push(`the success of ${report.executionId} was acknowledged, yet it is ${execution?.state ?? 'unknown'}`);
    }
    if (report.type === 'fail' && execution?.state !== 'failed' && execution?.state !== 'cancelled') {
      wrong.push(`the failure of ${report.executionId} was acknowledged, yet it is ${execution?.state ?? 'unknown'}`);
    }
  }
  return wrong;
};

/** Every recorded decision comes out the same from the events before its position and the reservations it assumed. */
const notDerived = (log: readonly RecordedEvent[]): string[] => {
  const walk = new DecisionWalk(undefined, log.length);
  const wrong: string[] = [];
  const judge = (point: DerivationPoint): void => {
    const verdict = verifyPoint(point);
    const made = isOfDecision(point) ? `decision ${String(point.recorded.decision.number)}` : 'a change of nodes';
    const what = `${made} of ${point.recorded.jobId} does not derive`;
    if (verdict.kind !== 'verified') wrong.push(`${what}: ${JSON.stringify(verdict)}`);
  };
  for (const event of log) for (const point of walk.push(event)) judge(point);
  for (const point of walk.end()) judge(point);
  return wrong;
};
