import type { Assignment, Contract } from '#contracts';
import { beginSequence, halved, isDone, itemsDone, rangeDone } from '#governor';
import type { BatchSeen, ItemRange, Sequence } from '#governor';
import type { Ending } from '../executions/ending.js';
import type { ProgressTick } from '../logs/progress-lines.js';

/*
 * A task that is run for one batch of its items after another, in one folder and within one contract. What is done is in the
 * journal before the next batch begins, so that a later agent goes on with that one.
 */

/** What the journal keeps of it. */
export interface Batches {
  readonly sequence: Sequence;
  /** All items of the job; the sequence has the part of one partition. */
  readonly of: number;
  /** The batch that runs, or is about to. */
  readonly current?: CurrentBatch;
  /** CPU time of the batches that are over. */
  readonly cpuSeconds: number;
  /** Of the batch that ended last; bytes. */
  readonly last?: NonNullable<BatchSeen['last']>;
}

/** Where the batch's own output begins in the task's streams, in bytes: they hold what all batches wrote. */
export interface CurrentBatch extends ItemRange {
  readonly stdout: number;
  readonly stderr: number;
}

/** Asks the machine's governor how many items the next batch of what holds this contract may have. */
export type BatchSizes = (assignment: Assignment, seen: BatchSeen) => number;

/** The batches of an assignment with what was granted of it; undefined for a task that is run once. */
export const batchesOf = ({ task }: Assignment, { batchSize }: Contract): Batches | undefined => {
  const { items, min } = task.batch ?? {};
  if (!items || min === undefined || batchSize === undefined || items.to <= items.from) return undefined;
  const { from, to, of } = items;
  return { sequence: beginSequence({ from, to }, { size: batchSize, min }), of, cpuSeconds: 0 };
};

/** `ending` is that of the whole task; without one another batch follows. */
export interface AfterBatch {
  readonly batches: Batches;
  readonly ending?: Ending;
}

/**
 * After the end of the batch that ran. One that ran out of memory is tried again with half of its items as long as they may be
 * halved; any other failure is the task's.
 */
export const afterBatch = (batches: Batches, ending: Ending, peakMemory: number): AfterBatch => {
  const { current, sequence, of } = batches;
  const cpuSeconds = batches.cpuSeconds + ending.cpuSeconds;
  if (!current) return { batches, ending: { ...withItems(ending, batches), cpuSeconds } };
  const last = { items: current.to - current.from, peakMemory };
  const after = ending.failure ? retried(sequence, current, ending) : rangeDone(sequence, current);
  if (!after) return { batches, ending: { ...withItems(ending, batches), cpuSeconds } };
  const next = { sequence: after, of, cpuSeconds, last };
  return isDone(after) ? { batches: next, ending: { ...ending, cpuSeconds } } : { batches: next };
};

const retried = (sequence: Sequence, current: ItemRange, { failure }: Ending): Sequence | undefined =>
  failure?.code === 'out-of-memory' ? halved(sequence, current) : undefined;

/** A failure tells how far the task had come and with which items it failed. */
const withItems = (ending: Ending, { sequence, current }: Batches): Ending => {
  if (!ending.failure) return ending;
  const { from, to } = sequence.items;
  const batch = current && { from: current.from, to: current.to };
  const items = { done: itemsDone(sequence), of: to - from, batches: sequence.batches, ...(batch && { batch }) };
  return { ...ending, failure: { ...ending.failure, diagnostics: { ...ending.failure.diagnostics, items } } };
};

/** The progress of all the task's items, from what the batch that runs tells of its own. */
export const progressOf = ({ sequence, current }: Batches, { fraction, message }: ProgressTick): ProgressTick => {
  const done = itemsDone(sequence);
  const all = sequence.items.to - sequence.items.from;
  const running = current ? (current.to - current.from) * fraction : 0;
  const told = message === undefined ? '' : `: ${message}`;
  return { fraction: (done + running) / all, message: `${done} of ${all} items${told}` };
};

/** What tells the task which items are to be done: from `FROM` to before `TO`. */
export const batchEnvironment = ({ current, of }: Batches): Record<string, string> =>
  current
    ? {
        ESCALON_BATCH_FROM: String(current.from),
        ESCALON_BATCH_TO: String(current.to),
        ESCALON_BATCH_SIZE: String(current.to - current.from),
        ESCALON_BATCH_ITEMS: String(of),
      }
    : {};
