import { CommandHandler, MemoryEventStore, MemoryLog } from '#event-store';
import type { MemoryFaults, RecordedEvent } from '#event-store';
import type { ExecutionReport, JobCommand, JobEvent, JobSpec, JobState } from '#jobs';
import { jobDecider, jobIdOfExecution, jobStream } from '#jobs';
import { FakeTime, countingIds, seededRandom, toInstant, toMillis } from '#kernel';
import type { Clock, Ids, Instant, Millis } from '#kernel';
import type { EnrollNode, Inventory, NodeCommand, NodeEvent, NodeState } from '#nodes';
import { nodeDecider, nodeStream } from '#nodes';
import type { ProjectCommand, ProjectEvent, ProjectState, Quota } from '#projects';
import { projectDecider, projectStream } from '#projects';
import { aJobSpec, anEnrollment, anInventory, aProject, aSubmission, EPOCH } from '#testing';
import { ControlLoop } from '../control-loop.js';
import { DEFAULT_SCHEDULING } from '../ports.js';
import type { SchedulingLog, SchedulingObserver, SchedulingOptions } from '../ports.js';
import { ClusterView } from '../view/cluster-view.js';

export interface WorldOptions {
  readonly faults?: MemoryFaults;
  /** Share a log and its time: another process on the same event store. */
  readonly beside?: SchedulingWorld;
  /** Milliseconds that this process's clock is ahead. */
  readonly clockOffset?: Millis;
  readonly options?: Partial<SchedulingOptions>;
}

const QUIET: SchedulingLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

let processes = 0;

/** One process of a control plane on an event store in memory and in virtual time; a test starts the parts it is about. */
export class SchedulingWorld {
  readonly time: FakeTime;
  readonly timers: FakeTime;
  readonly clock: Clock;
  readonly memory: MemoryLog;
  readonly store: MemoryEventStore;
  readonly ids: Ids;
  readonly jobs: CommandHandler<JobCommand, JobEvent, JobState>;
  readonly nodes: CommandHandler<NodeCommand, NodeEvent, NodeState>;
  readonly view: ClusterView;
  readonly seen: Map<string, Millis>;
  readonly random = seededRandom(1);
  readonly log = QUIET;
  readonly observer: { -readonly [Name in keyof SchedulingObserver]: SchedulingObserver[Name] } = {};
  readonly options: SchedulingOptions;
  presenceAway = false;
  presenceTakes: Millis = 0;
  private readonly projects: CommandHandler<ProjectCommand, ProjectEvent, ProjectState>;

  constructor({ faults = {}, beside, clockOffset = 0, options }: WorldOptions = {}) {
    processes += 1;
    this.time = beside?.time ?? new FakeTime(toMillis(EPOCH));
    this.timers = this.time;
    this.memory = beside?.memory ?? new MemoryLog();
    this.seen = beside?.seen ?? new Map<string, Millis>();
    this.clock = { now: () => this.time.now() + clockOffset };
    this.store = new MemoryEventStore({ clock: this.time, timers: this.time, faults, log: this.memory });
    const counting = countingIds();
    const own = processes.toString(16).padStart(4, '0');
    this.ids = { next: () => `${counting.next().slice(0, 24)}${own}${counting.next().slice(28)}` };
    this.jobs = new CommandHandler(jobDecider, this.store, this.ids);
    this.nodes = new CommandHandler(nodeDecider, this.store, this.ids);
    this.projects = new CommandHandler(projectDecider, this.store, this.ids);
    this.view = new ClusterView(this.store, (error) => {
      throw error;
    });
    // A missed event must not be made up for by the sweep.
    this.options = { ...DEFAULT_SCHEDULING, sweepInterval: 30 * 86_400_000, ...options };
  }

  readonly presence = {
    lastSeen: async (): Promise<ReadonlyMap<string, Millis>> => {
      const answer = new Map(this.seen);
      if (this.presenceTakes > 0) await this.pause(this.presenceTakes);
      if (this.presenceAway) throw new Error('the database is away');
      return answer;
    },
  };

  /** The view, live. */
  async live(): Promise<this> {
    this.view.start();
    await this.time.advanceAsync(0);
    return this;
  }

  /** The whole loop, live. */
  async looping(): Promise<ControlLoop> {
    const loop = new ControlLoop(this);
    this.view.start();
    void loop.start();
    await this.time.advanceAsync(0);
    return loop;
  }

  now(): Instant {
    return toInstant(this.clock.now());
  }

  async project(id = 'demo', quota: Quota = {}, weight = 1): Promise<void> {
    await this.projects.handle(projectStream(id), aProject({ projectId: id, quota, weight, at: this.now() }), ACTOR);
  }

  async node(name: string, inventory: Partial<Inventory> = {}, change: Partial<EnrollNode> = {}): Promise<void> {
    const enrollment = { nodeId: name, name, inventory: anInventory(inventory), at: this.now(), ...change };
    await this.nodes.handle(nodeStream(name), anEnrollment(enrollment), ACTOR);
    this.seen.set(name, this.time.now());
  }

  async submit(jobId: string, spec: Partial<JobSpec> = {}): Promise<void> {
    const submission = { jobId, spec: aJobSpec(spec), evaluationId: `${jobId}-1`, at: this.now() };
    await this.jobs.handle(jobStream(jobId), aSubmission(submission), ACTOR);
  }

  job(jobId: string, command: JobCommand): Promise<unknown> {
    return this.jobs.handle(jobStream(jobId), command, ACTOR);
  }

  onNode(nodeId: string, command: NodeCommand): Promise<unknown> {
    return this.nodes.handle(nodeStream(nodeId), command, ACTOR);
  }

  /** What the node of an execution says, with the right token unless given. */
  async report(executionId: string, type: ExecutionReport['type'], fields: object = {}): Promise<void> {
    const jobId = jobIdOfExecution(executionId);
    const execution = (await this.state(jobId)).executions[executionId];
    if (!execution) throw new Error(`there is no execution ${executionId}`);
    const { nodeId, fencingToken } = execution;
    const report = { type, executionId, fencingToken, ...fields } as unknown as ExecutionReport;
    await this.job(jobId, { type: 'ReportExecution', nodeId, report, at: this.now() });
  }

  async state(jobId: string): Promise<JobState> {
    return (await this.jobs.load(jobStream(jobId))).state;
  }

  /** The newest execution of a job. */
  async execution(jobId: string): Promise<JobState['executions'][string]> {
    const last = Object.values((await this.state(jobId)).executions).at(-1);
    if (!last) throw new Error(`${jobId} has no execution`);
    return last;
  }

  events(stream: string, ...types: readonly string[]): RecordedEvent[] {
    return this.memory.stream(stream).filter(({ type }) => types.length === 0 || types.includes(type));
  }

  /** The types of a stream's events, without those of a submission or an enrolment. */
  types(stream: string): string[] {
    const first = ['JobSubmitted', 'NodeEnrolled', 'NodeWentOnline'];
    return this.events(stream)
      .map(({ type }) => type)
      .filter((type) => !first.includes(type));
  }

  pause(span: Millis): Promise<void> {
    return new Promise((resolve) => void this.time.after(span, resolve));
  }
}

const ACTOR = { actor: 'test' };

/** Lets the first append that stores an event of this type go wrong. */
export const onFirst = (
  type: string,
  fault: ReturnType<NonNullable<MemoryFaults['append']>>,
  times = 1,
): MemoryFaults => {
  let left = times;
  return {
    append: (_stream, events) => {
      if (left === 0 || !events.some((event) => event.type === type)) return undefined;
      left -= 1;
      return fault;
    },
  };
};
