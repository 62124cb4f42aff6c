import { Heap } from '#kernel';
import type { Decision } from '#jobs';
import { JOB_STREAM_PREFIX } from '#jobs';
import { NODE_STREAM_PREFIX } from '#nodes';
import { applyEvent, assume, emptyCluster, requestOf, unassume } from '#placement';
import type { AssumedReservation, ClusterEvent, ClusterState, PlacementRequest } from '#placement';

/** A decision as the log has it; `position` is that of its own event, which comes after the one that it looked from. */
export interface RecordedDecision {
  readonly jobId: string;
  readonly position: bigint;
  readonly decision: Decision;
}

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

/** Events that are held back at most: a decision is recorded within so many events of the position that it looked from. */
const WINDOW = 8_192;

/** Folded events that may stay in the list before it is cut. */
const TRIMMED_AT = 1_024;

/** The decision that an event records, if it records one. */
export const recordedDecision = ({ stream, type, position, data }: ClusterEvent): RecordedDecision | undefined =>
  type === 'PlacementDecided' && stream.startsWith(JOB_STREAM_PREFIX)
    ? { jobId: stream.slice(JOB_STREAM_PREFIX.length), position, decision: data as Decision }
    : undefined;

/**
 * Goes once through the log and stops at each decision with the cluster as the decision saw it. A decision looks from a
 * position that lies *before* its own event, and others are recorded in between, so two places move: events are read at the
 * front, where decisions and claims become known, and folded `window` events behind it. Just before an event is folded,
 * every known decision that looked from before it is due.
 *
 * A decision that was recorded more than a window after it looked is found too late and kept in `late`; a second walk,
 * told of it beforehand (`expect`, `claim`), stops at it.
 */
export class DecisionWalk {
  readonly late: RecordedDecision[] = [];
  private readonly cluster = emptyCluster();
  private readonly claims = new Map<string, AssumedReservation>();
  private readonly due = new Heap<RecordedDecision>(earlier);
  private held: ClusterEvent[] = [];
  private oldest = 0;

  /** `wanted` says at which of the decisions that are met to stop; by default at all. */
  constructor(
    private readonly wanted: (recorded: RecordedDecision) => boolean = () => true,
    private readonly window = WINDOW,
  ) {}

  /** How many decisions are still to be stopped at, of those known. */
  get pending(): number {
    return this.due.size;
  }

  /** Tells of a decision before its event is reached. */
  expect(recorded: RecordedDecision): void {
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
  *push(event: ClusterEvent): Generator<DecisionPoint> {
    this.claim(event);
    const recorded = recordedDecision(event);
    if (recorded && this.wanted(recorded)) this.meet(recorded);
    this.held.push(event);
    while (this.held.length - this.oldest > this.window) yield* this.foldOldest();
  }

  /** The log has no more events. */
  *end(): Generator<DecisionPoint> {
    while (this.held.length > this.oldest) yield* this.foldOldest();
    yield* this.stopBefore(undefined);
  }

  private meet(recorded: RecordedDecision): void {
    if (lookedFrom(recorded) < this.cluster.position) this.late.push(recorded);
    else this.due.push(recorded);
  }

  private *foldOldest(): Generator<DecisionPoint> {
    const event = this.held[this.oldest] as ClusterEvent;
    yield* this.stopBefore(event.position);
    applyEvent(this.cluster, event);
    if (event.type === 'CapacityReserved') this.claims.delete((event.data as AssumedReservation).executionId);
    this.oldest += 1;
    if (this.oldest * 2 < this.held.length || this.oldest < TRIMMED_AT) return;
    this.held = this.held.slice(this.oldest);
    this.oldest = 0;
  }

  private *stopBefore(position: bigint | undefined): Generator<DecisionPoint> {
    for (let next = this.due.peek(); next; next = this.due.peek()) {
      if (position !== undefined && lookedFrom(next) >= position) return;
      this.due.pop();
      yield* this.stopAt(next);
    }
  }

  private *stopAt(recorded: RecordedDecision): Generator<DecisionPoint> {
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
const lookedFrom = ({ decision, position }: RecordedDecision): bigint =>
  /^(?:-1|\d{1,19})$/.test(decision.position) ? BigInt(decision.position) : position;

const earlier = (left: RecordedDecision, right: RecordedDecision): boolean => {
  const [first, second] = [lookedFrom(left), lookedFrom(right)];
  return first === second ? left.position < right.position : first < second;
};
