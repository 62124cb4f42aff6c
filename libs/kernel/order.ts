/** Compares by code units, the same on every machine and locale (unlike `localeCompare`). */
export const byText = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

/** FNV-1a, 32 bits (Fowler, Noll, Vo): a stable, fast hash for tie-breaks and sharding; not for secrets. */
export const hash32 = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash ^= text.charCodeAt(index);
    hash = Math.imul(hash, 0x01000193);
  }
  return hash >>> 0;
};
