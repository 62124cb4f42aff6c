import { hash32, seededRandom } from '#kernel';
import type { Ids, Random } from '#kernel';

/**
 * Draws for one subject of a simulation. Each subject has a source of its own (named by seed and label), so that one more
 * draw of one of them leaves all others as they were.
 */
export class Chance implements Random {
  private readonly source: Random;

  constructor(
    private readonly seed: number,
    private readonly label: string,
  ) {
    this.source = seededRandom(hash32(`${String(seed)}/${label}`));
  }

  of(label: string): Chance {
    return new Chance(this.seed, `${this.label}/${label}`);
  }

  next(): number {
    return this.source.next();
  }

  /** True with this probability, 0…1. */
  happens(probability: number): boolean {
    return this.next() < probability;
  }

  /** A whole number in [least, most]. */
  int(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.next() * items.length)]!;
  }

  /** One of the rows, each as likely as its weight says. */
  weighted<Item>(rows: readonly (readonly [number, Item])[]): Item {
    let left = this.next() * rows.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, item] of rows) {
      left -= weight;
      if (left < 0) return item;
    }
    return rows.at(-1)![1];
  }
}

/** Ids that no other process, and no other life of this one, ever makes; alike in every run of the seed. */
export const idsOf = (process: number, life: number): Ids => {
  let count = 0;
  const tail = (process * 4096 + life).toString(16).padStart(4, '0');
  return {
    next: () => {
      count += 1;
      return `00000000-0000-7000-8000-${tail}${count.toString(16).padStart(8, '0')}`;
    },
  };
};

/** Which process made an id, and in which of its lives. */
export const makerOf = (id: string): { process: number; life: number } => {
  const tail = Number.parseInt(id.slice(24, 28), 16);
  return { process: Math.floor(tail / 4096), life: tail % 4096 };
};
