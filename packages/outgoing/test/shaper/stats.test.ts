/** What a shaper reports about its keys and jobs, and how it ends. */

import { memoryStore } from '@spillway/core';
import { Tally } from '@spillway/core/adapter';
import { remoteStore, systemClock } from '@spillway/core/store';
import type { ShaperStats } from '@spillway/outgoing';
import { fakeTime } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { FarStore, pass, setUp, twoProcesses } from './set-up.js';

fakeTime();

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

describe('stats', () => {
  it('are known at once with a store in memory', async () => {
    const { shaper, starts } = setUp();
    void shaper.schedule('acme', () => sleep(2_000));
    starts.many(shaper, 2);
    starts.many(shaper, 1, { key: 'umbrella' });
    await pass(100);
    const nowMs = Date.now();
    const stats = shaper.stats('acme') as ShaperStats;
    expect(stats).toEqual({
      waiting: 2,
      running: 1,
      nextStartMs: expect.closeTo(nowMs + 650, 0),
      pausedUntilMs: null,
      pausedBy: null,
    });
    expect(shaper).toMatchObject({ waiting: 2, running: 1 });
    expect(shaper.stats('nobody')).toMatchObject({
      waiting: 0,
      running: 0,
      nextStartMs: expect.closeTo(nowMs, 0),
    });
  });

  it('count the jobs that wait before a new one, also where they have no slots yet', async () => {
    const { shaper, starts } = setUp({ maxConcurrent: 1 });
    void shaper.schedule('acme', () => sleep(10_000));
    starts.many(shaper, 3);
    await pass(0);
    expect(await shaper.waitOf('acme')).toBe(1_000);
    expect(await shaper.waitOf('acme', { priority: 1 })).toBe(250);
    await pass(5_000);
    const nextStartMs = expect.closeTo(Date.now() + 750, 0);
    expect(shaper.stats('acme')).toMatchObject({ waiting: 3, nextStartMs });
  });

  it('say until when and by whom a key is paused, also in another process', async () => {
    const { here, there } = twoProcesses();
    await here.pause('acme', '10s', 'maintenance until 9');
    await pass(4_000);
    const nowMs = Date.now();
    for (const shaper of [here, there]) {
      const stats = await shaper.stats('acme');
      expect(stats.pausedUntilMs).toBeCloseTo(nowMs + 6_000, 0);
      expect(stats.nextStartMs).toBeCloseTo(nowMs + 6_000, 0);
    }
    await pass(6_001);
    expect(await there.stats('acme')).toMatchObject({ pausedUntilMs: null, pausedBy: null });
  });

  it.each([
    ['without a store', {}],
    ['with a store that keeps values', { store: memoryStore({ clock: systemClock }) }],
  ])('name who paused: %s', async (_, settings) => {
    const { shaper } = setUp({}, settings);
    await shaper.pause('acme', '10s', 'ada'.repeat(100));
    await shaper.pause('umbrella', '10s');
    expect((await shaper.stats('acme')).pausedBy).toBe('ada'.repeat(100).slice(0, 256));
    expect((await shaper.stats('umbrella')).pausedBy).toBeNull();
    await pass(10_000);
    await shaper.pause('acme', '1s');
    expect((await shaper.stats('acme')).pausedBy).toBeNull();
  });

  it('do not know the next start when the store fails and nothing decides in its place', async () => {
    const store = new FarStore();
    store.down = true;
    const settings = { store: remoteStore(store), onStoreError: 'deny', logger: false } as const;
    const { shaper } = setUp({}, settings);
    expect(await shaper.stats('acme')).toMatchObject({ nextStartMs: null, pausedUntilMs: null });
  });

  it('are gauges for exporters', async () => {
    const { shaper, starts } = setUp();
    const tally = new Tally();
    tally.watch({ shapers: [shaper] });
    starts.many(shaper, 3);
    void shaper.schedule('umbrella', () => sleep(500));
    await pass(0);
    expect(tally.jobsWaiting()).toEqual([{ labels: { limiter: 'calls' }, value: 2 }]);
    expect(tally.jobsRunning()).toEqual([{ labels: { limiter: 'calls' }, value: 1 }]);
  });
});

describe('onIdle', () => {
  it('resolves when the last job has ended, whatever became of the others', async () => {
    const { shaper, starts } = setUp();
    const abort = new AbortController();
    starts.schedule(shaper, 'aborted', { signal: abort.signal });
    starts.schedule(shaper, 'first');
    void shaper.schedule('acme', () => sleep(300));
    starts.schedule(shaper, 'aborted too', { signal: abort.signal });
    let isIdle = false;
    void shaper.onIdle().then(() => {
      isIdle = true;
    });
    await pass(0);
    abort.abort();
    await pass(799);
    expect(isIdle).toBe(false);
    await pass(1);
    expect(isIdle).toBe(true);
    await shaper.onIdle();
  });

  it('waits for aborted work that has not ended', async () => {
    const { shaper } = setUp();
    const abort = new AbortController();
    const result = shaper
      .schedule('acme', () => sleep(500), { signal: abort.signal })
      .catch(() => undefined);
    let isIdle = false;
    await pass(0);
    void shaper.onIdle().then(() => {
      isIdle = true;
    });
    abort.abort();
    await result;
    await pass(499);
    expect(isIdle).toBe(false);
    await pass(1);
    expect(isIdle).toBe(true);
  });
});

describe('drain', () => {
  it('takes no new jobs, and lets the waiting ones start', async () => {
    const { shaper, starts } = setUp();
    starts.many(shaper, 3);
    const draining = shaper.drain('10s');
    starts.schedule(shaper, 'too late');
    await pass(500);
    expect(await draining).toEqual({ rejected: 0, running: 0 });
    expect(starts.ms).toEqual([0, 250, 500]);
    expect(starts.codes).toEqual(['SPW_SHAPER_CLOSED']);
    expect(await shaper.reserve('acme')).toMatchObject({ reason: 'closed' });
  });

  it('rejects what still waits when its time has passed, and cancels the slots', async () => {
    const { here, there, starts } = twoProcesses();
    void here.schedule('acme', () => sleep(60_000));
    starts.many(here, 10);
    await pass(0);
    const draining = here.drain('1s');
    await pass(1_001);
    expect(await draining).toEqual({ rejected: 6, running: 1 });
    expect(starts.codes).toEqual(new Array(6).fill('SPW_SHAPER_CLOSED'));
    starts.schedule(there, 'in another process');
    await pass(249);
    expect(starts.ms).toEqual([250, 500, 750, 1_000, 1_250]);
  });

  it('rejects what is no time', async () => {
    await expect(setUp().shaper.drain('a while' as never)).rejects.toThrow(/timeout must be/);
  });
});
