import { hash32 } from '#kernel';
import type { ClusterNode, ClusterState } from './state.js';

/**
 * The nodes of a cluster in columns: each has a place, and `changedAt[place]` is the tick of its last change. Whatever is
 * derived for every node is held by place and is good until then. Derived from the state and not part of it: two states
 * are equal whatever was asked of them.
 */
export class NodeColumns {
  readonly nodes: ClusterNode[] = [];
  /** `hash32` of the ids. */
  hashes = new Uint32Array(64);
  changedAt = new Float64Array(64);
  /** Counts changes. */
  tick = 0;
  private readonly places = new Map<string, number>();

  constructor(nodes: Iterable<ClusterNode>) {
    for (const node of nodes) this.changed(node);
  }

  placeOf(nodeId: string): number | undefined {
    return this.places.get(nodeId);
  }

  changed(node: ClusterNode): void {
    const place = this.places.get(node.id) ?? this.enter(node);
    this.changedAt[place] = this.tick += 1;
  }

  private enter(node: ClusterNode): number {
    const place = this.nodes.push(node) - 1;
    this.places.set(node.id, place);
    if (place >= this.hashes.length) this.grow();
    this.hashes[place] = hash32(node.id);
    return place;
  }

  private grow(): void {
    const { hashes, changedAt } = this;
    this.hashes = new Uint32Array(hashes.length * 2);
    this.hashes.set(hashes);
    this.changedAt = new Float64Array(changedAt.length * 2);
    this.changedAt.set(changedAt);
  }
}

const columns = new WeakMap<ClusterState, NodeColumns>();

export const columnsOf = (cluster: ClusterState): NodeColumns => {
  const known = columns.get(cluster);
  if (known) return known;
  const made = new NodeColumns(cluster.nodes.values());
  columns.set(cluster, made);
  return made;
};

/** To be called after every change of a node, or of what its filters look up elsewhere. */
export const nodeChanged = (cluster: ClusterState, node: ClusterNode): void => {
  columns.get(cluster)?.changed(node);
};
