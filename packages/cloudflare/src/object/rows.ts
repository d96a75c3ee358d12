/** The texts of an object: a row of its storage for each. */

import type { StateChanges, StateText } from '@spillway/core/store';
import type { ObjectStorage } from '../platform.js';

export class Rows {
  private readonly storage: ObjectStorage;

  constructor(storage: ObjectStorage) {
    this.storage = storage;
  }

  readText(name: string): string | undefined {
    return (this.storage.kv.get(name) as StateText | undefined)?.text;
  }

  /** All of them, or none if one cannot be written. */
  writeChanges(changes: StateChanges): void {
    const { kv } = this.storage;
    this.storage.transactionSync(() => {
      for (const [name, state] of changes) {
        if (state) kv.put(name, state);
        else kv.delete(name);
      }
    });
  }

  /** What of each name stands behind `prefix`. */
  endings(prefix: string): string[] {
    return [...this.storage.kv.list({ prefix })].map(([name]) => name.slice(prefix.length));
  }

  /** Deletes what is over. Returns when the first of the others is; undefined if none is left. */
  deleteOver(nowUs: number): number | undefined {
    const { kv } = this.storage;
    const over: string[] = [];
    let firstUs = Infinity;
    // One after another, and only names are kept: a scope may have many answers of 1 MiB.
    for (const [name, state] of kv.list()) {
      const { expiresUs } = state as StateText;
      if (expiresUs <= nowUs) over.push(name);
      else firstUs = Math.min(firstUs, expiresUs);
    }
    for (const name of over) kv.delete(name);
    return firstUs === Infinity ? undefined : firstUs;
  }

  /** Then the object takes no room any more. */
  deleteAll(): Promise<void> {
    return this.storage.deleteAll();
  }
}
