/**
 * A version that can be ordered: dotted numbers, then a letter suffix (`2024a`, `8.9p1`: after the bare number), or a
 * pre-release (`-rc.1`, `rc1`, `a1`, `.dev3`: before it). Build metadata after `+` plays no part. `prefix` is what stands
 * before the first digit (`r` in `R2024a`); versions of different prefixes are not comparable.
 */
export interface Version {
  readonly prefix: string;
  readonly release: readonly number[];
  readonly suffix: readonly Part[];
  /** Absent for a release. */
  readonly pre: readonly Part[] | undefined;
}

type Part = number | string;

const SHAPE = /^([a-z]*)[-_ ]?(\d+(?:\.\d+)*)(.*)$/;
const PRE_WORD = /^[.\-_]?(?:alpha|beta|preview|pre|rc|dev|snapshot|[abc](?=[.\-_]?\d))/;
const PART = /\d+|[a-z]+/g;

const partsOf = (text: string): Part[] =>
  (text.match(PART) ?? []).map((part) => (/^\d/.test(part) ? Number(part) : part));

/** Undefined for a text without a number in it, such as `stable`: such a version is unknown and matches no range. */
export const parseVersion = (text: string): Version | undefined => {
  const plain = (text.trim().toLowerCase().split('+')[0] ?? '').trim();
  const match = SHAPE.exec(plain);
  if (!match) return undefined;
  const [, rawPrefix = '', numbers = '', rest = ''] = match;
  const prefix = rawPrefix === 'v' ? '' : rawPrefix;
  const release = numbers.split('.').map(Number);
  const isPre = rest.startsWith('-') || PRE_WORD.test(rest);
  const parts = partsOf(rest);
  return isPre ? { prefix, release, suffix: [], pre: parts } : { prefix, release, suffix: parts, pre: undefined };
};

const comparePart = (left: Part, right: Part): number => {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (typeof left === 'number') return -1;
  if (typeof right === 'number') return 1;
  return left < right ? -1 : left > right ? 1 : 0;
};

/** Part by part; what is longer comes after what it starts with. */
const compareParts = (left: readonly Part[], right: readonly Part[]): number => {
  for (let index = 0; index < left.length && index < right.length; index += 1) {
    const order = comparePart(left[index] ?? 0, right[index] ?? 0);
    if (order !== 0) return order;
  }
  return left.length - right.length;
};

/** Numbers only; what is missing counts as 0, so 1.2 and 1.2.0 are the same. */
export const compareRelease = (left: readonly number[], right: readonly number[]): number => {
  const length = Math.max(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const order = (left[index] ?? 0) - (right[index] ?? 0);
    if (order !== 0) return order;
  }
  return 0;
};

/** Negative, zero or positive; undefined when the two cannot be compared. */
export const compareVersions = (left: Version, right: Version): number | undefined => {
  if (left.prefix !== right.prefix) return undefined;
  const release = compareRelease(left.release, right.release);
  if (release !== 0) return release;
  const suffix = compareParts(left.suffix, right.suffix);
  if (suffix !== 0) return suffix;
  if (!left.pre || !right.pre) return left.pre ? -1 : right.pre ? 1 : 0;
  return compareParts(left.pre, right.pre);
};
