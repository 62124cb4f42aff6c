/** Who may do what with a stream: role or account names; an absent list falls back to the settings, then the default. */
export interface Acl {
  readonly read?: readonly string[];
  readonly write?: readonly string[];
  readonly delete?: readonly string[];
  readonly metaRead?: readonly string[];
  readonly metaWrite?: readonly string[];
}

/** What the last event of `$$<stream>` says about a stream. Absent keys mean no limit. */
export interface StreamMetadata {
  /** Only the last N events are read; at least 1. */
  readonly maxCount?: number;
  /** Only events younger than this many milliseconds are read. */
  readonly maxAge?: number;
  /** Events below this revision are not read. */
  readonly truncateBefore?: number;
  /** Deleted softly: reads as if it did not exist, and the next append goes on with the next revision. */
  readonly softDeleted: boolean;
  readonly acl?: Acl;
}

export const NO_METADATA: StreamMetadata = { softDeleted: false };

/** A metadata stream only ever shows its last event. */
export const METASTREAM_METADATA: StreamMetadata = { softDeleted: false, maxCount: 1 };

/** `$tb` of a deleted stream: the largest signed 64-bit number, which JSON.parse would round. */
const DELETED = 9_223_372_036_854_775_807n;

export const isMetastream = (stream: string): boolean => stream.startsWith('$$');
export const isSystemStream = (stream: string): boolean => stream.startsWith('$');
export const metastreamOf = (stream: string): string => `$$${stream}`;
export const originalOf = (metastream: string): string => metastream.slice(2);

/**
 * Reads stream metadata as the real server does: a body that is not a JSON object, or in which a known key has the
 * wrong type, counts as no metadata at all; zero and negative limits count as absent.
 */
export const parseStreamMetadata = (data: Uint8Array): StreamMetadata => {
  try {
    return fromObject(parseExact(data));
  } catch {
    return NO_METADATA;
  }
};

/** The metadata event that deletes a stream softly. It replaces all that was set before, `$acl` too. */
export const softDeletionMetadata = (): Uint8Array => Buffer.from(`{"$tb":${DELETED}}`);

/** The same metadata with `$tb` at the revision at which a deleted stream begins again; undefined if it is not JSON. */
export const withTruncateBefore = (data: Uint8Array, revision: number): Uint8Array | undefined => {
  try {
    const object = parseExact(data);
    const entries = Object.entries({ ...object, $tb: BigInt(revision) });
    return Buffer.from(`{${entries.map(([key, value]) => `${JSON.stringify(key)}:${render(value)}`).join(',')}}`);
  } catch {
    return undefined;
  }
};

const render = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'bigint' ? exactJson.rawJSON(String(inner)) : inner,
  );

/** Parts of JSON that Node 24 has and TypeScript's library does not know yet. */
interface ExactJson {
  parse(text: string, reviver: (key: string, value: unknown, context: { source: string }) => unknown): unknown;
  rawJSON(text: string): unknown;
}
const exactJson = JSON as unknown as ExactJson;

/** JSON with every integer kept exactly, as a bigint. */
const parseExact = (data: Uint8Array): Record<string, unknown> => {
  const parsed = exactJson.parse(Buffer.from(data).toString('utf8'), (_key, value, context) =>
    typeof value === 'number' && /^-?\d+$/.test(context.source) ? BigInt(context.source) : value,
  );
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw new Error('not a JSON object');
  return parsed as Record<string, unknown>;
};

const fromObject = (object: Record<string, unknown>): StreamMetadata => {
  const maxCount = integer(object['$maxCount']);
  const maxAge = integer(object['$maxAge']);
  const truncateBefore = integer(object['$tb']);
  integer(object['$cacheControl']);
  const acl = object['$acl'];
  return {
    softDeleted: truncateBefore === DELETED,
    ...(maxCount !== undefined && maxCount > 0n && { maxCount: bounded(maxCount) }),
    ...(maxAge !== undefined && maxAge > 0n && { maxAge: bounded(maxAge) * 1000 }),
    ...(truncateBefore !== undefined && truncateBefore >= 0n && { truncateBefore: bounded(truncateBefore) }),
    ...(acl !== undefined && { acl: parseAcl(acl) }),
  };
};

const bounded = (value: bigint): number =>
  value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);

const integer = (value: unknown): bigint | undefined => {
  if (value === undefined) return undefined;
  if (typeof value !== 'bigint' || value > DELETED || value < -DELETED) throw new Error('not a 64-bit integer');
  return value;
};

/** Reads an access list: each right is one role or a list of roles. Throws on any other shape. */
const parseAcl = (value: unknown): Acl => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('not an access list');
  const given = value as Record<string, unknown>;
  const rights = { $r: 'read', $w: 'write', $d: 'delete', $mr: 'metaRead', $mw: 'metaWrite' } as const;
  const acl: { -readonly [Right in keyof Acl]: Acl[Right] } = {};
  for (const [key, right] of Object.entries(rights)) if (given[key] !== undefined) acl[right] = roles(given[key]);
  return acl;
};

const roles = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value) && value.every((role) => typeof role === 'string')) return value;
  throw new Error('not a role or a list of roles');
};

/** `$userStreamAcl` and `$systemStreamAcl` of the last `$settings` event. */
export interface SystemSettings {
  readonly userStreamAcl?: Acl;
  readonly systemStreamAcl?: Acl;
}

export const parseSystemSettings = (data: Uint8Array): SystemSettings => {
  try {
    const object = parseExact(data);
    return {
      ...(object['$userStreamAcl'] !== undefined && { userStreamAcl: parseAcl(object['$userStreamAcl']) }),
      ...(object['$systemStreamAcl'] !== undefined && { systemStreamAcl: parseAcl(object['$systemStreamAcl']) }),
    };
  } catch {
    return {};
  }
};
