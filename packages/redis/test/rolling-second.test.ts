/** How many requests a log counts at an instant: a published example with its numbers. */

import { createLimiter, memoryStore, type Store, slidingLog } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { Redis } from 'ioredis';
import { redisUrl } from 'spillway-testkit/redis';
import { afterAll, expect, it } from 'vitest';
import { redisStoreAt } from '../src/testing.js';

/** Seconds since the epoch, as they were published. Clocks here count whole microseconds. */
const EVENTS = [
  '1535458824.5664001',
  '1535458824.6389999',
  '1535458825.2572',
  '1535458825.3072',
  '1535458825.4689',
  '1535458825.5662999',
  '1535458825.6162999',
];
const IN_VIEW = [
  ['1535458825.374375802', 4],
  ['1535458825.632840728', 6],
] as const;

const redis = redisUrl === null ? null : new Redis(redisUrl);
afterAll(() => redis?.disconnect());

const stores: [string, (clock: ManualClock) => Store][] = [
  ['memory', (clock) => memoryStore({ clock })],
];
if (redis) stores.push(['Redis', (clock) => redisStoreAt(redis, clock)]);

it.each(stores)('a log of a second in %s has in view what was published', async (_, open) => {
  const clock = new ManualClock();
  const limiter = createLimiter(
    { name: 'rolling-second', limit: 100, window: '1s', algorithm: slidingLog },
    { store: open(clock), storeTimeout: '10s' },
  );
  const key = `carrier-${Math.random()}`;
  const events = EVENTS.map(microseconds);
  for (const [text, expected] of IN_VIEW) {
    const viewUs = microseconds(text);
    for (let us = events[0]; us !== undefined && us <= viewUs; us = events[0]) {
      clock.setUs(us);
      expect(await limiter.consume(key)).toMatchObject({ outcome: 'allowed' });
      events.shift();
    }
    clock.setUs(viewUs);
    expect(await limiter.peek(key)).toMatchObject({ used: expected, remaining: 100 - expected });
  }
});

function microseconds(seconds: string): number {
  const [whole, fraction = ''] = seconds.split('.');
  return Number(whole + fraction.padEnd(6, '0').slice(0, 6));
}
