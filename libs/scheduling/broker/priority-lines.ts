import { Heap } from '#kernel';
import type { Millis } from '#kernel';
import { effectivePriority, isOlder } from './aging.js';
import type { Aging, Place } from './aging.js';

export interface Ranked<Item> {
  readonly item: Item;
  readonly effective: number;
}

/**
 * Items by priority, with aging. Each priority has a line of its own, the oldest first: the head of a line has the most
 * points of it at any time, so the first of all is among the heads, and time never puts a line in another order.
 */
export class PriorityLines<Item extends Place> {
  private readonly lines = new Map<number, Line<Item>>();

  constructor(private readonly aging: Aging) {}

  get isEmpty(): boolean {
    return this.lines.size === 0;
  }

  add(item: Item): void {
    const line = this.lines.get(item.priority) ?? new Line<Item>();
    this.lines.set(item.priority, line);
    line.add(item);
  }

  /** The very item that was added. */
  delete(item: Item): void {
    const line = this.lines.get(item.priority);
    line?.delete(item);
    if (line?.head() === undefined) this.lines.delete(item.priority);
  }

  head(at: Millis): Ranked<Item> | undefined {
    let best: Ranked<Item> | undefined;
    for (const line of this.lines.values()) {
      const item = line.head();
      if (!item) continue;
      const effective = effectivePriority(item, this.aging, at);
      const ahead = !best || effective > best.effective || (effective === best.effective && isOlder(item, best.item));
      if (ahead) best = { item, effective };
    }
    return best;
  }
}

/** Items that left, over the number of those that are there, before a line's heap is made anew. */
const MOST_STALE = 16;

/** Heaps do not delete from the middle: who left is passed over when it comes up. */
class Line<Item extends Place> {
  private heap = new Heap<Item>(isOlder);
  private readonly present = new Set<Item>();

  add(item: Item): void {
    this.present.add(item);
    this.heap.push(item);
    if (this.heap.size <= 2 * this.present.size + MOST_STALE) return;
    this.heap = new Heap<Item>(isOlder);
    for (const one of this.present) this.heap.push(one);
  }

  delete(item: Item): void {
    this.present.delete(item);
  }

  head(): Item | undefined {
    for (let item = this.heap.peek(); item; item = this.heap.peek()) {
      if (this.present.has(item)) return item;
      this.heap.pop();
    }
    return undefined;
  }
}
