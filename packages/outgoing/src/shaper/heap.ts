/** A binary heap from which any item can be removed in logarithmic time. */

export class Heap<Item> {
  /** No item goes before its parent, which is at (index - 1) / 2, rounded down. */
  private readonly items: Item[] = [];
  private readonly indexes = new Map<Item, number>();
  private readonly goesBefore: (item: Item, other: Item) => boolean;

  /** @param goesBefore must order any two items the same way as long as both are in the heap */
  constructor(goesBefore: (item: Item, other: Item) => boolean) {
    this.goesBefore = goesBefore;
  }

  get size(): number {
    return this.items.length;
  }

  get first(): Item | undefined {
    return this.items[0];
  }

  add(item: Item): void {
    this.siftUp(item, this.items.length);
  }

  remove(item: Item): boolean {
    const { items, indexes } = this;
    const index = indexes.get(item);
    if (index === undefined) return false;
    indexes.delete(item);
    const last = items.pop() as Item;
    if (last === item) return true;
    // The last item can come from another branch of the heap, and so may go before its new parent.
    if (index > 0 && this.goesBefore(last, items[(index - 1) >> 1] as Item)) {
      this.siftUp(last, index);
    } else {
      this.siftDown(last, index);
    }
    return true;
  }

  private siftUp(item: Item, from: number): void {
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.items[parentIndex] as Item;
      if (!this.goesBefore(item, parent)) break;
      this.setAt(parent, index);
      index = parentIndex;
    }
    this.setAt(item, index);
  }

  private siftDown(item: Item, from: number): void {
    const { items } = this;
    let index = from;
    for (let next = 2 * index + 1; next < items.length; next = 2 * index + 1) {
      const right = items[next + 1];
      if (right && this.goesBefore(right, items[next] as Item)) next += 1;
      const child = items[next] as Item;
      if (!this.goesBefore(child, item)) break;
      this.setAt(child, index);
      index = next;
    }
    this.setAt(item, index);
  }

  private setAt(item: Item, index: number): void {
    this.items[index] = item;
    this.indexes.set(item, index);
  }
}
