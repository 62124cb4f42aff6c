import type { Rejection } from '#kernel';
import type { BatchRequest } from '#jobs';
import type { Contract } from '#nodes';
import type { Estimate } from '../budget/index.js';
import { askedNext, beginSequence, isDone, itemsDone, nextRange, rangeDone } from '../sequence/sequence.js';
import type { ItemRange, Sequence } from '../sequence/sequence.js';
import type { TaskQueue } from './task-queue.js';
import type { TaskControl } from './task.js';

/** Many items to be worked through in batches, each a task of its own named `<id>/<number>` from 1. */
export interface BatchSequence<Item> {
  readonly id: string;
  readonly items: readonly Item[];
  /** Of one batch; `batch.size` is the most that is asked for at once. */
  readonly estimate: Estimate & { readonly batch: BatchRequest };
  readonly work: (items: readonly Item[], contract: Contract, control: TaskControl) => unknown;
  readonly lane?: string;
  readonly priority?: number;
  /** Ends the sequence, and the batch under way. */
  readonly signal?: AbortSignal;
}

/** `done` items were completed, the first ones, in `batches` batches; those of a batch that failed do not count. */
export interface SequenceEnd {
  readonly state: 'completed' | 'failed' | 'cancelled';
  readonly done: number;
  readonly batches: number;
  readonly reason?: Rejection;
}

/**
 * Runs items in one batch after another until all are done, each exactly once. The governor alone says how many items a batch
 * takes; the next batch begins where that one ended and asks for as many as it may again, so that a sequence that began
 * small grows when there is room. Each batch stands in line anew: others get their turn in between.
 */
export const runInBatches = async <Item>(queue: TaskQueue, sequence: BatchSequence<Item>): Promise<SequenceEnd> => {
  const { id, items, signal } = sequence;
  let at = beginSequence({ from: 0, to: items.length }, sequence.estimate.batch);
  for (;;) {
    const sofar = { done: itemsDone(at), batches: at.batches };
    if (isDone(at)) return { state: 'completed', ...sofar };
    if (signal?.aborted) return { state: 'cancelled', ...sofar, reason: CANCELLED };
    const name = `${id}/${at.batches + 1}`;
    const submitted = queue.submit({ ...nextBatch(sequence, at), id: name });
    if (submitted.kind === 'rejected') return { state: 'failed', ...sofar, reason: submitted.rejection };
    const stop = (): void => void queue.cancel(name, CANCELLED.message);
    signal?.addEventListener('abort', stop, { once: true });
    const end = await submitted.ended;
    signal?.removeEventListener('abort', stop);
    if (end.state !== 'completed') return { state: end.state, ...sofar, reason: end.reason };
    at = rangeDone(at, end.result);
  }
};

const CANCELLED: Rejection = { code: 'task.cancelled', message: 'the sequence was cancelled' };

const nextBatch = <Item>({ items, estimate, work, lane, priority }: BatchSequence<Item>, at: Sequence) => ({
  estimate: { ...estimate, batch: { ...estimate.batch, ...askedNext(at) } },
  work: async (contract: Contract, control: TaskControl): Promise<ItemRange> => {
    const range = nextRange(at, contract.batchSize ?? 0) ?? { from: at.next, to: at.next };
    await work(items.slice(range.from, range.to), contract, control);
    return range;
  },
  ...(lane !== undefined && { lane }),
  ...(priority !== undefined && { priority }),
});
