import { NEVER, PASS } from '../filters/check.js';
import type { Verdict } from '../filters/check.js';

/** One way in which nodes answer all checks. */
export interface Pattern {
  /** Two for each failing check, in their order: twice its number, and one more for "never". The first is the primary reason. */
  readonly places: readonly number[];
  readonly never: boolean;
}

/** The pattern of nodes that pass every check. */
export const ELIGIBLE = 0;
/** So many verdicts of two bits fit a number exactly. */
const PER_DIGIT = 26;

/** The few ways in which the nodes of a board answer, each with a number and the count of its nodes. */
export class Patterns {
  readonly list: Pattern[] = [];
  readonly counts: number[] = [];
  private readonly numbers = new Map<number | string, number>();
  private readonly powers: readonly number[];

  constructor(private readonly checks: number) {
    this.powers = Array.from({ length: checks }, (_, place) => 4 ** (place % PER_DIGIT));
    this.numberOf(new Uint8Array(checks));
  }

  /** The number of a row of verdicts. */
  numberOf(verdicts: Uint8Array): number {
    const key = this.keyOf(verdicts);
    const known = this.numbers.get(key);
    if (known !== undefined) return known;
    const number = this.list.push(patternOf(verdicts)) - 1;
    this.counts.push(0);
    this.numbers.set(key, number);
    return number;
  }

  move(from: number, to: number): void {
    if (from >= 0) this.counts[from] = (this.counts[from] ?? 0) - 1;
    this.counts[to] = (this.counts[to] ?? 0) + 1;
  }

  private keyOf(verdicts: Uint8Array): number | string {
    if (this.checks > PER_DIGIT) return verdicts.join('');
    let key = 0;
    for (let place = 0; place < verdicts.length; place += 1) key += (verdicts[place] ?? 0) * (this.powers[place] ?? 0);
    return key;
  }
}

const patternOf = (verdicts: Uint8Array): Pattern => {
  const places: number[] = [];
  verdicts.forEach((verdict, index) => {
    if ((verdict as Verdict) !== PASS) places.push(index * 2 + (verdict === NEVER ? 1 : 0));
  });
  return { places, never: verdicts.includes(NEVER) };
};
