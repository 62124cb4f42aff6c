import type { Timer, Timers } from '#kernel';
import { processTable } from '../runner/process-table.js';
import type { ProcessInfo } from '../runner/process-table.js';

type Look = (table: readonly ProcessInfo[]) => void;

const INTERVAL = 1_000;
const EARLY_LOOKS = [20, 100, 300, 600];

/**
 * Reads the process table once a second for all tasks together, and a few times early in each task's life so that a
 * short one is seen too. It stands still while nobody looks.
 */
export class Sampler {
  private readonly looks = new Set<Look>();
  private timer: Timer | undefined;

  constructor(private readonly timers: Timers) {}

  /** Calls `look` now and with each new table until the returned function is called. */
  watch(look: Look): () => void {
    look(processTable());
    this.looks.add(look);
    this.timer ??= this.timers.every(INTERVAL, () => this.all());
    const early = EARLY_LOOKS.map((delay) => this.timers.after(delay, () => look(processTable())));
    return () => {
      this.looks.delete(look);
      for (const timer of early) timer.cancel();
      if (this.looks.size > 0) return;
      this.timer?.cancel();
      this.timer = undefined;
    };
  }

  private all(): void {
    const table = processTable();
    for (const look of this.looks) look(table);
  }
}
