/** A shaper whose store does not answer: each process keeps to its share, and the store's return causes no burst. */

import { isSpillwayError } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { fakeTime, seeded } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { FarStore, pass, Starts, setUp, twoProcesses } from './set-up.js';

fakeTime();

const quiet = { logger: false } as const;

describe('while the store does not answer', () => {
  it('a process keeps its share of the pace', async () => {
    const store = remoteStore(new FarStore());
    store.down = true;
    const { shaper, starts } = setUp({}, { store, localShare: 1 / 2, ...quiet });
    starts.many(shaper, 4);
    await pass(3_000);
    expect(starts.ms).toEqual([0, 500, 1000, 1500]);
  });

  it('what has a slot starts in it, and what comes then waits behind it', async () => {
    const store = remoteStore(new FarStore());
    const { shaper, starts } = setUp({}, { store, localShare: 1 / 2, ...quiet });
    starts.many(shaper, 4);
    await pass(100);
    store.down = true;
    starts.many(shaper, 2);
    await pass(10_000);
    expect(starts.ms.slice(0, 4)).toEqual([0, 250, 500, 750]);
    expect(starts.ms[4]).toBeGreaterThanOrEqual(1000);
    expect((starts.ms[5] as number) - (starts.ms[4] as number)).toBe(500);
  });

  it('processes that had nothing to do do not start together, but about at the whole pace', async () => {
    const random = seeded(7);
    const starts = new Starts();
    for (let i = 0; i < 8; i += 1) {
      const store = remoteStore(new FarStore());
      store.down = true;
      const settings = { store, localShare: 1 / 8, random: () => random.uniform(), ...quiet };
      starts.many(setUp({}, settings).shaper, 5);
    }
    await pass(8_000);
    // 4 per second, and one of each process.
    const { ms } = starts;
    for (const from of ms) {
      expect(ms.filter((at) => at >= from && at < from + 100).length).toBeLessThanOrEqual(3);
      expect(ms.filter((at) => at >= from && at < from + 2_000).length).toBeLessThanOrEqual(8);
    }
    expect(ms).toHaveLength(32);
  });

  it('the place of a process in that counts for maxWait, but leaves room for a job', async () => {
    const store = remoteStore(new FarStore());
    store.down = true;
    const settings = { store, localShare: 1 / 8, random: () => 0.999, ...quiet };
    const { shaper, starts } = setUp({ maxWait: '1s' }, settings);
    starts.many(shaper, 2);
    await pass(3_000);
    expect(starts.ms).toEqual([999]);
    const wouldWaitMs = 2_999; // one period of this process after the first start
    expect(starts.errors).toMatchObject([{ error: { code: 'SPW_SHAPER_WAIT', wouldWaitMs } }]);
  });

  it('a pause holds in this process, and of what waits longer than maxWait some is refused', async () => {
    const store = remoteStore(new FarStore());
    store.down = true;
    const { shaper, starts } = setUp({ maxWait: '2s' }, { store, localShare: 1, ...quiet });
    await expect(shaper.pause('acme', '1s')).rejects.toThrow(/SPW_STORE_UNAVAILABLE/);
    starts.many(shaper, 6);
    await pass(10_000);
    expect(starts.ms).toEqual([1000, 1250, 1500, 1750, 2000]);
    expect(starts.codes).toEqual(['SPW_SHAPER_WAIT']);
  });

  it('deny refuses, with what the store failed by', async () => {
    const store = remoteStore(new FarStore());
    store.down = true;
    const { shaper } = setUp({}, { store, onStoreError: 'deny', ...quiet });
    const error: unknown = await shaper
      .schedule('acme', () => 1)
      .catch((thrown: unknown) => thrown);
    expect(isSpillwayError(error) && error.code).toBe('SPW_STORE_UNAVAILABLE');
    expect((error as Error).cause).toEqual(new Error('down'));
    const refused = { allowed: false, key: 'acme', reason: 'store-error', wouldWaitMs: Infinity };
    expect(await shaper.reserve('acme')).toEqual(refused);
    expect(await shaper.reserveFirst(['acme', 'umbrella'])).toEqual(refused);
    expect(await shaper.waitOf('acme')).toBe(Infinity);
    expect(shaper.queueLength('acme')).toBe(0);
  });

  it('deny lets start what has a slot', async () => {
    const store = remoteStore(new FarStore());
    const { shaper, starts } = setUp({}, { store, onStoreError: 'deny', ...quiet });
    starts.many(shaper, 3);
    await pass(0);
    store.down = true;
    await pass(1_000);
    expect(starts.ms).toEqual([0, 250, 500]);
  });
});

describe('a pause that is known', () => {
  it('holds when the store fails, and what waits starts right after it', async () => {
    const { stores, here, there, starts } = twoProcesses();
    starts.many(here, 3);
    await pass(100);
    await there.pause('acme', '2s');
    await pass(110); // the shaper looked at 200 ms
    stores[0].down = true;
    await pass(10_000);
    expect(starts.ms[0]).toBe(0);
    expect(starts.ms[1]).toBe(2100);
    expect(starts.ms).toHaveLength(3);
  });

  it('holds in this process if the store cannot be told, and is not made shorter', async () => {
    const store = remoteStore(new FarStore());
    const { shaper, starts } = setUp({}, { store, onStoreError: 'deny', ...quiet });
    starts.many(shaper, 2);
    await pass(0);
    store.down = true;
    for (const duration of ['3s', '1s'] as const) {
      await expect(shaper.pause('acme', duration)).rejects.toThrow(/SPW_STORE_UNAVAILABLE/);
    }
    await pass(2_000);
    expect(starts.ms).toEqual([0]);
    expect(shaper.queueLength('acme')).toBe(1);
    store.down = false;
    await pass(1_000);
    expect(starts.all).toHaveLength(2);
  });

  it('holds though the store, which could not be told, answers everything else', async () => {
    const store = remoteStore(new FarStore());
    const { shaper, starts } = setUp({}, { store, localShare: 1, ...quiet });
    starts.many(shaper, 3);
    await pass(10);
    store.down = 'hold';
    await expect(shaper.pause('acme', '5s')).rejects.toThrow(/SPW_STORE_UNAVAILABLE/);
    await pass(10_000);
    expect(starts.all).toHaveLength(3);
    expect(starts.ms[1]).toBeGreaterThanOrEqual(5_010);
  });
});

describe('when the store is back', () => {
  it('lets nothing start right after a reservation that it does not know of', async () => {
    const store = remoteStore(new FarStore());
    store.down = true;
    const { shaper, starts } = setUp({}, { store, localShare: 1, ...quiet });
    expect(await shaper.reserve('acme')).toMatchObject({ delayMs: 0 });
    store.down = false;
    starts.many(shaper, 1);
    await pass(1_000);
    expect(starts.ms).toEqual([250]);
  });

  it('brings no burst: what waits gets slots of the store, and none too soon after the last start', async () => {
    const store = remoteStore(new FarStore());
    const { shaper, starts } = setUp({}, { store, localShare: 1 / 2, ...quiet });
    starts.many(shaper, 3);
    await pass(600);
    store.down = true;
    starts.many(shaper, 12);
    await pass(3_040);
    const inOutage = starts.all.length;
    expect(inOutage).toBeGreaterThan(5);
    store.down = false;
    starts.many(shaper, 4);
    await pass(10_000);
    expect(starts.errors).toEqual([]);
    expect(starts.all).toHaveLength(19);
    expect(starts.leastGap).toBeGreaterThanOrEqual(249);
    // The last ones start at the whole pace again.
    const last = starts.ms.slice(-8);
    expect((last[7] as number) - (last[0] as number)).toBeLessThanOrEqual(7 * 250 + 2);
  });

  it('promises no reservation too soon after one that it does not know of', async () => {
    const store = remoteStore(new FarStore());
    store.down = true;
    const { shaper } = setUp({}, { store, localShare: 1, ...quiet });
    await shaper.reserve('acme');
    store.down = false;
    expect(await shaper.reserve('acme')).toMatchObject({ delayMs: 250 });
    expect(await shaper.reserve('acme')).toMatchObject({ delayMs: 500 });
  });

  it('keeps the burst too', async () => {
    const store = remoteStore(new FarStore());
    store.down = true;
    const { shaper, starts } = setUp({ burst: 3 }, { store, localShare: 1, ...quiet });
    starts.many(shaper, 3);
    await pass(10);
    store.down = false;
    starts.many(shaper, 6);
    await pass(10_000);
    const { ms } = starts;
    expect(ms).toHaveLength(9);
    // No four in less than 250 ms, no five in less than 500 ms ...
    for (let count = 4; count <= 9; count += 1) {
      for (let at = 0; at + count <= ms.length; at += 1) {
        const length = (ms[at + count - 1] as number) - (ms[at] as number);
        expect(length).toBeGreaterThanOrEqual((count - 3) * 250 - 1);
      }
    }
  });

  it('two processes with half the pace each never start more than the pace and one of each', async () => {
    const { stores, here, there, starts } = twoProcesses();
    for (let i = 0; i < 16; i += 1) {
      starts.schedule(i % 2 === 0 ? here : there, String(i));
      await pass(0);
    }
    await pass(1_100);
    for (const store of stores) store.down = true;
    for (let i = 0; i < 16; i += 1) starts.schedule(i % 2 === 0 ? here : there, `down ${i}`);
    await pass(5_000);
    for (const store of stores) store.down = false;
    await pass(20_000);
    expect(starts.all).toHaveLength(32);
    const { ms } = starts;
    for (let at = 0; at + 6 < ms.length; at += 1) {
      expect((ms[at + 6] as number) - (ms[at] as number)).toBeGreaterThanOrEqual(999);
    }
  });
});
