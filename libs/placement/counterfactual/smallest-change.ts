import { toMillis } from '#kernel';
import type { Instant, Millis } from '#kernel';
import type { JobSpec, ReasonSide } from '#jobs';
import type { ClusterNode, ClusterState } from '../cluster/state.js';
import { decide } from '../decide.js';
import { PASS } from '../filters/check.js';
import { reasonDefinition } from '../filters/reasons.js';
import { checksOfAll, checksOfEach } from '../filters/stages.js';
import type { PlacementRequest } from '../request.js';
import { knobsOf } from './knobs.js';
import type { Knob, Sacrifice } from './knobs.js';

/** One requirement made less demanding. */
export interface RequirementChange {
  readonly requirement: string;
  readonly from: string;
  readonly to: string;
}

/** What somebody other than the job would have to change. */
export interface OthersChange {
  readonly reason: string;
  readonly side: ReasonSide;
  readonly description: string;
  readonly lifted: string;
}

/** What would have to be otherwise for a request to be placed at once. */
export type SmallestChange =
  /** Nothing: a node takes it as it is. */
  | { readonly kind: 'nothing'; readonly nodeId: string }
  /** One requirement of the job, or two when no single one is enough; it then goes to this node. */
  | { readonly kind: 'job'; readonly changes: readonly RequirementChange[]; readonly nodeId: string }
  /** No one or two requirements help, as far as the job could go. What stands in the way on the nodes that lack least. */
  | { readonly kind: 'others'; readonly reasons: readonly OthersChange[]; readonly nodes: number }
  | { readonly kind: 'no-nodes' };

/** Nodes that are looked at, those with the fewest reasons: an answer must not keep the process from its work for long. */
const MOST_NODES = 250;

interface NearNode {
  readonly node: ClusterNode;
  readonly failing: readonly string[];
}

/** One knob turned so far. */
interface Turned {
  readonly knob: Knob;
  readonly step: number;
}

/**
 * The smallest change that would place the request now, found with the filters' own checks and confirmed by `decide`. One
 * requirement is changed at a time, to the least that helps; two when no single one does. Of those that help the smallest
 * is the one that gives up some of an amount, by the least share of it; then one that accepts more versions, models or
 * architectures; then one that drops a package, a constraint, the GPUs or the budget; ties go by the order of the job file.
 */
export const smallestChange = (
  request: PlacementRequest,
  cluster: ClusterState,
  context: { readonly time: Instant },
): SmallestChange => {
  if (cluster.nodes.size === 0) return { kind: 'no-nodes' };
  const at = toMillis(context.time);
  const nodes = nearest(request, cluster, at);
  const search = new Search(request, cluster, context.time, nodes);
  const asItIs = nodes[0]?.failing.length === 0 ? search.winner(request.spec) : undefined;
  if (asItIs !== undefined) return { kind: 'nothing', nodeId: asItIs };
  const turned = search.one() ?? search.two();
  const nodeId = turned && search.winner(turned.reduce((spec, { knob, step }) => knob.apply(spec, step), request.spec));
  if (!turned || nodeId === undefined) return inTheWay(nodes, search.liftable);
  const changes = turned.map(({ knob, step }) => ({
    requirement: knob.requirement,
    from: knob.from,
    to: knob.to(step),
  }));
  return { kind: 'job', changes, nodeId };
};

const nearest = (request: PlacementRequest, cluster: ClusterState, at: Millis): NearNode[] => {
  const shared = checksOfAll(request, cluster).flatMap(({ code, holds }) => (holds ? [] : [code]));
  const checks = checksOfEach(request, cluster);
  const asked = [...cluster.nodes.values()].filter(({ id }) => id === (request.target ?? id));
  const nodes = asked.map((node) => ({
    node,
    failing: [...shared, ...checks.filter((check) => check.test(node, at) !== PASS).map(({ code }) => code)],
  }));
  return nodes.sort((left, right) => left.failing.length - right.failing.length).slice(0, MOST_NODES);
};

const ORDER: readonly Sacrifice[] = ['amount', 'widened', 'dropped'];

/** Smaller first: by the greatest sacrifice in it, then by what is given up in all. */
const smaller = (left: readonly Turned[], right: readonly Turned[]): number =>
  worst(left) - worst(right) || given(left) - given(right);

const worst = (turned: readonly Turned[]): number =>
  Math.max(...turned.map(({ knob }) => ORDER.indexOf(knob.sacrifice)));

const given = (turned: readonly Turned[]): number => turned.reduce((sum, { knob, step }) => sum + knob.share(step), 0);

class Search {
  /** Reasons that some change of the job may lift. */
  readonly liftable: ReadonlySet<string>;
  private readonly knobs: readonly Knob[];
  private readonly nodes: readonly ClusterNode[];
  private readonly at: Millis;

  constructor(
    private readonly request: PlacementRequest,
    private readonly cluster: ClusterState,
    private readonly time: Instant,
    near: readonly NearNode[],
  ) {
    this.at = toMillis(time);
    const all = knobsOf(
      request.spec,
      near.map(({ node }) => node),
    );
    this.liftable = new Set(all.flatMap(({ lifts }) => lifts));
    const reachable = near.filter(({ failing }) => failing.every((code) => this.liftable.has(code)));
    const failing = new Set(reachable.flatMap(({ failing: codes }) => codes));
    this.nodes = reachable.map(({ node }) => node);
    this.knobs = all.filter(({ lifts, steps }) => steps > 0 && lifts.some((code) => failing.has(code)));
  }

  /** Where the real decision would put it, on a cluster of its own so that what the live one remembers stays. */
  winner(spec: JobSpec): string | undefined {
    const context = { number: 1, evaluationId: '', trigger: 'what-would-help', partition: 0, time: this.time };
    return decide({ ...this.request, spec }, { ...this.cluster }, context).nodeId;
  }

  one(): readonly Turned[] | undefined {
    const { spec } = this.request;
    const helping = this.knobs.flatMap((knob) => this.turned(knob, spec) ?? []).map((one) => [one]);
    return helping.sort(smaller)[0];
  }

  two(): readonly Turned[] | undefined {
    const pairs = this.knobs.flatMap((first, index) =>
      this.knobs.slice(index + 1).map((second) => [first, second] as const),
    );
    return pairs.flatMap(([first, second]) => this.pair(first, second)).sort(smaller)[0];
  }

  /** The first as little as the second allows when it goes all the way, then the second as little as that allows. */
  private pair(first: Knob, second: Knob): (readonly Turned[])[] {
    const { spec } = this.request;
    const one = this.turned(first, second.apply(spec, second.steps));
    const other = one && this.turned(second, first.apply(spec, one.step));
    return one && other ? [[one, other]] : [];
  }

  /** The least step that helps, if any does. */
  private turned(knob: Knob, spec: JobSpec): Turned | undefined {
    if (!this.fits(knob.apply(spec, knob.steps))) return undefined;
    let [low, high] = [1, knob.steps];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.fits(knob.apply(spec, middle))) high = middle;
      else low = middle + 1;
    }
    return { knob, step: low };
  }

  private fits(spec: JobSpec): boolean {
    const request = { ...this.request, spec };
    if (!checksOfAll(request, this.cluster).every(({ holds }) => holds)) return false;
    const checks = checksOfEach(request, this.cluster);
    return this.nodes.some((node) => checks.every((check) => check.test(node, this.at) === PASS));
  }
}

/** On the nodes that lack least: what no change of the job lifts; if there is nothing of that, all that stands in the way. */
const inTheWay = (near: readonly NearNode[], liftable: ReadonlySet<string>): SmallestChange => {
  const groups = Map.groupBy(near, ({ failing }) => {
    const beyond = failing.filter((code) => !liftable.has(code));
    return [...new Set(beyond.length > 0 ? beyond : failing)].join(' ');
  });
  const [codes, nodes] = [...groups].sort(([left], [right]) => left.split(' ').length - right.split(' ').length)[0] ?? [
    '',
    [],
  ];
  const reasons = codes.split(' ').flatMap((reason) => {
    const definition = reasonDefinition(reason);
    if (!definition) return [];
    const { side, description, lifted } = definition;
    return [{ reason, side, description, lifted }];
  });
  return { kind: 'others', reasons, nodes: nodes.length };
};
