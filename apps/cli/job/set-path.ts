import { parse } from 'yaml';

type Container = Record<string, unknown> | unknown[];

/**
 * Applies `path=value` to a job: `priority=80`, `task.env.MODE=slow`, `inputs[0].path=in.csv`. The value is YAML, so numbers,
 * lists and objects can be given. What is missing on the way is made. Throws an `Error` that says what is wrong.
 */
export const setPath = (job: Record<string, unknown>, assignment: string): void => {
  const equals = assignment.indexOf('=');
  if (equals <= 0) throw new Error(`--set ${assignment}: write path=value`);
  const steps = stepsOf(assignment.slice(0, equals));
  const last = steps.pop();
  if (last === undefined) throw new Error(`--set ${assignment}: the path is malformed`);
  if ([...steps, last].includes('__proto__')) throw new Error(`--set ${assignment}: __proto__ is no name of a field`);
  let at: Container = job;
  for (const [index, step] of steps.entries()) at = enter(at, step, steps[index + 1] ?? last, assignment);
  put(at, last, valueOf(assignment.slice(equals + 1)), assignment);
};

/** Names between dots, numbers in brackets; empty for a malformed path. */
const stepsOf = (path: string): (string | number)[] => {
  if (!/^[^.[\]]+(?:\.[^.[\]]+|\[\d+\])*$/.test(path)) return [];
  return [...path.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([text, index]) => (index === undefined ? text : Number(index)));
};

const enter = (at: Container, step: string | number, next: string | number, assignment: string): Container => {
  const found = Object.hasOwn(at, step) ? (at as Record<string | number, unknown>)[step] : undefined;
  if (typeof found === 'object' && found !== null) return found as Container;
  if (found !== undefined && found !== null) throw new Error(`--set ${assignment}: ${step} holds a plain value`);
  const made: Container = typeof next === 'number' ? [] : {};
  put(at, step, made, assignment);
  return made;
};

const put = (at: Container, step: string | number, value: unknown, assignment: string): void => {
  if (Array.isArray(at) !== (typeof step === 'number'))
    throw new Error(`--set ${assignment}: ${step} does not fit a ${Array.isArray(at) ? 'list' : 'group of names'}`);
  (at as Record<string | number, unknown>)[step] = value;
};

const valueOf = (text: string): unknown => {
  try {
    return parse(text) as unknown;
  } catch {
    return text;
  }
};
