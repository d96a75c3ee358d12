/** A binary heap: of all that is in it, the one that goes first is found at once, however many there are. */

export class Ranked<Item> {
  /** None goes before its parent, which is at (index - 1) / 2. */
  private readonly heap: Item[] = [];
  private readonly places = new Map<Item, number>();
  private readonly goesBefore: (item: Item, other: Item) => boolean;

  /** @param goesBefore must not change its mind about what is in here */
  constructor(goesBefore: (item: Item, other: Item) => boolean) {
    this.goesBefore = goesBefore;
  }

  get size(): number {
    return this.heap.length;
  }

  get first(): Item | undefined {
    return this.heap[0];
  }

  add(item: Item): void {
    this.rise(item, this.heap.length);
  }

  /** False if it is not here. */
  remove(item: Item): boolean {
    const { heap, places } = this;
    const at = places.get(item);
    if (at === undefined) return false;
    places.delete(item);
    const last = heap.pop() as Item;
    if (last === item) return true;
    // What comes from another branch of the heap may go before what is above its new place.
    if (at > 0 && this.goesBefore(last, heap[(at - 1) >> 1] as Item)) this.rise(last, at);
    else this.sink(last, at);
    return true;
  }

  private rise(item: Item, from: number): void {
    let at = from;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = this.heap[above] as Item;
      if (!this.goesBefore(item, parent)) break;
      this.put(parent, at);
      at = above;
    }
    this.put(item, at);
  }

  private sink(item: Item, from: number): void {
    const { heap } = this;
    let at = from;
    for (let below = 2 * at + 1; below < heap.length; below = 2 * at + 1) {
      const right = heap[below + 1];
      if (right && this.goesBefore(right, heap[below] as Item)) below += 1;
      const child = heap[below] as Item;
      if (!this.goesBefore(child, item)) break;
      this.put(child, at);
      at = below;
    }
    this.put(item, at);
  }

  private put(item: Item, at: number): void {
    this.heap[at] = item;
    this.places.set(item, at);
  }
}
