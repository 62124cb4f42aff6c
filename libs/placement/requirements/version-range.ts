import { compareRelease, compareVersions, parseVersion } from './version.js';
import type { Version } from './version.js';

/**
 * A set of versions: alternatives (`||`), each a list of comparators that must all hold. Understood: `>=20`, `>1`, `<2`,
 * `<=1.2`, `=1.2.3`, `==1.2.*`, `!=1.5`, `^1.2`, `~1.2`, `~=1.4.2`, `1.x`, `*`, `1.2 - 2.3`, and a bare version. A bare
 * version of one or two numbers stands for all it begins (`20` is 20.x); a pre-release lies before its release and never
 * in the series that a caret, a tilde or a partial bound leaves out (`2.0.0-rc1` is not in `^1.2` nor below `<2`).
 */
export interface VersionRange {
  readonly text: string;
  readonly alternatives: readonly (readonly Comparator[])[];
}

/** `series` bounds look at the numbers only, so that pre-releases of the bound lie outside too. */
interface Comparator {
  readonly test: 'at-least' | 'after' | 'at-most' | 'before' | 'before-series' | 'equal' | 'differs' | 'within';
  readonly version: Version;
}

/** What is wrong with a text and where, counted in characters from 0. */
export interface SyntaxProblem {
  readonly kind: 'problem';
  readonly message: string;
  readonly position: number;
}

export type ParsedRange = { readonly kind: 'range'; readonly range: VersionRange } | SyntaxProblem;

const OPERATOR = /^(>=|<=|==|!=|~=|~>|>|<|=|\^|~)?\s*/;
const WORD = /^[^\s,|<>=!~^]+/;
const HYPHEN = /^\s+-\s+/;
const WILD = /^(?:[x*])$/i;
const WILD_TAIL = /(?:\.[x*])+$/i;

/** A text is short in practice; the bound keeps a hostile one from costing anything. */
const MAX_LENGTH = 256;

export const parseVersionRange = (text: string): ParsedRange => {
  if (text.length > MAX_LENGTH) return problem(`a version range has at most ${MAX_LENGTH} characters`, MAX_LENGTH);
  const alternatives: Comparator[][] = [];
  let offset = 0;
  for (const part of text.split('||')) {
    const parsed = parseAlternative(part, offset);
    if ('kind' in parsed) return parsed;
    alternatives.push(parsed);
    offset += part.length + 2;
  }
  return { kind: 'range', range: { text, alternatives } };
};

const problem = (message: string, position: number): SyntaxProblem => ({ kind: 'problem', message, position });

const parseAlternative = (text: string, offset: number): Comparator[] | SyntaxProblem => {
  const comparators: Comparator[] = [];
  let at = skipBlank(text, 0);
  while (at < text.length) {
    const step = parseComparator(text, at, offset);
    if ('kind' in step) return step;
    comparators.push(...step.comparators);
    at = skipBlank(text, step.end);
  }
  return comparators;
};

const skipBlank = (text: string, from: number): number => {
  let at = from;
  while (at < text.length && (text[at] === ',' || /\s/.test(text[at] ?? ''))) at += 1;
  return at;
};

const parseComparator = (
  text: string,
  start: number,
  offset: number,
): { comparators: Comparator[]; end: number } | SyntaxProblem => {
  const [lead = '', operator = ''] = OPERATOR.exec(text.slice(start)) ?? [];
  const from = start + lead.length;
  const word = WORD.exec(text.slice(from))?.[0];
  if (word === undefined) return problem('a version is expected here', offset + from);
  const end = from + word.length;
  if (WILD.test(word)) return { comparators: [], end };
  const bound = readBound(word);
  if (!bound) return problem(`"${word}" is not a version`, offset + from);
  if (operator === '') return bareOrHyphen(text, end, offset, bound);
  return { comparators: expand(operator, bound), end };
};

/** A version as written in a range: `partial` when it stands for a series (`1`, `1.2`, `1.2.x`). */
interface Bound {
  readonly version: Version;
  readonly partial: boolean;
  readonly wild: boolean;
}

const readBound = (word: string): Bound | undefined => {
  const wild = WILD_TAIL.test(word);
  const version = parseVersion(word.replace(WILD_TAIL, ''));
  if (!version) return undefined;
  const bare = version.pre === undefined && version.suffix.length === 0;
  return { version, wild, partial: bare && (wild || version.release.length < 3) };
};

const bareOrHyphen = (text: string, end: number, offset: number, low: Bound) => {
  const hyphen = HYPHEN.exec(text.slice(end))?.[0];
  if (hyphen === undefined) return { comparators: expand('', low), end };
  const from = end + hyphen.length;
  const word = WORD.exec(text.slice(from))?.[0];
  const high = word === undefined ? undefined : readBound(word);
  if (word === undefined || !high) return problem('a version is expected after "-"', offset + from);
  return { comparators: [...expand('>=', low), ...expand('<=', high)], end: from + word.length };
};

const expand = (operator: string, bound: Bound): Comparator[] => {
  const { version, partial, wild } = bound;
  switch (operator) {
    case '>=':
      return [{ test: 'at-least', version }];
    case '>':
      return [
        partial
          ? { test: 'at-least', version: successor(version, version.release.length) }
          : { test: 'after', version },
      ];
    case '<':
      return [{ test: partial ? 'before-series' : 'before', version }];
    case '<=':
      return partial
        ? [{ test: 'before-series', version: successor(version, version.release.length) }]
        : [{ test: 'at-most', version }];
    case '!=':
      return [{ test: 'differs', version }];
    case '==':
      return [{ test: wild ? 'within' : 'equal', version }];
    case '^':
      return span(version, significant(version));
    case '~':
    case '~>':
      return span(version, Math.min(2, version.release.length));
    case '~=':
      return span(version, Math.max(1, version.release.length - 1));
    default:
      return [{ test: partial ? 'within' : 'equal', version }];
  }
};

/** From the version up to, not including, the next one in its `kept` leading numbers. */
const span = (version: Version, kept: number): Comparator[] => [
  { test: 'at-least', version },
  { test: 'before-series', version: successor(version, kept) },
];

/** The numbers that a caret keeps: up to the first that is not 0. */
const significant = (version: Version): number => {
  const first = version.release.findIndex((number) => number > 0);
  return first < 0 ? version.release.length : first + 1;
};

const successor = (version: Version, kept: number): Version => {
  const release = version.release.slice(0, kept);
  release[kept - 1] = (release[kept - 1] ?? 0) + 1;
  return { prefix: version.prefix, release, suffix: [], pre: undefined };
};

/** Whether a known version lies in the range. */
export const inRange = (range: VersionRange, version: Version): boolean => {
  for (const comparators of range.alternatives) if (holdAll(comparators, version)) return true;
  return false;
};

const holdAll = (comparators: readonly Comparator[], version: Version): boolean => {
  for (const comparator of comparators) if (!holds(comparator, version)) return false;
  return true;
};

const holds = (comparator: Comparator, version: Version): boolean => {
  const order = compareVersions(version, comparator.version);
  if (order === undefined) return false;
  switch (comparator.test) {
    case 'at-least':
      return order >= 0;
    case 'after':
      return order > 0;
    case 'at-most':
      return order <= 0;
    case 'before':
      return order < 0;
    case 'before-series':
      return compareRelease(version.release, comparator.version.release) < 0;
    case 'equal':
      return order === 0;
    case 'differs':
      return order !== 0;
    case 'within':
      return (
        compareRelease(version.release.slice(0, comparator.version.release.length), comparator.version.release) === 0
      );
  }
};
