import { forecast } from '#governor/budget';
import type { ExpectedRelease } from '#governor/budget';
import { byText, toInstant, toMillis } from '#kernel';
import type { Millis } from '#kernel';
import type { Hold, PlaceInLine } from '#jobs';
import type { Look } from './board/answer.js';
import type { ClusterNode, ClusterState } from './cluster/state.js';
import { demandOf } from './demand.js';
import type { Demand } from './demand.js';
import { endOf } from './expected-end.js';
import { behindIn } from './filters/pool.js';
import type { PlacementRequest } from './request.js';

/** Where a job that no node takes stands in line. */
export interface Lines {
  /** By the names of the pools. */
  readonly lines: readonly PlaceInLine[];
  /** It is the first in one of them. */
  readonly isFirst: boolean;
  /** Until when it waits for the same nodes, as far as time is concerned; Infinity for as long as nothing happens. */
  readonly lasts: Millis;
}

const NONE: Lines = { lines: [], isFirst: false, lasts: Infinity };

/**
 * It stands in the line of each pool with a node that lacks nothing but room, or its turn. For the first in line that node is
 * kept on which it is expected to start first.
 */
export const linesOf = (request: PlacementRequest, cluster: ClusterState, look: Look, at: Millis): Lines => {
  if (cluster.pools.size === 0) return NONE;
  const behind = new Set(behindIn(request, cluster).map(({ pool }) => pool));
  const lines: PlaceInLine[] = [];
  let lasts = Infinity;
  for (const { name, discipline, nodes, front } of cluster.pools.values()) {
    const waitsFor = discipline === 'priority' ? [] : look.inLine(nodes);
    if (waitsFor.length === 0) continue;
    if (behind.has(name)) lines.push({ pool: name });
    else {
      const kept = front?.jobId === request.jobId ? front.hold?.nodeId : undefined;
      const candidates = waitsFor.map(({ node }) => node);
      lines.push({ pool: name, hold: firstRoom(demandOf(request.spec), candidates, cluster, at, kept) });
      for (const { lasts: until } of waitsFor) lasts = Math.min(lasts, until);
    }
  }
  lines.sort((left, right) => byText(left.pool, right.pool));
  return { lines, isFirst: lines.some(({ hold }) => hold !== undefined), lasts };
};

/** On equal terms the node stays that is kept already; then comes the one that holds less, for there fewer have to end. */
const firstRoom = (
  demand: Demand,
  nodes: readonly ClusterNode[],
  cluster: ClusterState,
  at: Millis,
  kept: string | undefined,
): Hold => {
  let best: { node: ClusterNode; from: Millis } | undefined;
  for (const node of nodes) {
    const from = roomAt(demand, node, cluster, at, best?.from ?? Infinity);
    if (!best || from < best.from || (from === best.from && isNearer(node, best.node, kept))) best = { node, from };
  }
  const { node, from } = best ?? { node: undefined, from: Infinity };
  return { nodeId: node?.id ?? '', ...(from < Infinity && { from: toInstant(from) }) };
};

const isNearer = (left: ClusterNode, right: ClusterNode, kept: string | undefined): boolean => {
  if (left.id === kept || right.id === kept) return left.id === kept;
  return (left.ledger.size - right.ledger.size || byText(left.id, right.id)) < 0;
};

/** Infinity when nobody knows, or later than `latest`. */
const roomAt = (demand: Demand, node: ClusterNode, cluster: ClusterState, at: Millis, latest: Millis): Millis => {
  const releases: ExpectedRelease[] = [];
  for (const held of node.ledger.values()) {
    const end = endOf(held, cluster, at);
    if (end !== undefined && end <= latest) releases.push({ at: end, contract: held.contract });
  }
  return forecast(demand, node, releases, at)?.at ?? Infinity;
};

/** What is expected at another time is told again from so many milliseconds on. */
const TOLERANCE: Millis = 60_000;

/** Whether what was kept for a job is kept still: on the same nodes, and from about the same times on. */
export const sameHolds = (before: readonly PlaceInLine[] = [], now: readonly PlaceInLine[] = []): boolean =>
  now.every(({ pool, hold }) => isAbout(before.find((known) => known.pool === pool)?.hold, hold));

const isAbout = (before: Hold | undefined, now: Hold | undefined): boolean => {
  if (before?.nodeId !== now?.nodeId) return false;
  if (before?.from === undefined || now?.from === undefined) return before?.from === now?.from;
  return Math.abs(toMillis(before.from) - toMillis(now.from)) < TOLERANCE;
};
