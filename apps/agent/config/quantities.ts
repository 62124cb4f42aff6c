const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1e3,
  kb: 1e3,
  m: 1e6,
  mb: 1e6,
  g: 1e9,
  gb: 1e9,
  t: 1e12,
  tb: 1e12,
  ki: 2 ** 10,
  kib: 2 ** 10,
  mi: 2 ** 20,
  mib: 2 ** 20,
  gi: 2 ** 30,
  gib: 2 ** 30,
  ti: 2 ** 40,
  tib: 2 ** 40,
};

/** Bytes of `4GiB`, `512MiB`, `1e9` or a plain number; undefined for anything else. */
export const parseSize = (value: unknown): number | undefined => {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? Math.floor(value) : undefined;
  const match = /^(\d+(?:\.\d+)?(?:e\d+)?)\s*([a-z]*)$/i.exec(String(value).trim());
  const unit = UNITS[match?.[2]?.toLowerCase() ?? '?'];
  return match?.[1] === undefined || unit === undefined ? undefined : Math.floor(Number(match[1]) * unit);
};

const SPANS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds of `30s`, `2h`, `250ms` or a plain number of seconds; undefined for anything else. */
export const parseDuration = (value: unknown): number | undefined => {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined;
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(String(value).trim());
  const span = SPANS[match?.[2] ?? '?'];
  return match?.[1] === undefined || span === undefined ? undefined : Number(match[1]) * span;
};
