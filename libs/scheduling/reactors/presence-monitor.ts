import { toInstant } from '#kernel';
import type { Clock, Instant, Millis, Timer, Timers } from '#kernel';
import { jobIdOfExecution, jobStream } from '#jobs';
import type { JobCommand, JobState } from '#jobs';
import { nodeStream } from '#nodes';
import type { NodeCommand, NodeState } from '#nodes';
import type { ClusterState } from '#placement';
import type { Commands, PresenceSource, SchedulingLog, SchedulingObserver, SchedulingOptions } from '../ports.js';
import type { ClusterView } from '../view/cluster-view.js';

export interface PresenceMonitorParts {
  readonly view: ClusterView;
  readonly presence: PresenceSource;
  readonly jobs: Commands<JobCommand, JobState>;
  readonly nodes: Commands<NodeCommand, NodeState>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: SchedulingLog;
  readonly observer: SchedulingObserver;
  readonly options: Pick<SchedulingOptions, 'offlineAfter' | 'lostAfter' | 'presenceInterval'>;
}

const ACTOR = { actor: 'system:presence' };

/**
 * Turns silence into facts.
 *
 * Every `presenceInterval` each node's last message is looked at. *Present*: heard within `offlineAfter`. *Silent* for
 * longer: recorded as offline, takes no new work. *Lost*, silent for `lostAfter` more: what it had confirmed is over and
 * goes back to the queue; what an `ops` job waits to run there, and nowhere else, is given up. No silence counts from
 * before `since`, which is the start of this monitor and again each time the presence source or the log was out of reach: a
 * node that could not reach us gets its whole grace first.
 */
export class PresenceMonitor {
  private since: Millis = 0;
  private timer: Timer | undefined;
  private looking: Promise<void> | undefined;

  constructor(private readonly parts: PresenceMonitorParts) {}

  start(): void {
    this.since = this.parts.clock.now();
    this.timer = this.parts.timers.every(this.parts.options.presenceInterval, () => this.look());
  }

  async stop(): Promise<void> {
    this.timer?.cancel();
    await this.looking;
  }

  private look(): void {
    if (!this.parts.view.ready) this.since = this.parts.clock.now();
    this.looking ??= this.lookAtAll().finally(() => (this.looking = undefined));
  }

  /** Silence counts up to the moment before the source was asked: what came since is not in its answer. */
  private async lookAtAll(): Promise<void> {
    const asOf = this.parts.clock.now();
    const seen = await this.lastSeen();
    if (!seen) return;
    const nodes = [...this.parts.view.cluster.nodes.values()];
    const parts = new PartsOfNodes(this.parts.view.cluster);
    const judged = nodes.map(({ id }) => this.judge(id, Math.max(seen.get(id) ?? 0, this.since), asOf, parts));
    for (const outcome of await Promise.allSettled(judged)) {
      if (outcome.status === 'fulfilled') continue;
      this.parts.log.warn({ err: outcome.reason as unknown }, 'a silence was not recorded, it is tried again');
    }
  }

  private async lastSeen(): Promise<ReadonlyMap<string, Millis> | undefined> {
    try {
      return await this.parts.presence.lastSeen();
    } catch (error) {
      this.since = this.parts.clock.now();
      this.parts.log.warn({ err: error }, 'presence is out of reach, every node gets its grace again');
      return undefined;
    }
  }

  private async judge(nodeId: string, last: Millis, asOf: Millis, parts: PartsOfNodes): Promise<void> {
    const { options, view } = this.parts;
    const online = view.cluster.nodes.get(nodeId)?.online;
    const silent = asOf - last;
    if (online && silent > options.offlineAfter) await this.goOffline(nodeId, last, silent);
    if (!online && silent > options.offlineAfter + options.lostAfter) await this.loseAll(nodeId, silent, parts);
  }

  private async goOffline(nodeId: string, last: Millis, silent: Millis): Promise<void> {
    const reason = `no message for ${String(Math.round(silent / 1000))} s`;
    const at = toInstant(this.parts.clock.now());
    const command: NodeCommand = { type: 'MarkOffline', lastSeenAt: toInstant(last), reason, at };
    await this.parts.nodes.handle(nodeStream(nodeId), command, ACTOR);
  }

  /** An unconfirmed reservation has its own deadline and is left to it. */
  private async loseAll(nodeId: string, silent: Millis, parts: PartsOfNodes): Promise<void> {
    const reason = `node ${nodeId} was silent for ${String(Math.round(silent / 1000))} s`;
    const at = toInstant(this.parts.clock.now());
    const executions = [...(this.parts.view.cluster.live.get(nodeId)?.values() ?? [])];
    const lost = executions.filter(({ state }) => state !== 'reserved');
    const waiting = parts.waitingFor(nodeId);
    await Promise.all([
      ...lost.map(({ executionId }) => this.lose(executionId, reason, at)),
      ...waiting.map((part) => this.giveUp(part, reason, at)),
    ]);
  }

  private async lose(executionId: string, reason: string, at: Instant): Promise<void> {
    const command: JobCommand = { type: 'DeclareExecutionLost', executionId, reason, at };
    const answer = await this.parts.jobs.handle(jobStream(jobIdOfExecution(executionId)), command, ACTOR);
    if (answer.kind === 'done' && answer.events > 0) this.parts.observer.lost?.();
  }

  private async giveUp({ jobId, partition }: WaitingPart, message: string, at: Instant): Promise<void> {
    const lost = { class: 'node-lost', code: 'node-lost', message } as const;
    await this.parts.jobs.handle(jobStream(jobId), { type: 'FailPartition', partition, ...lost, at }, ACTOR);
  }
}

interface WaitingPart {
  readonly jobId: string;
  readonly partition: number;
}

/** What waits for one node alone and, unlike a part of a daemon, not for ever; found when it is first asked for. */
class PartsOfNodes {
  private known: ReadonlyMap<string, readonly WaitingPart[]> | undefined;

  constructor(private readonly cluster: ClusterState) {}

  waitingFor(nodeId: string): readonly WaitingPart[] {
    this.known ??= this.find();
    return this.known.get(nodeId) ?? [];
  }

  private find(): ReadonlyMap<string, readonly WaitingPart[]> {
    const found = new Map<string, WaitingPart[]>();
    for (const { id: jobId, spec, partitions } of this.cluster.jobs.values()) {
      if (spec.type !== 'ops') continue;
      partitions.forEach(({ state, target }, partition) => {
        if (state !== 'waiting' || target === undefined) return;
        found.set(target, [...(found.get(target) ?? []), { jobId, partition }]);
      });
    }
    return found;
  }
}
