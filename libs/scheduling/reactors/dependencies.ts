import { toInstant } from '#kernel';
import type { Clock, Millis, Timers } from '#kernel';
import type { RecordedEvent } from '#event-store';
import { impossible, isMet, JOB_STREAM_PREFIX, jobStream, parentsRead, pinnedInputs } from '#jobs';
import type { Dependency, JobCommand, JobOutcome, JobSpec, JobState, MetDependency } from '#jobs';
import type { ClusterJob } from '#placement';
import { Alarms } from '../alarms.js';
import type { Commands, SchedulingLog } from '../ports.js';
import type { ClusterView } from '../view/cluster-view.js';

export interface DependenciesParts {
  readonly view: ClusterView;
  readonly jobs: Commands<JobCommand, JobState> & { load(stream: string): Promise<{ state: JobState }> };
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: SchedulingLog;
}

const ACTOR = { actor: 'system:dependencies' };
/** Until what could not be stored is tried again. */
const AGAIN: Millis = 1_000;
/** Jobs that are told at once: thousands may wait for one. */
const MOST_AT_ONCE = 32;

const OUTCOMES: ReadonlyMap<string, JobOutcome> = new Map([
  ['JobCompleted', 'completed'],
  ['JobFailed', 'failed'],
  ['JobCancelled', 'cancelled'],
]);

/**
 * Lets a blocked job into the queue when all the jobs that it waits for have ended as it asked, and fails it as soon as one of
 * them has ended otherwise, or has not left what it reads of it; so an end goes down a whole graph of jobs, one after the other.
 *
 * A job is watched from its submission, or from `start` if it is found blocked there, until its dependencies are met or it
 * ends. It becomes *due* when an end that it waited for is in the log, and at once when it came too late to see that. What is due
 * is *settled*, so many at a time: by the ends as the cluster keeps them, and as the parents' own streams have them where it does
 * not any more. What could not be stored is due again a second later. An end costs as much as jobs wait for it, whatever else
 * waits. `stop` lets what is under way finish.
 */
export class Dependencies {
  /** Of each watched job, what it waits for and has not ended; and the other way round. */
  private readonly open = new Map<string, Map<string, Dependency>>();
  private readonly dependents = new Map<string, Set<string>>();
  /** With the event that made them so, where there was one. */
  private readonly due = new Map<string, string | undefined>();
  private readonly underWay = new Set<Promise<void>>();
  private readonly retries: Alarms;
  private stopListening: (() => void) | undefined;

  constructor(private readonly parts: DependenciesParts) {
    this.retries = new Alarms(parts.clock, parts.timers);
  }

  start(): void {
    const { view } = this.parts;
    this.stopListening = view.listen((event) => this.hear(event));
    for (const job of view.cluster.jobs.values()) this.watch(job);
    this.settleDue();
  }

  async stop(): Promise<void> {
    this.stopListening?.();
    this.stopListening = undefined;
    this.retries.stopAll();
    this.due.clear();
    await Promise.all(this.underWay);
  }

  private hear({ stream, type, id }: RecordedEvent): void {
    if (!stream.startsWith(JOB_STREAM_PREFIX)) return;
    const jobId = stream.slice(JOB_STREAM_PREFIX.length);
    const outcome = OUTCOMES.get(type);
    if (type === 'JobSubmitted') this.watch(this.parts.view.cluster.jobs.get(jobId));
    else if (type === 'DependenciesMet') this.forget(jobId);
    else if (outcome !== undefined) {
      this.forget(jobId);
      this.parentEnded(jobId, outcome, id);
    }
    this.settleDue();
  }

  private watch(job: ClusterJob | undefined): void {
    if (!job?.blocked) return;
    const { jobs } = this.parts.view.cluster;
    const open = new Map<string, Dependency>();
    for (const dependency of job.spec.dependsOn) {
      if (jobs.has(dependency.job)) open.set(dependency.job, dependency);
      else this.due.set(job.id, undefined);
    }
    this.open.set(job.id, open);
    for (const parent of open.keys()) {
      const dependents = this.dependents.get(parent) ?? new Set<string>();
      this.dependents.set(parent, dependents.add(job.id));
    }
  }

  private forget(jobId: string): void {
    for (const parent of this.open.get(jobId)?.keys() ?? []) {
      const dependents = this.dependents.get(parent);
      dependents?.delete(jobId);
      if (dependents?.size === 0) this.dependents.delete(parent);
    }
    this.open.delete(jobId);
    this.due.delete(jobId);
    this.retries.stop(jobId);
  }

  private parentEnded(parent: string, outcome: JobOutcome, causationId: string): void {
    const dependents = this.dependents.get(parent) ?? [];
    this.dependents.delete(parent);
    for (const jobId of dependents) {
      const open = this.open.get(jobId);
      const dependency = open?.get(parent);
      open?.delete(parent);
      if (dependency && (open?.size === 0 || !isMet(dependency, outcome))) this.due.set(jobId, causationId);
    }
  }

  private settleDue(): void {
    for (const [jobId, causationId] of this.due) {
      if (this.underWay.size >= MOST_AT_ONCE) return;
      this.due.delete(jobId);
      const settling = this.settle(jobId, causationId);
      this.underWay.add(settling);
      void settling.then(() => {
        this.underWay.delete(settling);
        this.settleDue();
      });
    }
  }

  private async settle(jobId: string, causationId: string | undefined): Promise<void> {
    const { jobs, log, view } = this.parts;
    try {
      const job = view.cluster.jobs.get(jobId);
      const command = job?.blocked ? await this.commandFor(job) : undefined;
      const context = causationId === undefined ? ACTOR : { ...ACTOR, causationId };
      const answer = command && (await jobs.handle(jobStream(jobId), command, context));
      if (answer?.kind === 'rejected') log.error({ jobId, ...answer.rejection }, 'what a job waits for is told wrong');
    } catch (error) {
      log.warn({ jobId, err: error }, 'what a job waits for was not settled yet, it is tried again');
      if (!this.stopListening || !this.open.has(jobId)) return;
      this.retries.after(jobId, AGAIN, () => {
        this.due.set(jobId, causationId);
        this.settleDue();
      });
    }
  }

  /** Undefined while one that it waits for goes on and none has ended otherwise than asked. */
  private async commandFor({ spec }: ClusterJob): Promise<JobCommand | undefined> {
    const met: MetDependency[] = [];
    for (const dependency of spec.dependsOn) {
      if (this.parts.view.cluster.jobs.has(dependency.job)) continue;
      const outcome = await this.outcomeOf(dependency.job);
      if (outcome === undefined || !isMet(dependency, outcome))
        return { type: 'FailJob', ...impossible(dependency, outcome), at: this.now() };
      met.push({ job: dependency.job, outcome });
    }
    return met.length < spec.dependsOn.length ? undefined : this.meet(spec, met);
  }

  /** What is read of the parents is known now, and what is missing will not come any more. */
  private async meet(spec: JobSpec, dependencies: readonly MetDependency[]): Promise<JobCommand> {
    const read = parentsRead(spec).map(async (job) => {
      const { state } = await this.parts.jobs.load(jobStream(job));
      return [job, state] as const;
    });
    const pinned = pinnedInputs(spec, new Map(await Promise.all(read)));
    return pinned.kind === 'missing'
      ? { type: 'FailJob', ...pinned.ending, at: this.now() }
      : { type: 'MeetDependencies', dependencies, inputs: pinned.inputs, at: this.now() };
  }

  /** Undefined for a job that never was. */
  private async outcomeOf(jobId: string): Promise<JobOutcome | undefined> {
    const { jobs, view } = this.parts;
    const kept = view.cluster.ended.get(jobId)?.outcome;
    if (kept !== undefined) return kept;
    const { state } = await jobs.load(jobStream(jobId));
    if (state.exists && !state.ended) throw new Error(`job ${jobId} goes on, and the view does not know it`);
    return state.ended;
  }

  private now(): string {
    return toInstant(this.parts.clock.now());
  }
}
