/** A binary heap: the least element by `before` first. */
export class Heap<Item> {
  private readonly items: Item[] = [];

  constructor(private readonly before: (left: Item, right: Item) => boolean) {}

  get size(): number {
    return this.items.length;
  }

  peek(): Item | undefined {
    return this.items[0];
  }

  push(item: Item): void {
    this.items.push(item);
    this.rise(this.items.length - 1);
  }

  pop(): Item | undefined {
    const first = this.items[0];
    const last = this.items.pop();
    if (this.items.length > 0 && last !== undefined) {
      this.items[0] = last;
      this.sink(0);
    }
    return first;
  }

  private rise(start: number): void {
    let at = start;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.isBefore(at, parent)) return;
      this.swap(at, parent);
      at = parent;
    }
  }

  private sink(start: number): void {
    let at = start;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      let least = at;
      if (left < this.items.length && this.isBefore(left, least)) least = left;
      if (right < this.items.length && this.isBefore(right, least)) least = right;
      if (least === at) return;
      this.swap(at, least);
      at = least;
    }
  }

  private isBefore(left: number, right: number): boolean {
    return this.before(this.items[left] as Item, this.items[right] as Item);
  }

  private swap(left: number, right: number): void {
    const item = this.items[left] as Item;
    this.items[left] = this.items[right] as Item;
    this.items[right] = item;
  }
}
