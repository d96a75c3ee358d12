/** All that a memory store keeps, by machine. */

import { Entries } from '../machines/entries.js';
import { BucketShelf } from './bucket-shelf.js';
import { type Expiring, KeyedStates } from './keyed-states.js';
import { LeaseShelf } from './lease-shelf.js';
import { WindowShelf } from './window-shelf.js';

export class StoredLog extends Entries implements Expiring {
  expiresUs = 0;
}

export class Shelves {
  readonly buckets: BucketShelf = new BucketShelf();
  readonly windows: WindowShelf = new WindowShelf();
  readonly logs: KeyedStates<StoredLog> = new KeyedStates();
  /** Entries of all logs. */
  logEntries = 0;
  readonly leases: LeaseShelf = new LeaseShelf();

  get size(): number {
    return this.buckets.size + this.windows.size + this.logEntries + this.leases.size;
  }

  /** Drops what equals an unused key, among the next few entries. */
  reclaim(nowUs: number): void {
    this.buckets.reclaim(nowUs);
    this.windows.reclaim(nowUs);
    this.logs.reclaim(nowUs, (log) => {
      this.logEntries -= log.count;
    });
    this.leases.reclaim(nowUs);
  }
}
