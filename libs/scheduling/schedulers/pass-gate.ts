import type { ClusterState } from '#placement';

/**
 * Reservations on their way from which on no further pass begins. Each decision names all that it takes for granted, so
 * without a bound many large jobs at once would fill the log with such lists; with it one names fewer than so many and those of
 * its own plan.
 */
export const MOST_ASSUMED = 100;

/**
 * Lets passes begin while few reservations are on their way, and has the others wait until one of those that brought them
 * there has ended. So a pass is never made smaller for what others do (S-06).
 */
export class PassGate {
  private readonly waiting: (() => void)[] = [];
  private underWay = 0;

  constructor(private readonly view: { readonly cluster: Pick<ClusterState, 'assumed'> }) {}

  /** `pass` sends its reservations before it first waits. */
  async through<Outcome>(pass: () => Promise<Outcome>): Promise<Outcome> {
    while (this.isFull) await new Promise<void>((resolve) => void this.waiting.push(resolve));
    this.underWay += 1;
    try {
      const outcome = pass();
      this.next();
      return await outcome;
    } finally {
      this.underWay -= 1;
      this.next();
    }
  }

  /** What is assumed with no pass under way is left over from one that failed: its end is not waited for. */
  private get isFull(): boolean {
    return this.underWay > 0 && this.view.cluster.assumed.size >= MOST_ASSUMED;
  }

  /** One at a time, for each may fill it again. */
  private next(): void {
    if (!this.isFull) this.waiting.shift()?.();
  }
}
