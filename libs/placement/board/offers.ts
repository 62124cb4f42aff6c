import type { Offer } from '../filters/check.js';
import { REASONS } from '../filters/reasons.js';
import type { ReasonCode, ReasonDefinition } from '../filters/reasons.js';
import { compareVersions, parseVersion } from '../requirements/version.js';

/** Symmetric and associative, so that the best does not depend on the order in which nodes are seen. */
export const betterOffer = (code: ReasonCode, known: Offer, offer: Offer): Offer => {
  if (known === undefined || offer === undefined) return known ?? offer;
  const { better, unit }: ReasonDefinition = REASONS[code];
  if (typeof known === 'number' && typeof offer === 'number') {
    return better === 'higher' ? Math.max(known, offer) : Math.min(known, offer);
  }
  const [left, right] = [String(known), String(offer)];
  const order = unit === 'version' ? versionOrder(left, right) : 0;
  return order !== 0 ? (order > 0 ? left : right) : left < right ? left : right;
};

/** What has an order comes before what has none, then by prefix, so that the order is total. */
const versionOrder = (left: string, right: string): number => {
  const [leftVersion, rightVersion] = [parseVersion(left), parseVersion(right)];
  if (!leftVersion || !rightVersion) return leftVersion ? 1 : rightVersion ? -1 : 0;
  return compareVersions(leftVersion, rightVersion) ?? (leftVersion.prefix < rightVersion.prefix ? 1 : -1);
};

/**
 * For each reason the best that any node with it offers, and which node that is. When that node changes and offers less,
 * the best is not known until all are asked again.
 */
export class BestOffers {
  private readonly best: Offer[];
  private readonly from: Int32Array;
  private readonly lost: Uint8Array;

  constructor(places: number) {
    this.best = new Array<Offer>(places).fill(undefined);
    this.from = new Int32Array(places).fill(-1);
    this.lost = new Uint8Array(places);
  }

  /** A node's offer for a reason, now. */
  offered(place: number, code: ReasonCode, node: number, offer: Offer): void {
    if (offer === undefined) return;
    const known = this.best[place];
    if (known === undefined || betterOffer(code, known, offer) === offer) this.found(place, node, offer);
  }

  /** A node has the reason no more, or may offer another thing for it. */
  left(place: number, node: number): void {
    if (this.from[place] === node) this.lost[place] = 1;
  }

  /** The best for a reason that some node has; `askAll` offers those of all nodes. */
  of(place: number, askAll: () => void): Offer {
    if (this.lost[place] === 1) {
      this.best[place] = undefined;
      this.from[place] = -1;
      this.lost[place] = 0;
      askAll();
    }
    return this.best[place];
  }

  private found(place: number, node: number, offer: Offer): void {
    this.best[place] = offer;
    this.from[place] = node;
    this.lost[place] = 0;
  }
}
