/** Runs the same tests on the memory store and on a real Redis, both with a manual clock. */

import { memoryStore, type Store } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { redisStoreAt } from '@spillway/redis/testing';
import { Redis } from 'ioredis';
import { redisUrl } from 'spillway-testkit/redis';
import { afterAll, beforeEach, describe } from 'vitest';

export interface Opened {
  readonly store: Store;
  readonly clock: ManualClock;
}

/**
 * Runs a suite for each store. `open` opens the store, which is empty when a test begins. `db`: a logical database of
 * Redis that no other test uses.
 */
export function onBothStores(db: number, suite: (open: () => Opened) => void): void {
  describe('in memory', () => {
    suite(() => {
      const clock = new ManualClock();
      return { store: memoryStore({ clock }), clock };
    });
  });
  describe.skipIf(redisUrl === null)('on Redis', () => {
    const client = new Redis(redisUrl ?? '', { db, lazyConnect: true });
    beforeEach(async () => void (await client.flushdb()));
    afterAll(() => client.disconnect());
    suite(() => {
      const clock = new ManualClock();
      return { store: redisStoreAt(client, clock), clock };
    });
  });
}
