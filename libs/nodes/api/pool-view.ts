import type { Hold } from '#jobs';
import { byText } from '#kernel';
import type { ClusterPool, ClusterState } from '#placement';
import type { Discipline } from '../domain/pool.js';

/** A pool as readers see it. */
export interface PoolView {
  readonly name: string;
  readonly discipline: Discipline;
  /** The nodes that the reader sees, by id. */
  readonly nodes: readonly string[];
  /** How many nodes there are. */
  readonly size: number;
  /** How many jobs stand in its line; 0 under `priority`, which has none. */
  readonly waiting: number;
  /** Who is next; null when nobody waits, or when it is none of the reader's affair. */
  readonly first: { readonly jobId: string; readonly hold: Hold | null } | null;
}

export interface PoolSight {
  readonly seesNode: (nodeId: string) => boolean;
  readonly seesJob: (jobId: string) => boolean;
}

/** Pools with a node that the reader sees, by name. */
export const poolViews = ({ pools }: ClusterState, sight: PoolSight): PoolView[] =>
  [...pools.values()]
    .map((pool) => poolView(pool, sight))
    .filter(({ nodes }) => nodes.length > 0)
    .sort((left, right) => byText(left.name, right.name));

/** The same for one of them; undefined when there is none, or none of its nodes is the reader's affair. */
export const poolNamed = (name: string, { pools }: ClusterState, sight: PoolSight): PoolView | undefined => {
  const pool = pools.get(name);
  const view = pool && poolView(pool, sight);
  return view && view.nodes.length > 0 ? view : undefined;
};

const poolView = (
  { name, discipline, nodes, line, front }: ClusterPool,
  { seesNode, seesJob }: PoolSight,
): PoolView => ({
  name,
  discipline,
  nodes: [...nodes].filter(seesNode).sort(byText),
  size: nodes.size,
  waiting: line.length,
  first: front && seesJob(front.jobId) ? { jobId: front.jobId, hold: front.hold ?? null } : null,
});
