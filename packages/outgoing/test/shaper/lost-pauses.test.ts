/** A pause that did not reach the store: the shaper sends it again while the pause lasts. */

import { createLimiter } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { fakeTime } from 'spillway-testkit';
import { expect, it } from 'vitest';
import { FarStore, pass, setUp, twoProcesses } from './set-up.js';

fakeTime();

const quiet = { logger: false } as const;

it('others hear of it when the store is back', async () => {
  const { stores, here, there, starts } = twoProcesses();
  stores[0].down = true;
  await expect(here.pause('acme', '3s')).rejects.toThrow(/SPW_STORE_UNAVAILABLE/);
  await pass(500);
  stores[0].down = false;
  await pass(200);
  expect(await there.waitOf('acme')).toBeGreaterThanOrEqual(2_300);
  expect(await there.waitOf('acme')).toBeLessThanOrEqual(2_500);
  starts.many(there, 2);
  await pass(5_000);
  expect(starts.ms[0]).toBeGreaterThanOrEqual(3_000);
  expect(starts.ms[0]).toBeLessThanOrEqual(3_200);
});

it('is told again until the store has heard it, and not more often', async () => {
  const store = remoteStore(new FarStore());
  const { shaper } = setUp({}, { store, localShare: 1, breaker: false, ...quiet });
  store.down = true;
  await shaper.pause('acme', '3s').catch(() => undefined);
  await pass(1_000);
  const asked = store.count('hold');
  expect(asked).toBeGreaterThan(5);
  expect(asked).toBeLessThan(15);
  store.down = false;
  await pass(1_000);
  expect(store.count('hold')).toBe(asked + 1);
});

it('is not told any more when it is over', async () => {
  const store = remoteStore(new FarStore());
  const { shaper } = setUp({}, { store, localShare: 1, breaker: false, ...quiet });
  store.down = 'hold';
  await shaper.pause('acme', '1s').catch(() => undefined);
  await pass(1_000);
  const asked = store.count('hold');
  store.down = false;
  await pass(1_000);
  expect(store.count('hold')).toBe(asked);
  expect(await shaper.waitOf('acme')).toBe(0);
});

it('holds here for jobs that come later, whatever the store says', async () => {
  const store = remoteStore(new FarStore());
  store.down = 'hold';
  const { shaper, starts } = setUp({}, { store, onStoreError: 'deny', breaker: false, ...quiet });
  await shaper.pause('acme', '1s').catch(() => undefined);
  expect(await shaper.waitOf('acme')).toBe(1_000);
  starts.many(shaper, 2);
  await pass(3_000);
  expect(starts.ms).toHaveLength(2);
  expect(starts.ms[0]).toBeGreaterThanOrEqual(1_000);
});

it('close tells it once more, and never again', async () => {
  const store = remoteStore(new FarStore());
  const { shaper } = setUp({}, { store, localShare: 1, ...quiet });
  store.down = 'hold';
  await shaper.pause('acme', '10s').catch(() => undefined);
  store.down = false;
  store.delayMs = 5;
  const closing = shaper.close();
  await pass(20);
  await closing;
  expect(store.count('hold')).toBe(2);
  await pass(5_000);
  expect(store.count('hold')).toBe(2);
});

it('a short pause in an outage does not end a longer one that the store told of', async () => {
  const { stores, here, there, starts } = twoProcesses();
  await there.pause('acme', '3s');
  starts.many(here, 1);
  await pass(100);
  for (const store of stores) store.down = true;
  await here.pause('acme', '5ms').catch(() => undefined);
  await pass(100);
  starts.many(here, 1);
  await pass(4_000);
  expect(starts.ms[0]).toBeGreaterThanOrEqual(3_000);
});

it('a pause that the store told of lasts in an outage, even if no job waits', async () => {
  const { stores, here, there, starts } = twoProcesses();
  await there.pause('acme', '3s');
  const stop = new AbortController();
  here.schedule('acme', () => 0, { signal: stop.signal }).catch(() => undefined);
  await pass(100);
  stop.abort();
  await pass(100);
  for (const store of stores) store.down = true;
  starts.many(here, 1);
  await pass(4_000);
  expect(starts.ms).toHaveLength(1);
  expect(starts.ms[0]).toBeGreaterThanOrEqual(3_000);
});

async function expectPausedInOutage({
  stores,
  here,
}: ReturnType<typeof twoProcesses>): Promise<void> {
  for (const store of stores) store.down = true;
  const reserved = await here.reserve('acme');
  const waitMs = reserved.allowed ? reserved.delayMs : reserved.wouldWaitMs;
  expect(waitMs).toBeGreaterThanOrEqual(3_000);
  expect(waitMs).toBeLessThanOrEqual(3_500);
}

it.each([
  ['granted', '30s', { allowed: true, delayMs: 3_000 }],
  ['rejected', '1s', { allowed: false, reason: 'wait', wouldWaitMs: 3_000 }],
] as const)(
  'a pause that the store told a reservation of holds in an outage (it was %s)',
  async (_, maxWait, expected) => {
    const processes = twoProcesses({ maxWait });
    await processes.there.pause('acme', '3s');
    expect(await processes.here.reserve('acme')).toMatchObject(expected);
    await expectPausedInOutage(processes);
  },
);

it('a pause that a look told of holds reservations in an outage', async () => {
  const processes = twoProcesses();
  await processes.there.pause('acme', '3s');
  expect(await processes.here.pauseOf('acme')).toBe(3_000);
  await expectPausedInOutage(processes);
});

it('a longer pause that the answer to a short one told of holds reservations in an outage', async () => {
  const processes = twoProcesses();
  await processes.there.pause('acme', '3s');
  await processes.here.pause('acme', '5ms');
  await expectPausedInOutage(processes);
});

it('a pause that the store told of holds reservations though the fallback counters are full', async () => {
  const processes = twoProcesses();
  const settings = { store: processes.stores[0], localShare: 1, ...quiet };
  const limiter = createLimiter({ name: 'own', limit: 9, window: '1h' }, settings);
  for (let i = 0; i < 100; i += 1) {
    await limiter.record(Array.from({ length: 1_000 }, (_, k) => `k${i * 1_000 + k}`));
  }
  await processes.there.pause('acme', '3s');
  expect(await processes.here.pauseOf('acme')).toBe(3_000);
  await expectPausedInOutage(processes);
});
