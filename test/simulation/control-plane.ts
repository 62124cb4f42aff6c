import { CommandHandler, MemoryEventStore } from '#event-store';
import type { CommandContext, Handled, MemoryFaults, MemoryLog } from '#event-store';
import type { Report, ReportAnswer } from '#contracts';
import { answerReport, jobDecider, jobIdOfExecution, jobStream } from '#jobs';
import type { JobCommand, JobEvent, JobState } from '#jobs';
import { seededRandom, toInstant } from '#kernel';
import type { Clock, FakeTime, Instant, Millis, Timer, Timers } from '#kernel';
import { nodeDecider, nodeStream } from '#nodes';
import type { Contract, NodeCommand, NodeEvent, NodeState } from '#nodes';
import type { LiveExecution } from '#placement';
import { projectDecider, projectStream } from '#projects';
import type { ProjectCommand, ProjectEvent, ProjectState } from '#projects';
import { AssignmentBoard, ClusterView, ControlLoop, Snapshots } from '#scheduling';
import type { PresenceSource, SchedulingLog, SnapshotStore } from '#scheduling';
import { idsOf } from './chance.js';
import type { PlannedJob, PlannedNode } from './workload.js';

/** What all control planes of a simulation share: the log, as it were on a server, and presence, as in Postgres. */
export interface Surroundings {
  readonly time: FakeTime;
  readonly log: MemoryLog;
  readonly presence: PresenceSource & { seen(nodeId: string, at: Millis): void };
  readonly note: (who: string, what: string) => void;
  /** A view that cannot apply an event ends its process. */
  readonly fault: (who: string, error: Error) => void;
  /** The sweep placed a job that an event should have woken. */
  readonly overlooked: (who: string) => void;
}

export interface Told {
  readonly executionId: string;
  readonly fencingToken: number;
  readonly jobId: string;
  readonly partition: number;
  readonly attempt: number;
  readonly state: string;
  readonly desired: 'run' | 'stop' | 'pause';
  readonly confirmBy: Instant;
  readonly contract: Contract;
  /** How long the task runs, and may run, in milliseconds. */
  readonly run: Millis;
  readonly limit: Millis;
  /** Digests of its inputs. */
  readonly inputs: readonly string[];
}

export interface ToldSet {
  readonly revision: bigint;
  readonly executions: readonly Told[];
}

/** Often, and never together with what happens at whole seconds. */
const SWEEP_EVERY: Millis = 31_003;

/** As on one core. */
const WORKERS = 32;

/** Events between snapshots: so few that most lives begin from one and some events after it. Of much they cost more. */
const SNAPSHOT_EVERY = { few: 40, many: 400 };

/** Timers that end with their process. */
class ProcessTimers implements Timers {
  private alive = true;

  constructor(private readonly time: FakeTime) {}

  after(delay: Millis, run: () => void): Timer {
    return this.time.after(delay, () => this.alive && run());
  }

  every(interval: Millis, run: () => void): Timer {
    const timer: Timer = this.time.every(interval, () => (this.alive ? run() : timer.cancel()));
    return timer;
  }

  end(): void {
    this.alive = false;
  }
}

/**
 * One life of a control plane: everything that `apps/orchestrator` assembles, but for HTTP and the read side. `crash` ends
 * it between any two of its steps: what it waits for never comes.
 */
export class ControlPlane {
  readonly startedAt: Millis;
  readonly store: MemoryEventStore;
  readonly loop: ControlLoop;
  private readonly view: ClusterView;
  private readonly board: AssignmentBoard;
  private readonly jobs: CommandHandler<JobCommand, JobEvent, JobState>;
  private readonly nodes: CommandHandler<NodeCommand, NodeEvent, NodeState>;
  private readonly projects: CommandHandler<ProjectCommand, ProjectEvent, ProjectState>;
  private readonly timers: ProcessTimers;
  private readonly clock: Clock;
  private readonly returning = new Set<string>();
  private up = false;
  private crashed = false;

  constructor(
    readonly name: string,
    private readonly around: Surroundings,
    faults: MemoryFaults,
    options: {
      readonly process: number;
      readonly life: number;
      readonly clockOffset: Millis;
      /** Whether its cluster holds hundreds of jobs. */
      readonly many: boolean;
      /** Its disk: what one life wrote the next one finds. */
      readonly snapshots: SnapshotStore;
    },
  ) {
    const { time, log } = around;
    this.startedAt = time.now();
    this.timers = new ProcessTimers(time);
    this.clock = { now: () => time.now() + options.clockOffset };
    this.store = new MemoryEventStore({ clock: time, timers: this.timers, faults, log });
    const ids = idsOf(options.process, options.life);
    const snapshots = new Snapshots({
      store: options.snapshots,
      events: this.store,
      timers: this.timers,
      log: this.logger(),
      every: options.many ? SNAPSHOT_EVERY.many : SNAPSHOT_EVERY.few,
      pieceSize: 1_000,
    });
    this.view = new ClusterView(this.store, (error) => around.fault(name, error), snapshots);
    this.board = new AssignmentBoard(this.view, this.timers);
    this.jobs = new CommandHandler(jobDecider, this.store, ids);
    this.nodes = new CommandHandler(nodeDecider, this.store, ids);
    this.projects = new CommandHandler(projectDecider, this.store, ids);
    this.loop = new ControlLoop({
      view: this.view,
      jobs: this.jobs,
      nodes: this.nodes,
      presence: around.presence,
      clock: this.clock,
      timers: this.timers,
      random: seededRandom(options.process),
      ids,
      log: this.logger(),
      observer: { overlooked: () => around.overlooked(name) },
      options: { sweepInterval: SWEEP_EVERY, workers: WORKERS },
    });
  }

  /** Whether it answers requests. */
  get serving(): boolean {
    return this.up && !this.crashed;
  }

  async start(): Promise<void> {
    this.view.start();
    await this.view.whenReady();
    this.up = true;
    await this.loop.start();
    this.around.note(this.name, 'serves');
  }

  crash(): void {
    if (this.crashed) return;
    this.crashed = true;
    this.timers.end();
    this.store.crash();
    this.around.note(this.name, 'crashed');
  }

  async enrol({ name, inventory, policy, institution }: PlannedNode, returning: boolean): Promise<void> {
    const node = { nodeId: name, name, owner: 'olga', institution, inventory, policy };
    await this.node(name, { type: 'EnrollNode', ...node, returning, at: this.now() }, `node:${name}`);
    await this.seen(name);
  }

  async heartbeat(nodeId: string): Promise<void> {
    await this.seen(nodeId);
  }

  async cache(nodeId: string, held: readonly string[]): Promise<void> {
    await this.node(nodeId, { type: 'ReportCache', held, at: this.now() }, `node:${nodeId}`);
  }

  async assignments(nodeId: string, after: bigint | undefined, wait: Millis): Promise<ToldSet> {
    await this.seen(nodeId);
    const { revision, executions } = await this.board.next(nodeId, after, wait);
    return { revision, executions: executions.map((execution) => this.told(execution)) };
  }

  async report(nodeId: string, report: Report): Promise<ReportAnswer> {
    const command: JobCommand = { type: 'ReportExecution', nodeId, report, at: this.now() };
    const stream = jobStream(jobIdOfExecution(report.executionId));
    const outcome = await this.jobs.handle(stream, command, { actor: `node:${nodeId}` });
    if (outcome.kind === 'rejected' && outcome.rejection.code === 'JOB_NOT_FOUND') {
      return { executionId: report.executionId, accepted: false, reason: 'UNKNOWN_EXECUTION' };
    }
    return answerReport(done(outcome), nodeId, report);
  }

  async submit({ key, spec, account }: PlannedJob): Promise<JobState> {
    const submission = { jobId: key, spec, account, institution: 'usp', evaluationId: `${key}-1`, fingerprint: key };
    return this.job(key, { type: 'SubmitJob', ...submission, at: this.now() }, account);
  }

  async job(jobId: string, command: JobCommand, actor = 'op'): Promise<JobState> {
    return done(await this.jobs.handle(jobStream(jobId), command, { actor }));
  }

  async node(nodeId: string, command: NodeCommand, actor = 'op'): Promise<NodeState> {
    return done(await this.nodes.handle(nodeStream(nodeId), command, { actor }));
  }

  async project(command: ProjectCommand): Promise<ProjectState> {
    const context: CommandContext = { actor: 'op' };
    return done(await this.projects.handle(projectStream(command.projectId), command, context));
  }

  now(): Instant {
    return toInstant(this.clock.now());
  }

  /** As the API's presence does: any message counts, and the first after a silence brings the node back. */
  private async seen(nodeId: string): Promise<void> {
    this.around.presence.seen(nodeId, this.clock.now());
    if (this.view.cluster.nodes.get(nodeId)?.online !== false || this.returning.has(nodeId)) return;
    this.returning.add(nodeId);
    try {
      await this.node(nodeId, { type: 'MarkOnline', at: this.now() }, `node:${nodeId}`);
    } finally {
      this.returning.delete(nodeId);
    }
  }

  private told({ stopRequested, ...execution }: LiveExecution): Told {
    const { executionId, fencingToken, jobId, partition, attempt, state, confirmBy, contract } = execution;
    const job = this.view.cluster.jobs.get(jobId);
    const desired = !job || job.cancelRequested || stopRequested ? 'stop' : job.paused ? 'pause' : 'run';
    const run = Number(job?.spec.task.env['RUN'] ?? 1) * 1000;
    const limit = (job?.spec.timeouts.run ?? Infinity) * 1000;
    const inputs = job?.spec.inputs.flatMap(({ sha256 }) => sha256 ?? []) ?? [];
    const told = { executionId, fencingToken, jobId, partition, attempt, state, confirmBy, contract };
    return { ...told, desired, run, limit, inputs };
  }

  private logger(): SchedulingLog {
    const note = (details: object, message: string): void => {
      const { err, ...rest } = details as { err?: unknown };
      const cause = err instanceof Error ? `${err.name}: ${err.message}` : '';
      this.around.note(this.name, `${message} ${JSON.stringify(rest)} ${cause}`);
    };
    return { debug: note, info: note, warn: note, error: note };
  }
}

/** A refusal is an answer as well: the caller is told by an exception of its own kind. */
export class RefusedCommand extends Error {
  override readonly name = 'RefusedCommand';
}

const done = <State>(outcome: Handled<State>): State => {
  if (outcome.kind === 'done') return outcome.state;
  throw new RefusedCommand(outcome.kind === 'rejected' ? outcome.rejection.code : outcome.kind);
};
