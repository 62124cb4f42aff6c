/** At most this for a node that has a price while another one that is eligible takes none. */
const BESIDE_FREE = 0.5;

/** What the costs of the eligible nodes are measured against. */
export interface CostScale {
  /** The lowest above 0; Infinity when all are free. */
  readonly cheapest: number;
  readonly someFree: boolean;
}

/**
 * Cost policy. Raw, from 0 up: what the contract costs at the owner's price, for the estimated duration, or for one hour
 * when the duration is unknown. The value, in 0…1: with a budget and an estimate, the part of the budget that is left;
 * otherwise the lowest price above 0 among the eligible nodes as a part of this one's, halved when a free node is eligible
 * too. A node without a price is always 1. Prices of different owners are taken to be in one unit.
 */
export const costValue = (cost: number, { cheapest, someFree }: CostScale, maxCost: number | undefined): number => {
  if (cost <= 0) return 1;
  if (maxCost !== undefined) return Math.max(0, 1 - cost / maxCost);
  return Math.min(1, cheapest / cost) * (someFree ? BESIDE_FREE : 1);
};
