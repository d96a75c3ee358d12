/** All that a memory store keeps, by algorithm. */

import { BucketShelf } from './bucket-shelf.js';
import { LeaseShelf } from './lease-shelf.js';
import { LogShelf } from './log-shelf.js';
import { WindowShelf } from './window-shelf.js';

export class Shelves {
  readonly buckets: BucketShelf = new BucketShelf();
  readonly windows: WindowShelf = new WindowShelf();
  readonly logs: LogShelf = new LogShelf();
  readonly leases: LeaseShelf = new LeaseShelf();

  get size(): number {
    return this.buckets.size + this.windows.size + this.logs.size + this.leases.size;
  }

  /** Looks at the next few entries and drops those that equal an unused key. */
  reclaim(nowUs: number): void {
    this.buckets.reclaim(nowUs);
    this.windows.reclaim(nowUs);
    this.logs.reclaim(nowUs);
    this.leases.reclaim(nowUs);
  }
}
