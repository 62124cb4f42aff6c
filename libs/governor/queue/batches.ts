import type { Rejection } from '#kernel';
import type { BatchRequest } from '#jobs';
import type { Contract } from '#nodes';
import type { Estimate } from '../budget/index.js';
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
  let done = 0;
  for (let batches = 0; ; batches += 1) {
    if (done === items.length) return { state: 'completed', done, batches };
    if (signal?.aborted) return { state: 'cancelled', done, batches, reason: CANCELLED };
    const name = `${id}/${batches + 1}`;
    const submitted = queue.submit({ ...nextBatch(sequence, done), id: name });
    if (submitted.kind === 'rejected') return { state: 'failed', done, batches, reason: submitted.rejection };
    const stop = (): void => void queue.cancel(name, CANCELLED.message);
    signal?.addEventListener('abort', stop, { once: true });
    const end = await submitted.ended;
    signal?.removeEventListener('abort', stop);
    if (end.state !== 'completed') return { state: end.state, done, batches, reason: end.reason };
    done += end.result;
  }
};

const CANCELLED: Rejection = { code: 'task.cancelled', message: 'the sequence was cancelled' };

const nextBatch = <Item>({ items, estimate, work, lane, priority }: BatchSequence<Item>, done: number) => {
  const left = items.length - done;
  const { size, min } = estimate.batch;
  const batch = { ...estimate.batch, size: Math.min(size, left), min: Math.min(min, left) };
  return {
    estimate: { ...estimate, batch },
    work: async (contract: Contract, control: TaskControl): Promise<number> => {
      const part = items.slice(done, done + (contract.batchSize ?? 0));
      await work(part, contract, control);
      return part.length;
    },
    ...(lane !== undefined && { lane }),
    ...(priority !== undefined && { priority }),
  };
};
