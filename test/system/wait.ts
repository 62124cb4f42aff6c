/** Whole processes tell nobody here what they do, so a test looks until it sees it, or says what it saw last. */
export const eventually = async <Value>(
  look: () => Promise<Value>,
  good: (value: Value) => boolean,
  within = 30_000,
): Promise<Value> => {
  const end = Date.now() + within;
  let last: unknown;
  for (;;) {
    try {
      const value = await look();
      if (good(value)) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`not within ${String(within)} ms; last seen: ${show(last)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

const show = (value: unknown): string =>
  value instanceof Error ? value.message : JSON.stringify(value).slice(0, 4000);
