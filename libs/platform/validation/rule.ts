import type { ProblemItem } from '#contracts';

/** One mistake found by a rule; `at` is a JSON pointer below the value that the rule was given (empty: the value itself). */
export interface Fault {
  readonly at: string;
  readonly code: FaultCode;
  readonly message: string;
}

/** What can be wrong with a field. Stable: programs compare them. */
export type FaultCode =
  | 'REQUIRED'
  | 'UNKNOWN_FIELD'
  | 'WRONG_TYPE'
  | 'OUT_OF_RANGE'
  | 'NOT_ALLOWED'
  | 'MALFORMED'
  | 'RESERVED'
  | 'DUPLICATE'
  | 'CONFLICT'
  | 'LOCAL_FILE'
  | 'TOO_LONG'
  | 'TOO_LARGE'
  | 'TOO_DEEP'
  | 'INVALID'
  | 'MORE';

/**
 * Looks at a value of any type and names all that is wrong with it. A message completes a sentence that begins with the
 * field's name: "must be 0 to 100, not 200". Rules tolerate every type, since several look at one value.
 */
export type Rule = (value: unknown) => readonly Fault[];

/** The answer of every parser of input: the value, or all mistakes at once with their JSON pointers. */
export type Checked<Value> =
  { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly errors: readonly ProblemItem[] };

export const NO_FAULTS: readonly Fault[] = [];

export const fault = (code: FaultCode, message: string, at = ''): readonly Fault[] => [{ at, code, message }];

/** One step of a JSON pointer (RFC 6901), with its slash. */
export const step = (key: string | number): string => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;

export const below = (key: string | number, faults: readonly Fault[]): readonly Fault[] =>
  faults.map((found) => ({ ...found, at: step(key) + found.at }));

const SHOWN = 60;

/** A value in a message: JSON, cut short. */
export const shown = (value: unknown): string => {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, SHOWN + 1)) : String(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
};

/** A JSON object that is no list. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
