import type { Finder } from './verification.js';

/** Findings in one answer at most; the counts are of all. Whoever wants every one streams them. */
const MOST_GATHERED = 1_000;

/** Everything in one answer: the summary, the findings under `name`, and whether there are more of them. */
export const gathered = async <Found, Summary extends object>(
  name: string,
  run: (finder: Finder<Found>) => Promise<Summary>,
): Promise<object> => {
  const findings: Found[] = [];
  let truncated = false;
  const found = (one: Found): Promise<void> => {
    if (findings.length < MOST_GATHERED) findings.push(one);
    else truncated = true;
    return Promise.resolve();
  };
  const summary = await run({ found, progress: () => Promise.resolve() });
  return { ...summary, [name]: findings, truncated };
};
