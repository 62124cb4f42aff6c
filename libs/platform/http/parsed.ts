import type { ProblemItem } from '#contracts';
import { ProblemException } from './problem-exception.js';

type Checked<Value> =
  { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly errors: readonly ProblemItem[] };

/** The value of an input that was read, or one problem that names all its mistakes. */
export const parsed = <Value>(checked: Checked<Value>): Value => {
  if (checked.ok) return checked.value;
  throw invalid(checked.errors);
};

/** The problem of an input with these mistakes. */
export const invalid = (errors: readonly ProblemItem[]): ProblemException => {
  const detail = errors.map(({ pointer, message }) => `${pointer || 'the body'} ${message}`).join('; ');
  return new ProblemException('VALIDATION_FAILED', detail.slice(0, 2000), { errors });
};
