/** Both ends inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Which bytes of `size` a `Range` header asks for (RFC 9110). Several ranges, other units and what is no range at all are
 * ignored, as the standard allows: the whole is sent.
 */
export const rangeOf = (header: string | undefined, size: number): ByteRange | 'whole' | 'outside' => {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return 'whole';
  if (first === '') return size === 0 || Number(last) === 0 ? 'outside' : lastBytes(Number(last), size);
  const start = Number(first);
  if (last !== '' && Number(last) < start) return 'whole';
  if (start >= size) return 'outside';
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
};

const lastBytes = (count: number, size: number): ByteRange => ({ start: Math.max(0, size - count), end: size - 1 });
