import type { MemoryLog, RecordedEvent } from '#event-store';
import type { Report, ReportAnswer } from '#contracts';
import { hasNoNode, hasTargets, isEndless, isMet, jobDecider, jobIdOfExecution, nextTimeout } from '#jobs';
import type { Decision, JobEvent, JobFailed, JobSubmitted } from '#jobs';
import { fold, toInstant, toMillis } from '#kernel';
import type { Clock, FakeTime, Instant, Millis } from '#kernel';
import { applyEvent, decide, emptyCluster, requestOf, targetChange } from '#placement';
import type { ClusterJob, ClusterState } from '#placement';
import { DEFAULT_SCHEDULING } from '#scheduling';
import type { PresenceSource } from '#scheduling';
import type { SimulatedAgent, Truth } from './agent.js';
import { makerOf } from './chance.js';
import type { Chance } from './chance.js';
import type { Told } from './control-plane.js';

interface Run {
  readonly agent: SimulatedAgent;
  readonly told: Told;
}

/** Something of a job that waits; `overdue` when somebody should have seen to it by now. */
interface Unsettled {
  readonly jobId: string;
  readonly what: string;
  readonly overdue: boolean;
}

interface Life {
  readonly startedAt: Millis;
  readonly clockOffset: Millis;
}

const ENDS: ReadonlySet<string> = new Set([
  'ExecutionSucceeded',
  'ExecutionFailed',
  'ExecutionLost',
  'ExecutionCancelled',
  'ReservationExpired',
  'ReservationDeclined',
]);

/** Clocks of control planes differ by up to this much, and a decision takes a moment to be stored. */
const SLACK: Millis = 4_000;
const DECIDED_WITHIN: Millis = 25_000;
const LEASE: Millis = DEFAULT_SCHEDULING.offlineAfter + DEFAULT_SCHEDULING.lostAfter;

/** Sees everything that happens, in the log and on the machines, and says at once what must not. */
export class Observed implements Truth {
  readonly violations: string[] = [];
  /** Jobs whose submission was answered with success, cancellations too, and reports that were taken in. */
  readonly acknowledgedJobs: string[] = [];
  readonly acknowledgedCancels: string[] = [];
  readonly acknowledgedReports: { readonly nodeId: string; readonly report: Report }[] = [];
  readonly counts = { runs: 0, refusedReports: 0 };
  private readonly cluster: ClusterState = emptyCluster();
  private overdue = new Map<string, bigint>();
  private read = 0;
  private readonly running = new Set<Run>();
  private readonly begun = new Set<string>();
  private readonly endedAt = new Map<string, bigint>();
  private readonly reserved = new Map<string, Millis>();
  private readonly heard = new Map<string, Millis[]>();
  private readonly lives = new Map<string, Life>();
  private readonly outages: { readonly from: Millis; readonly until: Millis }[] = [];
  private readonly lastSeen = new Map<string, Millis>();

  constructor(
    private readonly log: MemoryLog,
    private readonly time: FakeTime & Clock,
    private readonly trace: ((line: string) => void) | undefined,
  ) {
    log.watch(() => this.follow());
  }

  readonly note = (who: string, what: string): void => {
    this.trace?.(`${toInstant(this.time.now()).slice(11)} ${who} ${what}`);
  };

  wrong(what: string): void {
    this.note('VIOLATION', what);
    this.violations.push(`${toInstant(this.time.now())} ${what}`);
  }

  /** What was due by then was done, whichever clock it was due by. */
  get longAgo(): Instant {
    return toInstant(this.time.now() - SLACK - 1_000);
  }

  opened(process: number, life: number, clockOffset: Millis): void {
    this.lives.set(`${String(process)}/${String(life)}`, { startedAt: this.time.now(), clockOffset });
  }

  storeWentAway(span: Millis): void {
    this.note('store', `is away for ${String(span)} ms`);
    this.outages.push({ from: this.time.now(), until: this.time.now() + span });
  }

  submitted(jobId: string, accepted: boolean): void {
    if (accepted) this.acknowledgedJobs.push(jobId);
  }

  cancelled(jobId: string): void {
    this.acknowledgedCancels.push(jobId);
  }

  /** Shared by the control planes as Postgres would be; in a storm it is slow or away now and then. */
  presence(chance: Chance, stormy: () => boolean): PresenceSource & { seen(nodeId: string, at: Millis): void } {
    return {
      seen: (nodeId, at) => {
        this.lastSeen.set(nodeId, Math.max(at, this.lastSeen.get(nodeId) ?? 0));
        const all = this.heard.get(nodeId) ?? [];
        this.heard.set(nodeId, all);
        all.push(this.time.now());
      },
      lastSeen: async () => {
        const seen = new Map(this.lastSeen);
        if (stormy() && chance.happens(0.01)) {
          await new Promise<void>((resolve) => void this.time.after(chance.int(100, 20_000), resolve));
        }
        if (stormy() && chance.happens(0.01)) throw new Error('the database is away');
        return seen;
      },
    };
  }

  started(agent: SimulatedAgent, told: Told): void {
    this.note(agent.name, `runs ${told.executionId} (partition ${String(told.partition)})`);
    if (this.begun.has(told.executionId)) this.wrong(`${told.executionId} was started twice`);
    this.begun.add(told.executionId);
    this.counts.runs += 1;
    for (const other of this.running) this.holdAgainst(other, told);
    this.running.add({ agent, told });
  }

  ended(agent: SimulatedAgent, { executionId }: Told): void {
    this.note(agent.name, `runs ${executionId} no more`);
    for (const run of this.running) if (run.told.executionId === executionId) this.running.delete(run);
  }

  acknowledged({ name }: SimulatedAgent, report: Report, answer: ReportAnswer): void {
    this.note(name, `${report.type} ${report.executionId}: ${answer.accepted ? 'taken' : (answer.reason ?? 'no')}`);
    if (answer.accepted) this.acknowledgedReports.push({ nodeId: name, report });
    else this.counts.refusedReports += 1;
  }

  /** Tasks that run on machines that are still there. */
  stillRunning(): string[] {
    return [...this.running].filter(({ agent }) => !agent.gone).map(({ told }) => told.executionId);
  }

  /** Jobs that go on until somebody ends them. */
  endless(): string[] {
    const { jobs } = this.cluster;
    return [...jobs.values()].flatMap(({ id, spec, cancelRequested }) =>
      isEndless(spec.type) && !cancelRequested ? [id] : [],
    );
  }

  /** Whether placement counts for a node what its agent really keeps. */
  knowsCacheOf({ name, cached }: SimulatedAgent): boolean {
    const known = this.cluster.nodes.get(name)?.cached;
    return known?.size === cached.length && cached.every((one) => known.has(one));
  }

  /**
   * What keeps the system from being at rest: live executions, capacity held, and jobs that could be placed now. Of jobs that
   * are endless, as long as there are any, only what somebody should have done by now.
   */
  unsettled(): string[] {
    const endless = new Set(this.endless());
    const ends = (executionId: string): boolean => !endless.has(jobIdOfExecution(executionId));
    const open = this.stillRunning()
      .filter(ends)
      .map((id) => `${id} runs`);
    for (const [nodeId, executions] of this.cluster.live) {
      for (const { executionId, state } of executions.values()) {
        if (ends(executionId)) open.push(`${executionId} is ${state} on ${nodeId}`);
      }
    }
    for (const { id, ledger } of this.cluster.nodes.values()) {
      for (const executionId of ledger.keys()) if (ends(executionId)) open.push(`${id} holds ${executionId}`);
    }
    const waits = [...this.cluster.jobs.values()].flatMap((job) => this.unsettledParts(job));
    return [...open, ...waits.filter(({ jobId, overdue }) => overdue || !endless.has(jobId)).map(({ what }) => what)];
  }

  /** Parts of daemons that are not live; unless their users have ended them. */
  daemonsWaiting(): string[] {
    const daemons = [...this.cluster.jobs.values()].filter(
      ({ spec, cancelRequested }) => spec.type === 'daemon' && !cancelRequested,
    );
    return daemons.flatMap(({ id, partitions }) =>
      partitions.flatMap(({ state, target }) =>
        state === 'waiting' ? [`${id} is not live on ${String(target)}`] : [],
      ),
    );
  }

  /** Jobs of which something is overdue, and was so at the last look as well: something should have woken them. */
  lookForOverlooked(): void {
    const before = this.overdue;
    this.overdue = new Map();
    for (const job of this.cluster.jobs.values()) {
      const waits = this.unsettledParts(job).find(({ overdue }) => overdue);
      if (waits === undefined) continue;
      if (before.get(job.id) === job.revision) this.wrong(`${waits.what}, and nobody looks`);
      this.overdue.set(job.id, job.revision);
    }
  }

  /** What is left on nodes whose drain has a deadline that passed before the last look, and was not asked off them. */
  lookForUndrained(since: Millis): void {
    for (const { id, drain } of this.cluster.nodes.values()) {
      if (drain?.deadline === undefined || toMillis(drain.deadline) > since) continue;
      for (const { executionId, reservedAt, stopRequested } of this.cluster.live.get(id)?.values() ?? []) {
        if (stopRequested || toMillis(reservedAt) > since) continue;
        this.wrong(`${executionId} is still on ${id}, which was to be empty at ${drain.deadline}`);
      }
    }
  }

  private unsettledParts(job: ClusterJob): Unsettled[] {
    const now = toInstant(this.time.now());
    const part = (what: string, overdue = false): Unsettled => ({ jobId: job.id, what: `${job.id} ${what}`, overdue });
    if (job.cancelRequested) return [part('is being cancelled')];
    if (job.paused) return [part('is paused')];
    if (job.blocked) return this.isDecided(job) ? [part('waits for others, which is decided', true)] : [];
    const parts = job.partitions.flatMap((partition, index) => {
      if (partition.state !== 'waiting') return [];
      if ((partition.notBefore ?? '') > now) return [part('waits for its backoff')];
      const context = { number: 1, evaluationId: '', trigger: '', partition: index, time: now };
      const { decision, nodeId } = decide(requestOf(job, index), this.cluster, context);
      if (nodeId !== undefined) return [part(`waits, though ${nodeId} could take it`, true)];
      const ghost = this.ghostLine(job.id, decision);
      if (ghost !== undefined) return [part(`is first in the line of ${ghost}, and was not looked at as such`, true)];
      const excluded = decision.filtered.some(({ reason }) => reason === 'node.excluded');
      return excluded ? [part('waits for the end of an exclusion')] : [];
    });
    if (!hasTargets(job.spec.type)) return parts;
    const { added, removed } = targetChange(job, this.cluster, this.time.now());
    const lacks = added.map((nodeId) => part(`is not on ${nodeId}, which matches`, true));
    const keeps = removed.map((nodeId) => part(`is still on ${nodeId}, which does not match`, true));
    const nowhere = job.spec.type === 'ops' && job.partitions.length === 0 ? [part('has no nodes yet', true)] : [];
    if (isMute(job)) nowhere.push(part('is on no node and does not say why', true));
    return [...nowhere, ...lacks, ...keeps, ...parts];
  }

  /** All that it waits for has ended, or one of them otherwise than asked. */
  private isDecided({ spec }: ClusterJob): boolean {
    const { jobs, ended } = this.cluster;
    const impossible = spec.dependsOn.some((one) => {
      const outcome = ended.get(one.job)?.outcome;
      return outcome !== undefined && !isMet(one, outcome);
    });
    return impossible || !spec.dependsOn.some(({ job }) => jobs.has(job));
  }

  /** A pool in whose line the job is the first though it waits for nothing there, or without a node that is kept for it. */
  private ghostLine(jobId: string, { lines = [] }: Decision): string | undefined {
    const pools = [...this.cluster.pools.values()].filter(({ front }) => front?.jobId === jobId);
    const isIn = (name: string): boolean => lines.some(({ pool }) => pool === name);
    return pools.find(({ name, front }) => front?.hold === undefined || !isIn(name))?.name;
  }

  /** The new try of a partition never begins while the old one still counts, or where its node was told of its end. */
  private holdAgainst(other: Run, told: Told): void {
    const same = other.told.jobId === told.jobId && other.told.partition === told.partition;
    if (!same || other.agent.gone) return;
    const end = this.endedAt.get(other.told.executionId);
    const names = `${told.executionId} began while ${other.told.executionId} ran on ${other.agent.name}`;
    if (end === undefined) this.wrong(`${names} and was not over`);
    else if (other.agent.heard >= end) this.wrong(`${names}, which had been told that it is over`);
  }

  private follow(): void {
    for (; this.read < this.log.events.length; this.read += 1) this.see(this.log.events[this.read]!);
  }

  private see(event: RecordedEvent): void {
    const { type, stream, data } = event;
    applyEvent(this.cluster, event);
    const { executionId = '', at } = data as { executionId?: string; at?: Instant };
    if (this.trace) {
      const actor = event.metadata.actor;
      this.note('log', `${String(event.position)} ${stream} ${type} ${actor} ${JSON.stringify(brief(event))}`);
    }
    if (ENDS.has(type)) this.endedAt.set(executionId, event.position);
    if (type === 'ExecutionReserved') this.reserved.set(executionId, this.time.now());
    if (type === 'ExecutionLost' && at !== undefined) this.judgeLoss(event, executionId, at);
    if (type === 'NodeWentOffline' && at !== undefined) {
      this.judgeSilence(event, stream.slice('node-'.length), at, DEFAULT_SCHEDULING.offlineAfter);
    }
    if (type === 'JobFailed') this.judgeTimeout(event);
    if (type === 'ReservationExpired' && at !== undefined) this.judgeExpiry(event, executionId, at);
  }

  /** A job is never ended before its time. */
  private judgeTimeout({ stream, revision, data }: RecordedEvent): void {
    const { code, at } = data as JobFailed['data'];
    if (code !== 'queue-timeout' && code !== 'total-timeout') return;
    const before = this.log.stream(stream).filter((earlier) => earlier.revision < revision);
    // One append may hold the ends of its reservations first.
    const waited = before.filter(
      ({ type, data: told }) => type !== 'ExecutionCancelled' || (told as { at: Instant }).at < at,
    );
    const due = nextTimeout(fold(jobDecider, waited as unknown as JobEvent[]));
    if (due === undefined || at < due) this.wrong(`${stream} timed out at ${at}, due ${String(due)}`);
  }

  private lifeOf(id: string): Life {
    const { process, life } = makerOf(id);
    return this.lives.get(`${String(process)}/${String(life)}`)!;
  }

  private judgeLoss(event: RecordedEvent, executionId: string, at: Instant): void {
    this.judgeSilence(event, this.nodeOf(event.stream, executionId), at, LEASE);
  }

  /** Only of a node that was silent for the whole span, under a control plane that was there for all of it. */
  private judgeSilence({ id, type, stream }: RecordedEvent, nodeId: string, at: Instant, span: Millis): void {
    const { startedAt, clockOffset } = this.lifeOf(id);
    const decided = toMillis(at) - clockOffset;
    const what = `${type} of ${stream} for the silence of ${nodeId}`;
    const up = decided - startedAt;
    if (up < span - SLACK) this.wrong(`${what} ${String(up)} ms after the start of a control plane`);
    const moments = [...(this.heard.get(nodeId) ?? []).filter((moment) => moment <= decided), decided];
    const silent = moments.some(
      (moment, index) => moment >= decided - DECIDED_WITHIN && moment - (moments[index - 1] ?? 0) >= span - SLACK,
    );
    if (!silent) this.wrong(`${what}, which was heard all the time`);
  }

  /** A reservation from before a start of the control plane, or a return of the store, has its whole time from then on. */
  private judgeExpiry(event: RecordedEvent, executionId: string, at: Instant): void {
    const { startedAt, clockOffset } = this.lifeOf(event.id);
    const expired = toMillis(at) - clockOffset;
    const reserved = this.reserved.get(executionId) ?? 0;
    const outages = this.outages.filter(({ until }) => until <= expired).map(({ until }) => until);
    const away = this.outages.some(({ from, until }) => from <= expired && expired < until);
    const since = Math.max(...[startedAt, ...outages].filter((moment) => moment > reserved), -Infinity);
    const [submitted] = this.log.stream(event.stream);
    const { spec } = submitted!.data as JobSubmitted['data'];
    if (!away && expired - since >= spec.timeouts.confirm * 1000) return;
    this.wrong(`${executionId} expired ${String(expired - since)} ms after a return, before its whole grace`);
  }

  private readonly nodes = new Map<string, string>();

  private nodeOf(stream: string, executionId: string): string {
    const known = this.nodes.get(executionId);
    if (known !== undefined) return known;
    for (const { type, data } of this.log.stream(stream)) {
      const { executionId: id, nodeId } = data as { executionId?: string; nodeId?: string };
      if (type === 'ExecutionReserved' && id !== undefined && nodeId !== undefined) this.nodes.set(id, nodeId);
    }
    return this.nodes.get(executionId) ?? '';
  }
}

/** A daemon without a node states why none matches. */
const isMute = ({ spec, partitions, lastDecision }: ClusterJob): boolean =>
  spec.type === 'daemon' && hasNoNode(partitions) && lastDecision?.partition !== partitions.length;

const brief = ({ type, data }: RecordedEvent): object => {
  if (type !== 'PlacementDecided') return type === 'JobSubmitted' || type === 'NodeEnrolled' ? {} : data;
  const { number, trigger, partition, outcome, winner, assumed, position, filtered } = data as Record<string, unknown>;
  const reasons = (filtered as { reason: string; nodes: number }[]).map(({ reason, nodes }) => [reason, nodes]);
  return { number, trigger, partition, outcome, winner, assumed, position, reasons };
};
