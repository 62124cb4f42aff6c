import type { RankedNode } from '#jobs';
import type { Millis } from '#kernel';
import type { NodeColumns } from '../cluster/columns.js';
import type { ClusterNode, ClusterState } from '../cluster/state.js';
import { stepStart } from '../cluster/steps.js';
import { PASS } from '../filters/check.js';
import type { Check, Offer } from '../filters/check.js';
import { REASONS } from '../filters/reasons.js';
import { checksOfEach } from '../filters/stages.js';
import type { PlacementRequest } from '../request.js';
import { profileOf } from '../scores/profiles.js';
import type { ChosenProfile } from '../scores/profiles.js';
import { BestOffers } from './offers.js';
import { ELIGIBLE, Patterns } from './patterns.js';
import { ScoreColumns } from './score-columns.js';

/** Not asked yet. */
const UNKNOWN = -1;

/** A row that time alone can change. */
interface Timed {
  /** The row was filled in then, and stands until `lasts`. */
  readonly from: Millis;
  readonly lasts: Millis;
  /** When time alone may first lift one of its reasons. */
  readonly liftedAt: Millis;
}

const NONE: ReadonlySet<string> = new Set();

/** A request of the same shape that names no node. */
const shapeOnly = (request: PlacementRequest): PlacementRequest => ({
  ...request,
  jobId: '',
  exclusions: new Map(),
  avoid: NONE,
});

/**
 * What every node answers to requests of one shape, and how it scores: a row for each node, filled in again when the node
 * changes or when its time is up. So all nodes are considered in every decision, and only what changed since the last
 * decision of this shape is computed. A cache: an empty board comes to the same.
 */
export class ShapeBoard {
  readonly profile: ChosenProfile;
  readonly patterns: Patterns;
  private readonly scores: ScoreColumns;
  /** The number of each node's pattern. */
  pattern = new Int32Array(64).fill(UNKNOWN);
  private readonly shape: PlacementRequest;
  private size = 0;
  readonly checks: readonly Check[];
  private readonly verdicts: Uint8Array;
  private readonly best: BestOffers;
  private readonly timed = new Map<number, Timed>();
  /** Rows that hold what one request named, until the next look. */
  private named: readonly number[] = [];
  private tick = 0;
  private step = Number.NaN;
  private mixVersion = -1;

  constructor(
    private readonly columns: NodeColumns,
    request: PlacementRequest,
    cluster: ClusterState,
  ) {
    this.shape = shapeOnly(request);
    this.profile = profileOf(request.spec);
    this.checks = checksOfEach(this.shape, cluster);
    this.verdicts = new Uint8Array(this.checks.length);
    this.patterns = new Patterns(this.checks.length);
    this.best = new BestOffers(this.checks.length * 2);
    this.scores = new ScoreColumns(this.shape, this.profile, cluster.mix);
  }

  /** How many nodes there were at the last look. */
  get considered(): number {
    return this.size;
  }

  get eligible(): number {
    return this.patterns.counts[ELIGIBLE] ?? 0;
  }

  /** Nodes without a "never" among their reasons. */
  get possible(): number {
    const { list, counts } = this.patterns;
    return list.reduce((sum, { never }, number) => sum + (never ? 0 : (counts[number] ?? 0)), 0);
  }

  /** Scores by place; only those of eligible nodes mean something. */
  get score(): Float64Array {
    return this.scores.score;
  }

  ranked(place: number, request: PlacementRequest, at: Millis): RankedNode {
    return this.scores.ranked(place, this.nodeAt(place), request, at);
  }

  nodeAt(place: number): ClusterNode {
    return this.columns.nodes[place] as ClusterNode;
  }

  checkAt(place: number): Check {
    return this.checks[place >> 1] as Check;
  }

  /** Brings the board up to date for one request of its shape, whose named nodes are asked apart. */
  look(request: PlacementRequest, named: readonly number[], cluster: ClusterState, at: Millis): void {
    this.grow();
    const step = stepStart(at);
    const { changedAt, tick } = this.columns;
    for (const place of this.named) this.fill(place, this.shape, this.checks, at);
    this.named = [];
    if (tick > this.tick) this.fillChanged(changedAt, at);
    for (const [place, { from, lasts }] of this.timed) {
      if (at < from || at >= lasts) this.fill(place, this.shape, this.checks, at);
    }
    if (step !== this.step && this.tick > 0) this.scores.age(this.columns.nodes, this.pattern, at);
    if (cluster.mix.version !== this.mixVersion && this.tick > 0) this.scores.remix(this.columns.nodes, this.pattern);
    this.mixVersion = cluster.mix.version;
    this.tick = tick;
    this.step = step;
    if (named.length > 0) this.fillNamed(request, named, cluster, at);
    this.scores.rescale(this.pattern, this.size);
  }

  /** The earliest moment at which time alone may let a node in that has no "never" among its reasons. */
  liftedAt(): Millis {
    let earliest = Infinity;
    for (const { liftedAt } of this.timed.values()) if (liftedAt < earliest) earliest = liftedAt;
    return earliest;
  }

  /** Until when the node's answers stand unless something happens; Infinity when time changes nothing. */
  lastsAt(place: number): Millis {
    return this.timed.get(place)?.lasts ?? Infinity;
  }

  /** The best that a node with this reason offers. */
  bestOffer(place: number, at: Millis): Offer {
    const check = this.checkAt(place);
    return this.best.of(place, () => {
      const { patterns, pattern } = this;
      const withReason = patterns.list.map(({ places }) => places.includes(place));
      for (let node = 0; node < this.size; node += 1) {
        if (withReason[pattern[node] ?? UNKNOWN] === true)
          this.best.offered(place, check.code, node, check.offer(this.nodeAt(node), at));
      }
    });
  }

  private fillNamed(request: PlacementRequest, named: readonly number[], cluster: ClusterState, at: Millis): void {
    const checks = checksOfEach(request, cluster);
    for (const place of named) this.fill(place, request, checks, at);
    this.named = named;
  }

  private fillChanged(changedAt: Float64Array, at: Millis): void {
    for (let place = 0; place < this.size; place += 1) {
      if ((changedAt[place] ?? 0) > this.tick) this.fill(place, this.shape, this.checks, at);
    }
  }

  private fill(place: number, request: PlacementRequest, checks: readonly Check[], at: Millis): void {
    const node = this.nodeAt(place);
    const { verdicts, patterns } = this;
    for (let index = 0; index < checks.length; index += 1) {
      verdicts[index] = (checks[index] as Check).test(node, at);
    }
    const before = this.pattern[place] ?? UNKNOWN;
    const now = patterns.numberOf(verdicts);
    patterns.move(before, now);
    this.pattern[place] = now;
    this.offer(place, node, before, now, checks, at);
    this.time(place, node, now, checks, at);
    if (now === ELIGIBLE) this.scores.fill(place, node, request, at);
  }

  private offer(
    place: number,
    node: ClusterNode,
    before: number,
    now: number,
    checks: readonly Check[],
    at: Millis,
  ): void {
    for (const reason of this.patterns.list[before]?.places ?? []) this.best.left(reason, place);
    for (const reason of this.patterns.list[now]?.places ?? []) {
      const check = checks[reason >> 1] as Check;
      if (REASONS[check.code].better === 'own') continue;
      this.best.offered(reason, check.code, place, check.offer(node, at));
    }
  }

  private time(place: number, node: ClusterNode, now: number, checks: readonly Check[], at: Millis): void {
    let lasts: Millis | undefined;
    let liftedAt = Infinity;
    for (let index = 0; index < checks.length; index += 1) {
      const check = checks[index] as Check;
      const until = check.lasts?.(node, at);
      if (until !== undefined) lasts = Math.min(lasts ?? Infinity, until);
      if (this.verdicts[index] !== PASS) liftedAt = Math.min(liftedAt, check.until(node, at) ?? Infinity);
    }
    if (this.patterns.list[now]?.never === true) liftedAt = Infinity;
    if (lasts === undefined && liftedAt === Infinity) this.timed.delete(place);
    else this.timed.set(place, { from: at, lasts: lasts ?? Infinity, liftedAt });
  }

  private grow(): void {
    const { length } = this.columns.nodes;
    if (length > this.pattern.length) {
      const wider = new Int32Array(Math.max(length, this.pattern.length * 2)).fill(UNKNOWN);
      wider.set(this.pattern);
      this.pattern = wider;
    }
    this.scores.grow(length);
    this.size = length;
  }
}
