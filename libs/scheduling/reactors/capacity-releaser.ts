import { toInstant, toMillis } from '#kernel';
import type { Clock, Instant, Timer, Timers } from '#kernel';
import type { RecordedEvent } from '#event-store';
import { isLive, jobIdOfExecution, jobStream } from '#jobs';
import type { JobCommand, JobState } from '#jobs';
import { isWithin, NODE_STREAM_PREFIX, nodeStream } from '#nodes';
import type { Contract, NodeCommand, NodeState, ReleaseCause } from '#nodes';
import type { LiveExecution } from '#placement';
import type { Commands, SchedulingLog, SchedulingOptions } from '../ports.js';
import type { ClusterView } from '../view/cluster-view.js';

export interface ReleaserParts {
  readonly view: ClusterView;
  readonly jobs: Commands<JobCommand, JobState> & {
    load(stream: string): Promise<{ state: JobState; revision: bigint | undefined }>;
  };
  readonly nodes: Commands<NodeCommand, NodeState>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: SchedulingLog;
  readonly options: Pick<SchedulingOptions, 'reconcileInterval'>;
}

interface Claim {
  readonly executionId: string;
  readonly nodeId: string;
  readonly expiresAt: Instant;
}

/** The event that ends an execution, and the word for it in the node's ledger. */
const CAUSES: Readonly<Record<string, ReleaseCause>> = {
  ExecutionSucceeded: 'succeeded',
  ExecutionFailed: 'failed',
  ExecutionLost: 'lost',
  ExecutionCancelled: 'cancelled',
  ReservationExpired: 'expired',
  ReservationDeclined: 'declined',
};

const ACTOR = { actor: 'system:releaser' };

/**
 * Gives capacity back when its execution has ended, whatever way, and what a node did without when it confirmed.
 *
 * Two modes side by side. *Following*: each ending event in the log is answered by one release, each confirmation with a
 * smaller contract by one reduction. *Comparing*, at the start and then at every `reconcileInterval`: each claim in a
 * ledger is held against its job; one of which less was confirmed is reduced, and one whose execution has ended, or never
 * reached the job and is past its time, is released. Until then a ledger holds too much, never too little. It makes a
 * second release or reduction of the same claim a no-op, so the modes may overlap. Both end with `stop`.
 */
export class CapacityReleaser {
  private stopListening: (() => void) | undefined;
  private comparing: Timer | undefined;
  private comparison: Promise<void> | undefined;
  private readonly underWay = new Set<Promise<void>>();
  /** Where each claim stands, by execution: the ending events name the execution alone. */
  private readonly claims = new Map<string, Claim>();

  constructor(private readonly parts: ReleaserParts) {}

  start(): void {
    for (const { id: nodeId, ledger } of this.parts.view.cluster.nodes.values()) {
      for (const { executionId, expiresAt } of ledger.values()) this.claim(executionId, nodeId, expiresAt);
    }
    this.stopListening = this.parts.view.listen((event) => this.hear(event));
    this.comparing = this.parts.timers.every(this.parts.options.reconcileInterval, () => this.compare());
    this.compare();
  }

  async stop(): Promise<void> {
    this.stopListening?.();
    this.comparing?.cancel();
    await this.comparison;
    await Promise.all(this.underWay);
  }

  private hear(event: RecordedEvent): void {
    const { executionId, expiresAt, contract } = event.data as {
      readonly executionId: string;
      readonly expiresAt?: Instant;
      readonly contract?: Contract;
    };
    if (event.type === 'CapacityReserved') {
      this.claim(executionId, event.stream.slice(NODE_STREAM_PREFIX.length), expiresAt);
    }
    if (event.type === 'CapacityReleased') this.claims.delete(executionId);
    const claim = this.claims.get(executionId);
    if (!claim) return;
    if (event.type === 'ReservationConfirmed' && contract) this.reduce(claim, contract, event.id);
    const cause = CAUSES[event.type];
    if (cause) this.release(claim, cause, event.id);
  }

  private claim(executionId: string, nodeId: string, expiresAt: Instant | undefined): void {
    if (expiresAt !== undefined) this.claims.set(executionId, { executionId, nodeId, expiresAt });
  }

  private release({ executionId, nodeId }: Claim, cause: ReleaseCause, causationId?: string): void {
    this.tell(nodeId, { type: 'ReleaseCapacity', executionId, cause, at: this.now() }, causationId);
  }

  private reduce({ executionId, nodeId }: Claim, contract: Contract, causationId?: string): void {
    this.tell(nodeId, { type: 'ReduceCapacity', executionId, contract, at: this.now() }, causationId);
  }

  /** What fails is made up for by the next comparison. */
  private tell(nodeId: string, command: NodeCommand, causationId?: string): void {
    const context = causationId === undefined ? ACTOR : { ...ACTOR, causationId };
    const warn = (error: unknown): void =>
      this.parts.log.warn({ nodeId, command, err: error }, 'a ledger was not told, it is made up for');
    const told = this.parts.nodes.handle(nodeStream(nodeId), command, context).then(() => undefined, warn);
    this.underWay.add(told);
    void told.then(() => this.underWay.delete(told));
  }

  private now(): Instant {
    return toInstant(this.parts.clock.now());
  }

  private compare(): void {
    this.comparison ??= this.compareAll().finally(() => (this.comparison = undefined));
  }

  /** One claim that cannot be settled now keeps no other from it. */
  private async compareAll(): Promise<void> {
    for (const claim of [...this.claims.values()]) {
      const { executionId } = claim;
      const job = this.parts.view.cluster.jobs.get(jobIdOfExecution(executionId));
      const execution = job?.executions.get(executionId);
      try {
        if (execution) this.settleLive(claim, execution);
        else await this.settleUnknown(claim);
      } catch (error) {
        this.parts.log.warn({ executionId, err: error }, 'a claim was not compared with its job, it is tried again');
      }
    }
  }

  private settleLive(claim: Claim, { contract }: LiveExecution): void {
    const held = this.parts.view.cluster.nodes.get(claim.nodeId)?.ledger.get(claim.executionId)?.contract;
    if (held && isWithin(contract, held) && !isWithin(held, contract)) this.reduce(claim, contract);
  }

  /** The view keeps live executions only, so the job itself is asked how this one ended, or whether it ever began. */
  private async settleUnknown(claim: Claim): Promise<void> {
    const { clock, jobs } = this.parts;
    const { executionId, nodeId } = claim;
    const stream = jobStream(jobIdOfExecution(executionId));
    const { state: job } = await jobs.load(stream);
    const execution = job.executions[executionId];
    if (execution) {
      if (!isLive(execution)) this.release(claim, causeOf(execution.state));
      return;
    }
    if (toMillis(claim.expiresAt) > clock.now()) return;
    const command: JobCommand = { type: 'AbandonReservation', executionId, nodeId, at: this.now() };
    const answer = await jobs.handle(stream, command, ACTOR);
    if (answer.kind === 'revision-mismatch') return;
    if (!answer.state.executions[executionId]) this.release(claim, 'abandoned');
  }
}

const causeOf = (state: string): ReleaseCause => {
  const causes: readonly ReleaseCause[] = ['succeeded', 'failed', 'lost', 'cancelled', 'expired', 'declined'];
  return causes.find((cause) => cause === state) ?? 'abandoned';
};
