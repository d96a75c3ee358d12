/** Resets that a control tells of, passed on to what counts beside the store. */

import type { Control } from '../contract/control.js';
import type { StoreClient } from './store-client.js';

export class Resets {
  /** By limiter, the resets that were passed on last: those of a minute. */
  private readonly seen = new Map<string, ReadonlyMap<string, number>>();
  private readonly control: Control;
  private readonly client: StoreClient;

  constructor(control: Control, client: StoreClient) {
    this.control = control;
    this.client = client;
  }

  /** Passes on what was reset since the last call. Throws what the control throws. */
  follow(limiter: string): void {
    const resets = this.control.resetsOf?.(limiter);
    if (!resets) return;
    const before = this.seen.get(limiter);
    for (const [key, atMs] of resets) {
      if (before?.get(key) !== atMs) this.client.forgetReset(limiter, key);
    }
    this.seen.set(limiter, new Map(resets));
  }
}
