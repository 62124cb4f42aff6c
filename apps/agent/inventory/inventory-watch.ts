import { isDeepStrictEqual } from 'node:util';
import type { Inventory } from '#contracts';
import type { Timer, Timers } from '#kernel';
import { messageOf } from '../client/errors.js';
import type { Logger } from 'pino';

const INTERVAL = 10 * 60_000;
/** Free disk moves all the time; a change below this share of it is not told. */
const DISK_CHANGE = 0.2;

/**
 * Keeps the inventory that the server knows: looks again every ten minutes and when asked to, one look at a time, and tells
 * the server only of a change. A look or a telling that fails is made again at the next turn.
 */
export class InventoryWatch {
  private timer: Timer | undefined;
  private looking: Promise<void> | undefined;

  constructor(
    private known: Inventory,
    private readonly detect: () => Promise<Inventory>,
    private readonly tell: (inventory: Inventory) => Promise<void>,
    private readonly timers: Timers,
    private readonly log: Logger,
  ) {}

  get inventory(): Inventory {
    return this.known;
  }

  start(): void {
    this.timer = this.timers.every(INTERVAL, () => void this.look());
    void this.look();
  }

  stop(): void {
    this.timer?.cancel();
  }

  /** Looks now, or waits for the look under way. */
  look(): Promise<void> {
    this.looking ??= this.lookOnce()
      .catch((error: unknown) =>
        this.log.warn({ reason: messageOf(error) }, 'the inventory could not be brought up to date'),
      )
      .finally(() => (this.looking = undefined));
    return this.looking;
  }

  private async lookOnce(): Promise<void> {
    const found = await this.detect();
    if (!hasChanged(this.known, found)) return;
    await this.tell(found);
    this.known = found;
    this.log.info('the inventory changed');
  }
}

/** Whether a newly found inventory is worth telling. */
export const hasChanged = (known: Inventory, found: Inventory): boolean => {
  const moved = Math.abs(found.disk - known.disk) > known.disk * DISK_CHANGE;
  return moved || !isDeepStrictEqual({ ...known, disk: 0 }, { ...found, disk: 0 });
};
