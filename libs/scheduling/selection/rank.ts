/** Why a node has its rank. */
export interface RankReason {
  /** Stable word for programs: a reason of placement, or `suitable`, `preferred`, `no-preference`. */
  readonly code: string;
  /** For people. */
  readonly text: string;
  /** Whether it may change while the node and the job stay as they are. */
  readonly retryable: boolean;
  /** Types of events that may change it; by `retryable` alone time may as well. */
  readonly changedBy: readonly string[];
}

/** −1 unsuitable, 0 possible, 10 preferred. */
export type Rank = -1 | 0 | 10;

/** One rank and one reason for a node. */
export type Ranker = (nodeId: string) => { readonly rank: Rank; readonly reason: RankReason };

export interface RankedNode {
  readonly nodeId: string;
  /** The sum of what all rankers gave; −1 when one of them found the node unsuitable. */
  readonly rank: number;
  /** Of each ranker that was asked; of an unsuitable node the last one is why. */
  readonly reasons: readonly RankReason[];
}

/** Adds up ranks. Unsuitable is final: no later ranker is asked, and none could bring the node back. */
export const chainOf =
  (rankers: readonly Ranker[]) =>
  (nodeId: string): RankedNode => {
    const reasons: RankReason[] = [];
    let sum = 0;
    for (const ranker of rankers) {
      const { rank, reason } = ranker(nodeId);
      reasons.push(reason);
      if (rank < 0) return { nodeId, rank, reasons };
      sum += rank;
    }
    return { nodeId, rank: sum, reasons };
  };
