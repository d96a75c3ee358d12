/** Stores that answer when a test says so, or not at all. */

import { type Answer, memoryStore, type Step, type Store } from '@spillway/core';

/** Wraps a memory store: each call waits for `answer()`, and is noted. */
export class SlowStore implements Store {
  readonly sync = false;
  readonly calls: (readonly Step[])[] = [];
  private readonly memory = memoryStore();
  private held: (() => void)[] = [];

  async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    this.calls.push(steps);
    await new Promise<void>((resolve) => this.held.push(resolve));
    return this.memory.apply(steps);
  }

  /** Answers all that was asked so far. */
  answer(): void {
    for (const go of this.held) go();
    this.held = [];
  }
}

/** Fails every call. */
export const brokenStore: Store = {
  sync: false,
  apply: () => Promise.reject(new Error('the store is down')),
};
