import { ProblemException } from './problem-exception.js';

/** The key of an `Idempotency-Key` header, quoted or bare: 1 to 255 visible characters. */
export const idempotencyKeyOf = (header: string | undefined): string | undefined => {
  if (header === undefined) return undefined;
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header;
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new ProblemException('IDEMPOTENCY_KEY_INVALID', 'an idempotency key has 1 to 255 visible characters');
};
