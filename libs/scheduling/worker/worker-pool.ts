import type { Worker } from './worker.js';

/** Workers that start and stop together. */
export class WorkerPool {
  constructor(private readonly workers: readonly Worker[]) {}

  start(): void {
    for (const worker of this.workers) worker.start();
  }

  /** None of them begins a pass any more. Resolves when all have stopped. */
  async stop(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
  }

  /** Resolves when the passes that are under way have ended. */
  async quiet(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.quiet()));
  }
}
