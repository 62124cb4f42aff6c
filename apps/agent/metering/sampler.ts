import type { Clock, Millis, Timer, Timers } from '#kernel';
import { processTable } from '../runner/process-table.js';
import type { ProcessInfo } from '../runner/process-table.js';
import { KnownMarks } from '../runner/task-mark.js';

/** Gets every process of the machine, and how to tell which task's mark each carries. */
export type Look = (table: readonly ProcessInfo[], mark: (process: ProcessInfo) => number | undefined) => void;

/** Milliseconds between looks. */
const INTERVAL = 250;
/** The share of a core that looking may take: a look that took 30 ms is followed by a pause of 600 ms. */
const REST = 20;
const EARLY_LOOKS = [20, 100];
/** Tasks that begin together share a table for this long, or for twice the time that it took to read if that is longer. */
const SHARED = 10;

/**
 * Reads the process table for all tasks together: a few times early in each task's life so that a short one is seen too, then
 * four times a second, or less often where that would take more than a twentieth of a core. It stands still while
 * nobody looks.
 */
export class Sampler {
  private readonly looks = new Set<Look>();
  private readonly marks = new KnownMarks();
  private timer: Timer | undefined;
  private last: { readonly table: readonly ProcessInfo[]; readonly goodUntil: Millis } | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly timers: Timers,
  ) {}

  /** Calls `look` now and with each new table until the returned function is called. */
  watch(look: Look): () => void {
    const once = (): void => look(this.recent(), this.marks.of);
    once();
    this.looks.add(look);
    this.timer ??= this.timers.after(INTERVAL, () => this.all());
    const early = EARLY_LOOKS.map((delay) => this.timers.after(delay, once));
    return () => {
      this.looks.delete(look);
      for (const timer of early) timer.cancel();
      if (this.looks.size > 0) return;
      this.timer?.cancel();
      this.timer = undefined;
    };
  }

  private recent(): readonly ProcessInfo[] {
    const now = this.clock.now();
    return this.last && now < this.last.goodUntil ? this.last.table : this.read(now);
  }

  private read(begun: Millis): readonly ProcessInfo[] {
    const table = processTable();
    const now = this.clock.now();
    this.last = { table, goodUntil: now + Math.max(SHARED, 2 * (now - begun)) };
    return table;
  }

  private all(): void {
    const begun = this.clock.now();
    const table = this.read(begun);
    for (const look of this.looks) look(table, this.marks.of);
    this.marks.keep(table);
    const pause = Math.max(INTERVAL, REST * (this.clock.now() - begun));
    this.timer = this.looks.size === 0 ? undefined : this.timers.after(pause, () => this.all());
  }
}
