/** The conformance suite for stores, on real Durable Objects in workerd, whose clock the suite sets. */

import { durableObjectStoreAt } from '@spillway/cloudflare/testing';
import { storeConformance } from '@spillway/conformance';
import { ManualClock } from '@spillway/core/testing';
import type { Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { objectsOf, runWorker } from './workerd.js';

describe('the store in Durable Objects', () => {
  let miniflare: Miniflare;
  beforeAll(async () => {
    miniflare = await runWorker('workers/objects.js', ['RateLimitObjectAt']);
  });
  afterAll(() => miniflare.dispose());

  let opened = 0;
  /** The store is empty, because no other store uses its names of objects. */
  const open = async () => {
    opened += 1;
    const clock = new ManualClock();
    const hashKeys = `store ${opened}`;
    const namespace = await objectsOf(miniflare, 'RateLimitObjectAt');
    const store = durableObjectStoreAt(namespace, clock, { hashKeys });
    return { store, setTimeUs: (us: number) => clock.setUs(us) };
  };
  for (const { name, run } of storeConformance({ open }, { runs: 1 })) it(name, run);
});
