import { Heap } from '#kernel';
import type { Decision, TargetsChanged } from '#jobs';
import { JOB_STREAM_PREFIX } from '#jobs';
import { NODE_STREAM_PREFIX } from '#nodes';
import { applyEvent, assume, emptyCluster, requestOf, unassume } from '#placement';
import type { AssumedReservation, ClusterEvent, ClusterJob, ClusterState, PlacementRequest } from '#placement';

/** A decision as the log has it; `position` is that of its own event, which comes after the one that it looked from. */
export interface RecordedDecision {
  readonly jobId: string;
  readonly position: bigint;
  readonly decision: Decision;
}

/** A change of a job's nodes as the log has it; `position` as above. */
export interface RecordedTargets {
  readonly jobId: string;
  readonly position: bigint;
  readonly targets: TargetsChanged['data'];
}

/** What is derived from the state that it names, and recorded later. */
export type Recorded = RecordedDecision | RecordedTargets;

/** All that a decision was made from, brought back. To be used before the walk goes on: the cluster moves with it. */
export interface DecisionPoint {
  readonly recorded: RecordedDecision;
  /** Folded to the decision's position, with the reservations that it took for granted. */
  readonly cluster: ClusterState;
  /** Absent when the log has no such job there. */
  readonly request: PlacementRequest | undefined;
  /** Reservations that the decision took for granted and that no node's ledger ever had. */
  readonly missing: readonly string[];
}

/** All that a change of a job's nodes was made from; as above. */
export interface TargetsPoint {
  readonly recorded: RecordedTargets;
  readonly cluster: ClusterState;
  /** Absent when the log has no such job there. */
  readonly job: ClusterJob | undefined;
}

export type DerivationPoint = DecisionPoint | TargetsPoint;

export const isOfDecision = (point: DerivationPoint): point is DecisionPoint => 'decision' in point.recorded;

/** Events that are held back at most: a decision is recorded within so many events of the position that it looked from. */
const WINDOW = 8_192;

/** Folded events that may stay in the list before it is cut. */
const TRIMMED_AT = 1_024;

/** What an event records that can be derived again, if it does. */
export const recordedBy = ({ stream, type, position, data }: ClusterEvent): Recorded | undefined => {
  if (!stream.startsWith(JOB_STREAM_PREFIX)) return undefined;
  const jobId = stream.slice(JOB_STREAM_PREFIX.length);
  if (type === 'PlacementDecided') return { jobId, position, decision: data as Decision };
  return type === 'TargetsChanged' ? { jobId, position, targets: data as TargetsChanged['data'] } : undefined;
};

/**
 * Goes once through the log and stops at each decision, and each change of a job's nodes, with the cluster as it was seen
 * then. A decision (so does such a change) looks from a
 * position that lies *before* its own event, and others are recorded in between, so two places move: events are read at the
 * front, where decisions and claims become known, and folded `window` events behind it. Just before an event is folded,
 * every known decision that looked from before it is due.
 *
 * A decision that was recorded more than a window after it looked is found too late and kept in `late`; a second walk,
 * told of it beforehand (`expect`, `claim`), stops at it.
 */
export class DecisionWalk {
  readonly late: Recorded[] = [];
  private readonly cluster = emptyCluster();
  private readonly claims = new Map<string, AssumedReservation>();
  private readonly due = new Heap<Recorded>(earlier);
  private held: ClusterEvent[] = [];
  private oldest = 0;

  /** `wanted` says at which of the decisions that are met to stop; by default at all. */
  constructor(
    private readonly wanted: (recorded: Recorded) => boolean = () => true,
    private readonly window = WINDOW,
  ) {}

  /** How many decisions are still to be stopped at, of those known. */
  get pending(): number {
    return this.due.size;
  }

  /** Tells of a decision before its event is reached. */
  expect(recorded: Recorded): void {
    this.due.push(recorded);
  }

  /** Notes the claim if the event is one. */
  claim({ stream, type, data }: ClusterEvent): void {
    if (type !== 'CapacityReserved' || !stream.startsWith(NODE_STREAM_PREFIX)) return;
    const { executionId, jobId, project, contract } = data as AssumedReservation;
    const nodeId = stream.slice(NODE_STREAM_PREFIX.length);
    this.claims.set(executionId, { executionId, nodeId, jobId, project, contract });
  }

  /** The next event of the log. */
  *push(event: ClusterEvent): Generator<DerivationPoint> {
    this.claim(event);
    const recorded = recordedBy(event);
    if (recorded && this.wanted(recorded)) this.meet(recorded);
    this.held.push(event);
    while (this.held.length - this.oldest > this.window) yield* this.foldOldest();
  }

  /** The log has no more events. */
  *end(): Generator<DerivationPoint> {
    while (this.held.length > this.oldest) yield* this.foldOldest();
    yield* this.stopBefore(undefined);
  }

  private meet(recorded: Recorded): void {
    if (lookedFrom(recorded) < this.cluster.position) this.late.push(recorded);
    else this.due.push(recorded);
  }

  private *foldOldest(): Generator<DerivationPoint> {
    const event = this.held[this.oldest] as ClusterEvent;
    yield* this.stopBefore(event.position);
    applyEvent(this.cluster, event);
    if (event.type === 'CapacityReserved') this.claims.delete((event.data as AssumedReservation).executionId);
    this.oldest += 1;
    if (this.oldest * 2 < this.held.length || this.oldest < TRIMMED_AT) return;
    this.held = this.held.slice(this.oldest);
    this.oldest = 0;
  }

  private *stopBefore(position: bigint | undefined): Generator<DerivationPoint> {
    for (let next = this.due.peek(); next; next = this.due.peek()) {
      if (position !== undefined && lookedFrom(next) >= position) return;
      this.due.pop();
      yield* this.stopAt(next);
    }
  }

  private *stopAt(recorded: Recorded): Generator<DerivationPoint> {
    if ('decision' in recorded) yield* this.stopAtDecision(recorded);
    else yield { recorded, cluster: this.cluster, job: this.cluster.jobs.get(recorded.jobId) };
  }

  private *stopAtDecision(recorded: RecordedDecision): Generator<DecisionPoint> {
    const { jobId, decision } = recorded;
    const claims = decision.assumed.map((executionId) => this.claims.get(executionId));
    for (const claim of claims) if (claim) assume(this.cluster, claim);
    const job = this.cluster.jobs.get(jobId);
    yield {
      recorded,
      cluster: this.cluster,
      request: job && requestOf(job, decision.partition),
      missing: decision.assumed.filter((_, index) => !claims[index]),
    };
    for (const claim of claims) if (claim) unassume(this.cluster, claim.executionId);
  }
}

/** A position that is none was not written by a scheduler; the decision is then looked at where it was recorded. */
const lookedFrom = (recorded: Recorded): bigint => {
  const { position } = 'decision' in recorded ? recorded.decision : recorded.targets;
  return /^(?:-1|\d{1,19})$/.test(position) ? BigInt(position) : recorded.position;
};

const earlier = (left: Recorded, right: Recorded): boolean => {
  const [first, second] = [lookedFrom(left), lookedFrom(right)];
  return first === second ? left.position < right.position : first < second;
};
