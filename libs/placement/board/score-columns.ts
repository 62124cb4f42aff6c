import type { RankedNode } from '#jobs';
import type { Millis } from '#kernel';
import type { JobMix } from '../cluster/mix.js';
import type { ClusterNode } from '../cluster/state.js';
import type { PlacementRequest } from '../request.js';
import { costValue } from '../scores/cost.js';
import type { CostScale } from '../scores/cost.js';
import { availabilityOf, reliabilityOf, standingOf } from '../scores/measures.js';
import type { ChosenProfile } from '../scores/profiles.js';
import { resources } from '../scores/resources.js';
import { finalValue, rankedNode } from '../scores/score.js';
import { ELIGIBLE } from './patterns.js';

/** What a column starts with room for. */
const ROOM = 64;
const FREE: CostScale = { cheapest: Infinity, someFree: true };

/** The scores of the eligible nodes of a board; what stands at the place of another node means nothing. */
export class ScoreColumns {
  /** Σ weight × value ÷ Σ weight. */
  score = new Float64Array(ROOM);
  private resources = new Float64Array(ROOM);
  private queue = new Float64Array(ROOM);
  private cost = new Float64Array(ROOM);
  private lift = new Float64Array(ROOM);
  private reliability = new Float64Array(ROOM);
  private availability = new Float64Array(ROOM);
  private scale = FREE;
  /** Some node asks for money, so that costs have to be compared. */
  private priced = false;
  private readonly total: number;
  private readonly maxCost: number | undefined;

  constructor(
    private readonly shape: PlacementRequest,
    private readonly profile: ChosenProfile,
    private readonly mix: JobMix,
  ) {
    const { resources, reliability, availability, queue, cost } = profile.weights;
    this.total = resources + reliability + availability + queue + cost;
    const { estimate, budget } = shape.spec;
    this.maxCost = estimate.duration === undefined ? undefined : budget?.maxCost;
  }

  grow(length: number): void {
    if (length <= this.score.length) return;
    const wider = (column: Float64Array): Float64Array<ArrayBuffer> => {
      const grown = new Float64Array(Math.max(length, column.length * 2));
      grown.set(column);
      return grown;
    };
    this.score = wider(this.score);
    this.resources = wider(this.resources);
    this.queue = wider(this.queue);
    this.cost = wider(this.cost);
    this.lift = wider(this.lift);
    this.reliability = wider(this.reliability);
    this.availability = wider(this.availability);
  }

  fill(place: number, node: ClusterNode, request: PlacementRequest, at: Millis): void {
    const { resources, queue, cost, lift } = standingOf(node, request, this.profile, this.mix);
    this.resources[place] = finalValue(resources.value, lift);
    this.queue[place] = finalValue(queue.value, lift);
    this.cost[place] = cost;
    this.lift[place] = lift;
    if (cost > 0) this.priced = true;
    this.fillAging(place, node, at);
    this.add(place);
  }

  /** Another picture of the mix was taken. */
  remix(nodes: readonly ClusterNode[], pattern: Int32Array): void {
    for (let place = 0; place < nodes.length; place += 1) {
      if (pattern[place] !== ELIGIBLE) continue;
      const { value } = resources(nodes[place] as ClusterNode, this.shape, this.profile.strategy, this.mix);
      this.resources[place] = finalValue(value, this.lift[place] ?? 0);
      this.add(place);
    }
  }

  /** A new step of time began. */
  age(nodes: readonly ClusterNode[], pattern: Int32Array, at: Millis): void {
    for (let place = 0; place < nodes.length; place += 1) {
      if (pattern[place] !== ELIGIBLE) continue;
      this.fillAging(place, nodes[place] as ClusterNode, at);
      this.add(place);
    }
  }

  /** Measures costs against those of the nodes that are eligible now. */
  rescale(pattern: Int32Array, length: number): void {
    if (!this.priced) return;
    const scale = this.scaleOf(pattern, length);
    if (scale.cheapest === this.scale.cheapest && scale.someFree === this.scale.someFree) return;
    this.scale = scale;
    for (let place = 0; place < length; place += 1) if (pattern[place] === ELIGIBLE) this.add(place);
  }

  /** The node's factors in full, for the record. */
  ranked(place: number, node: ClusterNode, request: PlacementRequest, at: Millis): RankedNode {
    const standing = standingOf(node, request, this.profile, this.mix);
    const { resources, queue, cost } = standing;
    const measures = {
      resources,
      reliability: reliabilityOf(node, request, at),
      availability: availabilityOf(node, request, at),
      queue,
      cost: { raw: cost, value: costValue(cost, this.scale, this.maxCost) },
    };
    return rankedNode(node.id, measures, standing, this.profile.weights);
  }

  private scaleOf(pattern: Int32Array, length: number): CostScale {
    let cheapest = Infinity;
    let someFree = false;
    for (let place = 0; place < length; place += 1) {
      if (pattern[place] !== ELIGIBLE) continue;
      const cost = this.cost[place] ?? 0;
      if (cost <= 0) someFree = true;
      else if (cost < cheapest) cheapest = cost;
    }
    return { cheapest, someFree };
  }

  private fillAging(place: number, node: ClusterNode, at: Millis): void {
    const lift = this.lift[place] ?? 0;
    this.reliability[place] = finalValue(reliabilityOf(node, this.shape, at).value, lift);
    this.availability[place] = finalValue(availabilityOf(node, this.shape, at).value, lift);
  }

  /** As `weightedScore` adds, in the order of the factors: a sum in another order may round otherwise. */
  private add(place: number): void {
    const { weights } = this.profile;
    const cost = finalValue(costValue(this.cost[place] ?? 0, this.scale, this.maxCost), this.lift[place] ?? 0);
    const sum =
      weights.resources * (this.resources[place] ?? 0) +
      weights.reliability * (this.reliability[place] ?? 0) +
      weights.availability * (this.availability[place] ?? 0) +
      weights.queue * (this.queue[place] ?? 0) +
      weights.cost * cost;
    this.score[place] = this.total > 0 ? Math.round((sum / this.total) * 1e9) / 1e9 : 0;
  }
}
