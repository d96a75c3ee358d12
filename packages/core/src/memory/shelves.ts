import { BucketShelf } from '../algorithms/bucket.js';
import type { Rule, Shelf } from '../contract/rule.js';

export class Shelves {
  readonly buckets: BucketShelf = new BucketShelf();
  private readonly byMachine = new Map<string, Shelf<Rule>>([['bucket', this.buckets]]);
  private readonly all: Shelf<Rule>[] = [this.buckets];
  // Most calls use the same algorithm as the call before.
  private last: Shelf<Rule> = this.buckets;
  private lastMachine = 'bucket';

  get size(): number {
    const { all } = this;
    let size = 0;
    for (let i = 0; i < all.length; i += 1) size += (all[i] as Shelf<Rule>).size;
    return size;
  }

  shelfFor({ machine, logic }: Rule): Shelf<Rule> {
    if (machine === this.lastMachine) return this.last;
    let shelf = this.byMachine.get(machine);
    if (!shelf) {
      shelf = logic.shelf();
      this.byMachine.set(machine, shelf);
      this.all.push(shelf);
    }
    this.last = shelf;
    this.lastMachine = machine;
    return shelf;
  }

  reclaim(nowUs: number): void {
    for (const shelf of this.all) shelf.reclaim(nowUs);
  }
}
