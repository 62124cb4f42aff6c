/** Something hangs: no machine is so slow. */
const HANGS = 200_000;

/**
 * Whole processes tell nobody here what they do, so a test looks until it sees it. When it does not come at all, the test
 * says what it saw last.
 */
export const eventually = async <Value>(
  look: () => Promise<Value>,
  good: (value: Value) => boolean,
): Promise<Value> => {
  const end = Date.now() + HANGS;
  let last: unknown;
  for (;;) {
    try {
      const value = await look();
      if (good(value)) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`not within ${String(HANGS)} ms; last seen: ${show(last)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

const show = (value: unknown): string =>
  value instanceof Error ? value.message : JSON.stringify(value).slice(0, 4000);
