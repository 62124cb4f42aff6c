import { unreachable } from '#kernel';
import { foldArchitecture } from './architecture-name.js';
import { compareVersions, parseVersion } from './version.js';
import type { Version } from './version.js';
import type { SyntaxProblem } from './version-range.js';

/**
 * A condition on a node's attributes: its labels and the built-in `node.…` keys.
 *
 *     key = value   key == value   key != value   key in (a, b)   key notin (a, b)   key   !key   key > 3   >=   <   <=
 *
 * Keys are `[A-Za-z0-9._/-]+`; values bare or in double quotes with `\"` and `\\`. A missing attribute satisfies only
 * `!key`. Order compares whole numbers as numbers and everything else as versions, so 1.10 is after 1.9; values that are
 * neither never match.
 */
export type Constraint =
  | { readonly op: 'exists' | 'absent'; readonly key: string }
  | { readonly op: 'in' | 'notin'; readonly key: string; readonly values: readonly string[] }
  | { readonly op: Order; readonly key: string; readonly value: string; readonly version: Version | undefined };

type Order = '>' | '>=' | '<' | '<=';

export type ParsedConstraint = { readonly kind: 'constraint'; readonly constraint: Constraint } | SyntaxProblem;

const KEY = /^[A-Za-z0-9._/-]+/;
const BARE = /^[^\s,()"=!<>]+/;
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"/;
const SIGN = /^(==|!=|>=|<=|=|>|<)/;
const LIST = /^(in|notin)(?=[\s(])/;
const WHOLE = /^[+-]?\d+(?:e\d+)?$/i;
const BLANK = /^\s*/;
const MAX_LENGTH = 1024;

/** A place in the text; every step gives the next one. */
interface Cursor {
  readonly text: string;
  readonly at: number;
}

const problem = (message: string, position: number): SyntaxProblem => ({ kind: 'problem', message, position });
const parsed = (constraint: Constraint): ParsedConstraint => ({ kind: 'constraint', constraint });
const move = (cursor: Cursor, by: number): Cursor => skip({ text: cursor.text, at: cursor.at + by });
const rest = (cursor: Cursor): string => cursor.text.slice(cursor.at);
const skip = (cursor: Cursor): Cursor => ({
  text: cursor.text,
  at: cursor.at + (BLANK.exec(rest(cursor))?.[0].length ?? 0),
});
const atEnd = (cursor: Cursor): boolean => cursor.at >= cursor.text.length;

export const parseConstraint = (text: string): ParsedConstraint => {
  if (text.length > MAX_LENGTH) return problem(`a constraint has at most ${MAX_LENGTH} characters`, MAX_LENGTH);
  const start = skip({ text, at: 0 });
  if (text[start.at] === '!') return parseAbsent(move(start, 1));
  const key = KEY.exec(rest(start))?.[0];
  if (key === undefined) return problem('a key is expected: letters, digits and . _ / -', start.at);
  const after = move(start, key.length);
  if (atEnd(after)) return parsed({ op: 'exists', key });
  return parseOperator(after, key);
};

const parseAbsent = (cursor: Cursor): ParsedConstraint => {
  const key = KEY.exec(rest(cursor))?.[0];
  if (key === undefined) return problem('a key is expected after "!"', cursor.at);
  const end = move(cursor, key.length);
  return atEnd(end) ? parsed({ op: 'absent', key }) : problem('nothing may follow "!key"', end.at);
};

const parseOperator = (cursor: Cursor, key: string): ParsedConstraint => {
  const list = LIST.exec(rest(cursor))?.[1];
  if (list === 'in' || list === 'notin') return parseList(move(cursor, list.length), key, list);
  const sign = SIGN.exec(rest(cursor))?.[1];
  if (sign === undefined) return problem('one of = == != > >= < <= in notin is expected', cursor.at);
  const value = parseValue(move(cursor, sign.length));
  if ('kind' in value) return value;
  if (!atEnd(value.next))
    return problem('nothing may follow the value; put it in double quotes if it has spaces', value.next.at);
  return parsed(comparison(key, sign, value.value));
};

const comparison = (key: string, sign: string, value: string): Constraint => {
  const folded = foldValue(key, value);
  if (sign === '=' || sign === '==') return { op: 'in', key, values: [folded] };
  if (sign === '!=') return { op: 'notin', key, values: [folded] };
  return { op: sign as Order, key, value: folded, version: parseVersion(folded) };
};

/** `node.architecture = amd64` means x64. */
const foldValue = (key: string, value: string): string =>
  key === 'node.architecture' ? foldArchitecture(value) : value;

const parseValue = (cursor: Cursor): { value: string; next: Cursor } | SyntaxProblem => {
  const left = rest(cursor);
  const quoted = QUOTED.exec(left);
  if (quoted) return { value: (quoted[1] ?? '').replace(/\\(["\\])/g, '$1'), next: move(cursor, quoted[0].length) };
  if (left.startsWith('"')) return problem('the double quote is not closed', cursor.at);
  const bare = BARE.exec(left)?.[0];
  return bare === undefined
    ? problem('a value is expected', cursor.at)
    : { value: bare, next: move(cursor, bare.length) };
};

const parseList = (cursor: Cursor, key: string, op: 'in' | 'notin'): ParsedConstraint => {
  if (cursor.text[cursor.at] !== '(') return problem(`"(" is expected after ${op}`, cursor.at);
  const values: string[] = [];
  let next = move(cursor, 1);
  for (;;) {
    const value = parseValue(next);
    if ('kind' in value) return value;
    values.push(foldValue(key, value.value));
    const mark = value.next.text[value.next.at];
    next = move(value.next, 1);
    if (mark === ')') break;
    if (mark !== ',') return problem('"," or ")" is expected', value.next.at);
  }
  return atEnd(next) ? parsed({ op, key, values }) : problem('nothing may follow ")"', next.at);
};

/** Whether a node with these attributes satisfies the constraint. */
export const satisfies = (constraint: Constraint, attributes: ReadonlyMap<string, string>): boolean => {
  const value = attributes.get(constraint.key);
  if (value === undefined) return constraint.op === 'absent';
  switch (constraint.op) {
    case 'exists':
      return true;
    case 'in':
      return constraint.values.includes(value);
    case 'notin':
      return !constraint.values.includes(value);
    case '>':
    case '>=':
    case '<':
    case '<=':
      return inOrder(constraint.op, compareValues(value, constraint.value, constraint.version));
    case 'absent':
      return false;
    default:
      return unreachable(constraint);
  }
};

const compareValues = (left: string, right: string, rightVersion: Version | undefined): number | undefined => {
  if (WHOLE.test(left) && WHOLE.test(right)) return Number(left) - Number(right);
  const leftVersion = parseVersion(left);
  return leftVersion && rightVersion ? compareVersions(leftVersion, rightVersion) : undefined;
};

const inOrder = (op: Order, order: number | undefined): boolean => {
  if (order === undefined) return false;
  if (op === '>') return order > 0;
  if (op === '>=') return order >= 0;
  return op === '<' ? order < 0 : order <= 0;
};
