import type { FilteredReason, RankedNode } from '#jobs';
import type { Millis } from '#kernel';
import type { ClusterNode } from '../cluster/state.js';
import type { ChosenProfile } from '../scores/profiles.js';

/** What the nodes come to for one request; to be read before the cluster changes or another request is looked at. */
export interface Look {
  readonly profile: ChosenProfile;
  readonly considered: number;
  readonly eligible: number;
  /** Nodes without a "never" among their reasons: they may take the job one day as they are. */
  readonly possible: number;
  readonly filtered: readonly FilteredReason[];
  /** When waiting alone may first let another node in; Infinity for never. */
  readonly wakesAt: Millis;
  /** The first eligible nodes in order, at most so many. */
  first(count: number): readonly ClusterNode[];
  ranked(node: ClusterNode): RankedNode;
  /** Of these nodes the ones that lack nothing but room, or the request's turn; until when, as far as time is concerned. */
  inLine(nodeIds: Iterable<string>): readonly { readonly node: ClusterNode; readonly lasts: Millis }[];
  /** From 1, of the eligible. */
  placeOf(node: ClusterNode): number;
}
