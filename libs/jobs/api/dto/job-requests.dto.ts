import {
  below,
  fault,
  isRecord,
  list,
  mapChecked,
  NO_FAULTS,
  Optional,
  plain,
  refuse,
  Required,
  step,
  text,
  validateInput,
  whole,
} from '#platform/validation';
import type { Checked } from '#platform/validation';

/* What people ask of a job that is there. */

const MAX_BATCH = 1000;
const NO_REASON = 'no reason given';

export class ReasonDto {
  @Optional(text({ min: 0, max: 1000 }))
  reason?: string;
}

export class CancelDto {
  @Required(text({ max: 1000, form: /\S/, says: 'a reason in words' }))
  reason!: string;
}

export class PriorityDto {
  @Required(whole(0, 100))
  priority!: number;
}

export class RerunDto {
  @Optional((value) => (isRecord(value) ? [] : [{ at: '', code: 'WRONG_TYPE', message: 'must be an object' }]))
  changes?: Readonly<Record<string, unknown>>;
}

/** Each item is looked at by itself, so only the list is checked here. */
export const parseBatch = (input: unknown): Checked<{ readonly items: readonly unknown[] }> => {
  if (!isRecord(input)) return refuse(fault('WRONG_TYPE', 'must be an object'));
  const { items, ...others } = input;
  const unknown = Object.keys(others).flatMap((name) => fault('UNKNOWN_FIELD', 'is not a known field', step(name)));
  const faults = [...unknown, ...below('items', batchItems(items))];
  return faults.length > 0 ? refuse(faults) : { ok: true, value: { items: items as readonly unknown[] } };
};

const batchItems = list(() => NO_FAULTS, { min: 1, max: MAX_BATCH });

/** An absent body is one without a reason, which the history then says. */
export const parseReason = (input: unknown): Checked<{ readonly reason: string }> =>
  mapChecked(validateInput(ReasonDto, input ?? {}), ({ reason }) => ({ reason: reason?.trim() || NO_REASON }));

/** Who cancels says why: it is all that others learn of it. */
export const parseCancel = (input: unknown): Checked<{ readonly reason: string }> =>
  mapChecked(validateInput(CancelDto, input ?? {}), ({ reason }) => ({ reason: reason.trim() }));

export const parsePriority = (input: unknown): Checked<{ readonly priority: number }> =>
  mapChecked(validateInput(PriorityDto, input), plain);

/** `changes` are laid over the job's file (`changedSpec`); the whole is parsed as a job file then. */
export const parseRerun = (input: unknown): Checked<{ readonly changes?: Readonly<Record<string, unknown>> }> =>
  mapChecked(validateInput(RerunDto, input ?? {}), plain);
