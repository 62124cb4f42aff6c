import { createHash } from 'node:crypto';

/** One page of a list. `next` is the cursor of the following page, null on the last. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
}

export interface PageRequest {
  /** 1…200; what is beyond is cut to the bound. Default 50. */
  readonly limit?: string | number | undefined;
  readonly cursor?: string | undefined;
}

/** The cursor was not made by us, or for a list with another filter. */
export class InvalidCursor extends Error {
  override readonly name = 'InvalidCursor';
  readonly code = 'CURSOR_INVALID';
  constructor() {
    super('the cursor was not made for this list');
  }
}

/** A condition of a list cannot be understood. */
export class InvalidFilter extends Error {
  override readonly name = 'InvalidFilter';
  readonly code = 'VALIDATION_FAILED';
}

/** The conditions named, each one text or absent. Throws `InvalidFilter`. */
export const readFilter = <Name extends string>(
  request: Readonly<Partial<Record<Name, unknown>>>,
  names: readonly Name[],
): Readonly<Partial<Record<Name, string>>> => {
  const filter: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const value = request[name];
    if (value === undefined || value === '') continue;
    if (typeof value !== 'string') throw new InvalidFilter(`${name} must be given once, as text`);
    filter[name] = value;
  }
  return filter;
};

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

export const pageLimit = (limit: string | number | undefined): number => {
  const wanted = Number(limit ?? DEFAULT_LIMIT);
  return Number.isInteger(wanted) && wanted > 0 ? Math.min(MAX_LIMIT, wanted) : DEFAULT_LIMIT;
};

/**
 * Where a page ended: the sort key of its last item, which stays right while rows come and go, and a digest of the
 * filter, so that a cursor cannot be carried over to another list.
 */
export const writeCursor = (key: readonly string[], filter: object): string =>
  Buffer.from(JSON.stringify([digestOf(filter), ...key])).toString('base64url');

/** The sort key of a cursor with `length` parts, undefined without a cursor. Throws `InvalidCursor`. */
export const readCursor = (
  cursor: string | undefined,
  filter: object,
  length: number,
): readonly string[] | undefined => {
  if (cursor === undefined || cursor === '') return undefined;
  const parts = parse(cursor);
  if (parts?.length !== length + 1 || parts[0] !== digestOf(filter)) throw new InvalidCursor();
  return parts.slice(1);
};

const parse = (cursor: string): readonly string[] | undefined => {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    return Array.isArray(parts) && parts.every((part) => typeof part === 'string') ? parts : undefined;
  } catch {
    return undefined;
  }
};

const digestOf = (filter: object): string => {
  const stated = Object.entries(filter).filter(([, value]) => value !== undefined);
  const sorted = stated.sort(([left], [right]) => (left < right ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('base64url').slice(0, 8);
};

/** A page from `limit + 1` rows that were asked for. */
export const pageOf = <Item>(rows: readonly Item[], limit: number, cursorOf: (last: Item) => string): Page<Item> => {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? cursorOf(last) : null };
};
