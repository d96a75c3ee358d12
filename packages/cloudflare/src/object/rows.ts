import type { StateChanges, StateText } from '@spillway/core/store';
import type { ObjectStorage } from '../platform.js';

/** The texts that an object stores. They are in `storage.kv`, because a separate SQL table would cost more. */
export class Rows {
  private readonly storage: ObjectStorage;

  constructor(storage: ObjectStorage) {
    this.storage = storage;
  }

  readText(name: string): string | undefined {
    return (this.storage.kv.get(name) as StateText | undefined)?.text;
  }

  writeChanges(changes: StateChanges): void {
    const { kv } = this.storage;
    this.storage.transactionSync(() => {
      for (const [name, state] of changes) {
        if (state) kv.put(name, state);
        else kv.delete(name);
      }
    });
  }

  suffixes(prefix: string): string[] {
    return [...this.storage.kv.list({ prefix })].map(([name]) => name.slice(prefix.length));
  }

  /** Deletes expired rows. Returns the time at which the next row expires; Infinity if no row is left. */
  reclaim(nowUs: number): number {
    const { kv } = this.storage;
    const expired: string[] = [];
    let firstUs = Infinity;
    // Collects only names, because an idempotency scope may have many stored responses of 1 MiB.
    for (const [name, state] of kv.list()) {
      const { expiresUs } = state as StateText;
      if (expiresUs <= nowUs) expired.push(name);
      else firstUs = Math.min(firstUs, expiresUs);
    }
    for (const name of expired) kv.delete(name);
    return firstUs;
  }
}
