/** Digests of one node that are kept in mind: more than most caches have files, few enough for one event. */
export const MOST_CACHED = 512;

/** The least time between two changes, in milliseconds: what is recorded for ever is not to be recorded at each fetch. */
export const CACHE_PAUSE = 10_000;

/** What a cache holds after a change. */
export const changedCache = (
  cached: ReadonlySet<string>,
  added: readonly string[],
  removed: readonly string[],
): ReadonlySet<string> => {
  const gone = new Set(removed);
  return new Set([...Array.from(cached).filter((digest) => !gone.has(digest)), ...added]);
};

/** How a cache that held `cached` came to hold `held`. */
export const cacheChange = (
  cached: ReadonlySet<string>,
  held: readonly string[],
): { readonly added: readonly string[]; readonly removed: readonly string[] } => {
  const now = new Set(held);
  return {
    added: Array.from(now).filter((digest) => !cached.has(digest)),
    removed: Array.from(cached).filter((digest) => !now.has(digest)),
  };
};
