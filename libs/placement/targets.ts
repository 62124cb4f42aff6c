import type { FilteredReason } from '#jobs';
import type { Millis } from '#kernel';
import { countReasons, requestReasons } from './board/counted-reasons.js';
import type { ClusterJob, ClusterNode, ClusterState } from './cluster/state.js';
import { NEVER, PASS } from './filters/check.js';
import type { Check, Verdict } from './filters/check.js';
import type { ReasonCode } from './filters/reasons.js';
import { checksOfAll, checksOfEach } from './filters/stages.js';
import { plannedRequest } from './request.js';
import type { PlacementRequest } from './request.js';

/*
 * Which nodes a job with targets runs on. A node *matches* when the job may and can run there: permission, presence, software,
 * architecture, labels and data all say so, and it is large enough. Whether there is room now, in the node, in its owner's share
 * or in the project's quota, is asked when the job's part is placed: it waits for that; so is whether the node is trusted with
 * work, for each such doubt ends by itself.
 */

/** Reasons for which a part waits on its node, as long as they are not "never". */
const WAITED_FOR: ReadonlySet<ReasonCode> = new Set([
  'policy.max-share',
  'node.excluded',
  'node.set-aside',
  'node.probation',
  'node.unconfirmed',
  'capacity.cpu',
  'capacity.memory',
  'capacity.disk',
  'capacity.io-slots',
  'capacity.gpu-count',
  'capacity.gpu-model',
  'capacity.gpu-memory',
  'capacity.gpu-free',
]);

const keepsOut = ({ code }: Check, verdict: Verdict): boolean => verdict === NEVER || !WAITED_FOR.has(code);

/** For what will come to an end of the node's time nothing is taken from it before that. */
const COMING: ReadonlySet<ReasonCode> = new Set(['policy.window-remaining', 'policy.maintenance-ahead']);

/** A part that a node holds already is not taken from it for its presence or its room, nor because its time there will be over. */
const drivesOut = ({ code }: Check, verdict: Verdict): boolean => {
  if (code === 'policy.max-share') return verdict === NEVER;
  return !code.startsWith('node.') && !code.startsWith('capacity.') && !COMING.has(code);
};

/** Events after which a node may match that did not, or match no more. */
export const MATCHING_EVENTS: readonly string[] = [
  'NodeCordoned',
  'NodeDrainStarted',
  'NodeEnrolled',
  'NodeInventoryChanged',
  'NodePolicyChanged',
  'NodeUncordoned',
  'NodeWentOffline',
  'NodeWentOnline',
  'ProjectConfigured',
];

/** The nodes that match, in the order in which they enrolled, and why the others do not. */
export interface Matching {
  readonly nodeIds: readonly string[];
  readonly considered: number;
  /** The reasons that keep nodes from matching, counted as in a decision: those that a part would wait for are not among them. */
  readonly filtered: readonly FilteredReason[];
  /** The first moment at which time alone may change who matches, or still does; Infinity for never. */
  readonly changesAt: Millis;
}

/** Asked of the request as a whole: neither `target`, exclusions nor the nodes to avoid make a difference. */
export const matchingNodes = (request: PlacementRequest, cluster: ClusterState, at: Millis): Matching => {
  const checks = checksOfEach(wholeOf(request), cluster);
  const nodes = [...cluster.nodes.values()];
  const refused = refusals(request, cluster);
  const filtered = [
    ...requestReasons(refused, nodes.length),
    ...countReasons(checks, nodes, at, refused.length === 0, keepsOut),
  ];
  const matches = (node: ClusterNode): boolean => passes(checks, node, at, keepsOut);
  return {
    nodeIds: refused.length === 0 ? nodes.filter(matches).map(({ id }) => id) : [],
    considered: nodes.length,
    filtered,
    changesAt: nodes.reduce((first, node) => Math.min(first, lastsUntil(checks, node, at)), Infinity),
  };
};

/** Whether a node that holds a part of the job may keep it: a part of what makes it match. */
export const stillMatches = (request: PlacementRequest, cluster: ClusterState, nodeId: string, at: Millis): boolean => {
  const node = cluster.nodes.get(nodeId);
  if (!node || refusals(request, cluster).length > 0) return false;
  return passes(checksOfEach(wholeOf(request), cluster), node, at, drivesOut);
};

/** What is to change about the nodes of a job, by their ids. */
export interface TargetChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly matching: Matching;
}

/**
 * The nodes that a job with targets is to get and to lose: those of an `ops` job once, all that match then; those of a `daemon`
 * whenever they change. A node with something live keeps it while it still matches, and any other part while it matches.
 */
export const targetChange = (
  job: ClusterJob,
  cluster: ClusterState,
  at: Millis,
  matching: Matching = matchingNodes(wholeJob(job), cluster, at),
): TargetChange => {
  const request = wholeJob(job);
  const fixed = job.spec.type === 'ops' && job.partitions.length > 0;
  if (fixed) return { added: [], removed: [], matching };
  const matches = new Set(matching.nodeIds);
  const holders = new Map(
    job.partitions.flatMap(({ target, state, leaving }) =>
      target === undefined || state === 'removed' || leaving ? [] : [[target, state]],
    ),
  );
  const keeps = (nodeId: string, state: string): boolean =>
    matches.has(nodeId) || (state === 'live' && stillMatches(request, cluster, nodeId, at));
  return {
    added: matching.nodeIds.filter((nodeId) => !holders.has(nodeId)),
    removed: [...holders].flatMap(([nodeId, state]) => (keeps(nodeId, state) ? [] : [nodeId])),
    matching,
  };
};

/** Whether the job is to get or to lose this node: `targetChange` asked of it alone. */
export const changesTarget = (job: ClusterJob, cluster: ClusterState, nodeId: string, at: Millis): boolean => {
  const node = cluster.nodes.get(nodeId);
  const fixed = job.spec.type === 'ops' && job.partitions.length > 0;
  if (!node || fixed) return false;
  const request = wholeJob(job);
  const checks = checksOfEach(wholeOf(request), cluster);
  const matches = refusals(request, cluster).length === 0 && passes(checks, node, at, keepsOut);
  const held = job.partitions.find(
    ({ target, state, leaving }) => target === nodeId && state !== 'removed' && !leaving,
  );
  if (!held) return matches;
  return !matches && !(held.state === 'live' && stillMatches(request, cluster, nodeId, at));
};

/** What a job asks of every node alike. */
export const wholeJob = ({ id: jobId, spec, account, institution }: ClusterJob): PlacementRequest =>
  plannedRequest({ jobId, spec, account, institution });

const wholeOf = ({ target: _target, ...request }: PlacementRequest): PlacementRequest => ({
  ...request,
  exclusions: new Map(),
});

/** Whether the account may use its project at all; a quota that is used up has room again one day. */
const refusals = (request: PlacementRequest, cluster: ClusterState) =>
  checksOfAll(request, cluster).filter(({ code, holds }) => !holds && code.startsWith('permission.'));

const passes = (checks: readonly Check[], node: ClusterNode, at: Millis, counts: typeof keepsOut): boolean =>
  checks.every((check) => {
    const verdict = check.test(node, at);
    return verdict === PASS || !counts(check, verdict);
  });

/** Until when the answers of the checks that count, and know the time, stay the same. */
const lastsUntil = (checks: readonly Check[], node: ClusterNode, at: Millis): Millis =>
  checks.reduce((first, check) => {
    const lasts = WAITED_FOR.has(check.code) ? undefined : check.lasts?.(node, at);
    return lasts === undefined ? first : Math.min(first, lasts);
  }, Infinity);
