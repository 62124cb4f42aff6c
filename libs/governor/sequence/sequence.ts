/*
 * A sequence of batches through items that lie in a row. It says which items come next and what is left after each end; how
 * many there may be at once is asked of the governor, batch by batch.
 */

/** Items by their index: `from` is the first that belongs to it, `to` the first that does not. */
export interface ItemRange {
  readonly from: number;
  readonly to: number;
}

/** Where a sequence stands. Its items before `next` are done, each once; the others are not. */
export interface Sequence {
  /** All of its items. */
  readonly items: ItemRange;
  readonly next: number;
  /** No further batch has more items. */
  readonly most: number;
  /** Nor fewer, but for the last few. */
  readonly min: number;
  /** How many batches ended well. */
  readonly batches: number;
}

/** Nothing of `items` is done; batches have from `min` to `size` items. */
export const beginSequence = (
  items: ItemRange,
  { size, min }: { readonly size: number; readonly min: number },
): Sequence => ({
  items,
  next: items.from,
  most: size,
  min: Math.min(min, size),
  batches: 0,
});

export const isDone = ({ items, next }: Sequence): boolean => next >= items.to;

/** How many items are done. */
export const itemsDone = ({ items, next }: Sequence): number => next - items.from;

/** What the next batch is to ask for: as many items as are left, within the sequence's bounds. */
export const askedNext = ({ items, next, most, min }: Sequence): { readonly size: number; readonly min: number } => {
  const left = items.to - next;
  return { size: Math.min(most, left), min: Math.min(min, left) };
};

/** The next batch when the governor grants so many items; undefined when all are done. */
export const nextRange = (sequence: Sequence, granted: number): ItemRange | undefined => {
  if (isDone(sequence)) return undefined;
  const { size, min } = askedNext(sequence);
  return { from: sequence.next, to: sequence.next + Math.max(min, Math.min(size, granted)) };
};

/** After a batch that ended well. Throws when it is not the one that was next: it would be done twice, or others never. */
export const rangeDone = (sequence: Sequence, { from, to }: ItemRange): Sequence => {
  if (from !== sequence.next || to <= from || to > sequence.items.to)
    throw new Error(`items ${from} to ${to} are not what comes next: ${sequence.next} of ${sequence.items.to}`);
  return { ...sequence, next: to, batches: sequence.batches + 1 };
};

/**
 * After a batch that ran out of memory: its items are tried again by half, and no later batch has more, so that a size that
 * proved too large costs one batch and not one in every two. Undefined when it was as small as may be.
 */
export const halved = (sequence: Sequence, { from, to }: ItemRange): Sequence | undefined => {
  const most = Math.max(sequence.min, Math.floor((to - from) / 2));
  return most < to - from ? { ...sequence, most } : undefined;
};
