/** One step of a pattern: a character that fits `fits`, any run of them, or any run of whole folders. */
type Step = { readonly kind: 'one' | 'run'; readonly fits: (char: string) => boolean } | { readonly kind: 'folders' };

const notSlash = (char: string): boolean => char !== '/';
const always = (): boolean => true;

/** More alternatives than a person writes; a pattern with more of them counts as one path, braces and all. */
const MOST_ALTERNATIVES = 1_000;

/** Whether the pattern names one path rather than a set. */
export const isLiteral = (pattern: string): boolean => !/[*?[\]{}]/.test(pattern);

/**
 * Tells whether a `/`-separated relative path matches a glob: `*` and `?` stay within one name, `**` spans any number of
 * folders, `[ab]`, `[a-z]`, `[!ab]` and `{a,b}` as in a shell. A leading dot needs no special mention.
 *
 * The states that a pattern may be in are followed side by side (Thompson 1968), so a match takes time in proportion to pattern
 * times path, whatever they are: a pattern comes from a job file, and must not be able to keep the agent busy.
 */
export const globMatcher = (pattern: string): ((path: string) => boolean) => {
  const alternatives = expandBraces(pattern).map(parseSteps);
  return (path) => alternatives.some((steps) => matches(steps, path));
};

const matches = (steps: readonly Step[], path: string): boolean => {
  let states = closure(new Set([0]), steps, true);
  let previous = '/';
  for (const char of path) {
    const next = new Set<number>();
    for (const state of states) {
      const step = steps[state];
      if (!step) continue;
      if (step.kind === 'folders') next.add(state);
      else if (step.fits(char)) next.add(step.kind === 'one' ? state + 1 : state);
    }
    previous = char;
    states = closure(next, steps, previous === '/');
    if (states.size === 0) return false;
  }
  return states.has(steps.length);
};

/** Adds what can be reached without a character: runs may be over, and folders are, where a name begins. */
const closure = (states: Set<number>, steps: readonly Step[], nameBegins: boolean): Set<number> => {
  for (const state of states) {
    const kind = steps[state]?.kind;
    if (kind === 'run' || (kind === 'folders' && nameBegins)) states.add(state + 1);
  }
  return states;
};

const parseSteps = (pattern: string): Step[] => {
  const steps: Step[] = [];
  for (let index = 0; index < pattern.length;) {
    const rest = pattern.slice(index);
    const set = /^\[(!?)(\]?[^\]]*)\]/.exec(rest);
    if (rest.startsWith('**/')) steps.push({ kind: 'folders' });
    else if (rest.startsWith('**')) steps.push({ kind: 'run', fits: always });
    else if (rest.startsWith('*')) steps.push({ kind: 'run', fits: notSlash });
    else if (rest.startsWith('?')) steps.push({ kind: 'one', fits: notSlash });
    else if (set) steps.push({ kind: 'one', fits: setOf(set[2] ?? '', set[1] === '!') });
    else steps.push({ kind: 'one', fits: (char) => char === rest.charAt(0) });
    index += /^\*\*\/?/.exec(rest)?.[0].length ?? set?.[0].length ?? 1;
  }
  return steps;
};

const setOf = (members: string, negated: boolean): ((char: string) => boolean) => {
  const ranges = [...members.matchAll(/([^])-([^])|[^]/g)].map(([all, from = all, to = all]) => [from, to] as const);
  return (char) => char !== '/' && ranges.some(([from, to]) => from <= char && char <= to) !== negated;
};

/** `a{b,c}d` as `abd` and `acd`; a brace that nothing closes stands for itself. */
const expandBraces = (pattern: string): string[] => {
  let patterns = [pattern];
  for (;;) {
    const next = patterns.flatMap(expandOne);
    if (next.length > MOST_ALTERNATIVES) return [pattern];
    if (next.length === patterns.length && next.every((each, index) => each === patterns[index])) return patterns;
    patterns = next;
  }
};

/** Opens the innermost first pair of braces. */
const expandOne = (pattern: string): string[] => {
  const pair = /\{([^{}]*)\}/.exec(pattern);
  if (!pair) return [pattern];
  const [before, after] = [pattern.slice(0, pair.index), pattern.slice(pair.index + pair[0].length)];
  return (pair[1] ?? '').split(',').map((choice) => before + choice + after);
};
