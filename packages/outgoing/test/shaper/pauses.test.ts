/** Pauses, stalled processes and clocks that are set: nothing starts too early, and no waiting job is rejected. */

import { memoryStore } from '@spillway/core';
import { remoteStore, systemClock } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { fakeTime, stall } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { FarStore, pass, resetKey, Starts, setUp, twoProcesses } from './set-up.js';

fakeTime();

describe('a pause', () => {
  it('lets nobody start before it is over, and then one by one, in their order', async () => {
    const { shaper, starts } = setUp({ burst: 3 });
    starts.many(shaper, 7);
    await pass(600);
    expect(starts.ms).toEqual([0, 0, 0, 250, 500]);
    await shaper.pause('acme', '3s');
    starts.schedule(shaper, 'late');
    await pass(10_000);
    expect(starts.ms.slice(5)).toEqual([3600, 3850, 4100]);
    expect(starts.names.slice(5)).toEqual(['5', '6', 'late']);
  });

  it('holds in every process, for those who wait there too', async () => {
    const { here, there, starts } = twoProcesses();
    for (const name of ['a', 'b', 'c']) {
      starts.schedule(here, `${name} here`);
      await pass(0);
      starts.schedule(there, `${name} there`);
      await pass(0);
    }
    await pass(300);
    expect(starts.names).toEqual(['a here', 'a there']);
    await here.pause('acme', '3s');
    await pass(2_999);
    expect(starts.names).toEqual(['a here', 'a there']);
    await pass(10_000);
    expect(starts.ms.length).toBe(6);
    expect(starts.ms[2]).toBe(3300);
    expect(starts.leastGap).toBeGreaterThanOrEqual(250);
    expect(starts.names.filter((name) => name.endsWith('there'))).toEqual([
      'a there',
      'b there',
      'c there',
    ]);
  });

  it('is heard later in other processes if it begins shortly before their start, the first time', async () => {
    const { stores, here, there, starts } = twoProcesses({ limit: 10 });
    for (const store of stores) store.delayMs = 1;
    starts.many(there, 8);
    await pass(180);
    // Too late for the start at 200 ms: the others have already looked for a pause before it.
    void here.pause('acme', 100);
    await pass(40);
    expect(starts.all).toHaveLength(3);
    await pass(160);
    const { length } = starts.all;
    const nextMs = (starts.ms.at(-1) as number) + 100;
    await pass(nextMs - 20 - starts.nowMs);
    // In time: after a pause the others look as late as they can.
    void here.pause('acme', 500);
    await pass(400);
    expect(starts.all).toHaveLength(length);
    await pass(2_000);
    expect(starts.all).toHaveLength(8);
  });

  it('that nobody expects is looked for once, for all jobs that start within 50 ms', async () => {
    const { stores, there, starts } = twoProcesses({ limit: 200 });
    for (const store of stores) store.delayMs = 1;
    starts.many(there, 200);
    await pass(1_500);
    expect(starts.all).toHaveLength(200);
    expect(stores[1].count('look')).toBeLessThan(30);
  });

  it('does not touch other keys', async () => {
    const { shaper, starts } = setUp();
    await shaper.pause('acme', '3s');
    starts.schedule(shaper, 'other', { key: 'umbrella' });
    await pass(0);
    expect(starts.ms).toEqual([0]);
    expect(await shaper.waitOf('acme')).toBe(3000);
  });

  it('is told, by every process, apart from what waits in the queue', async () => {
    const { here, there, starts } = twoProcesses({ burst: 3 });
    starts.many(here, 20);
    await pass(100);
    expect(await there.pauseOf('acme')).toBe(0);
    await here.pause('acme', '3s');
    await pass(500);
    expect(await there.pauseOf('acme')).toBe(2500);
    expect(await here.pauseOf('acme')).toBe(2500);
    expect(await there.pauseOf('umbrella')).toBe(0);
    await pass(2_500);
    expect(await there.pauseOf('acme')).toBe(0);
    expect(await there.waitOf('acme')).toBeGreaterThan(0);
    await expect(there.pauseOf('')).rejects.toThrow(/SPW_KEY_INVALID/);
  });

  it('that an operator has reset is told by no process any more', async () => {
    const { stores, here, there } = twoProcesses();
    await here.pause('acme', '10s');
    expect(await there.pauseOf('acme')).toBe(10_000);
    await resetKey(stores[0], 'calls', 'acme');
    for (const shaper of [here, there]) {
      expect(await shaper.pauseOf('acme')).toBe(0);
      expect(await shaper.waitOf('acme')).toBe(0);
      expect(await shaper.stats('acme')).toMatchObject({ pausedUntilMs: null, pausedBy: null });
    }
  });

  it('is told where the store has not heard of it, or does not answer', async () => {
    const store = remoteStore(new FarStore());
    const { shaper } = setUp({}, { store, onStoreError: 'deny', breaker: false, logger: false });
    store.down = true;
    expect(await shaper.pauseOf('acme')).toBe(0);
    await shaper.pause('acme', '1s').catch(() => undefined);
    expect(await shaper.pauseOf('acme')).toBe(1000);
  });

  it('that is longer than maxWait rejects at once what comes, and by its deadline what waits', async () => {
    const { shaper, starts } = setUp({ maxWait: '1s' });
    starts.many(shaper, 5);
    await pass(100);
    await shaper.pause('acme', '10s');
    starts.schedule(shaper, 'refused');
    await pass(0);
    expect(starts.codes).toEqual(['SPW_SHAPER_WAIT']);
    await pass(1_151); // with a period that a slot may be late
    expect(starts.codes).toEqual(new Array(5).fill('SPW_SHAPER_WAIT'));
    expect(starts.errors[1]).toMatchObject({ name: '1', error: { wouldWaitMs: 10_100 } });
    await pass(20_000);
    expect(starts.ms).toEqual([0]);
    starts.schedule(shaper, 'after');
    await pass(0);
    expect(starts.all).toHaveLength(2);
  });

  it('is waited for, though the slot comes before the store has told of it', async () => {
    const { stores, here, there, starts } = twoProcesses({}, { storeTimeout: '1s' });
    starts.many(here, 2);
    await pass(100);
    stores[0].slowMs.look = 150;
    await there.pause('acme', '3s');
    await pass(400);
    stores[0].slowMs.look = 0;
    await pass(4_000);
    expect(starts.ms).toEqual([0, 3100]);
  });

  it('is not taken back by an answer to an older question', async () => {
    const { stores, here, starts } = twoProcesses({}, { storeTimeout: '1s' });
    starts.many(here, 2);
    await pass(190);
    stores[0].delayMs = 20;
    stores[0].slowMs.hold = 200;
    await pass(15); // the shaper looks at 200 ms
    await Promise.all([here.pause('acme', '3s'), pass(5_000)]);
    expect(starts.ms[0]).toBe(0);
    expect(starts.ms[1]).toBeGreaterThanOrEqual(3205);
  });

  it('holds at once in the process that begins it, however late the store hears of it', async () => {
    const { stores, here, starts } = twoProcesses({}, { storeTimeout: '1s' });
    starts.many(here, 2);
    await pass(249);
    stores[0].slowMs.hold = 500;
    await Promise.all([here.pause('acme', '3s'), pass(5_000)]);
    expect(starts.ms[1]).toBeGreaterThanOrEqual(3249);
  });

  it('is never made shorter', async () => {
    const { shaper, starts } = setUp();
    starts.many(shaper, 2);
    await shaper.pause('acme', '5s');
    await shaper.pause('acme', '1s');
    await pass(10_000);
    expect(starts.ms).toEqual([0, 5000]);
  });
});

describe('a process that stood still', () => {
  it('starts what is late by less than a period, and asks for other slots for the rest', async () => {
    const { shaper, starts } = setUp();
    starts.many(shaper, 8);
    await pass(249);
    stall(1_100);
    await pass(10_000);
    const [, ...late] = starts.ms as [number, ...number[]];
    expect(late).toHaveLength(7);
    // Only the last of the slots at 250 to 1250 ms may still be used; one more job starts at once instead of the
    // others.
    expect(late.filter((ms) => ms < 1_400).length).toBeLessThanOrEqual(2);
    const gaps = late.slice(1).map((ms, at) => ms - (late[at] as number));
    expect(gaps.filter((gap) => gap < 245).length).toBeLessThanOrEqual(1);
    expect(starts.names).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
    expect(starts.errors).toEqual([]);
  });
});

describe('the clock of the store', () => {
  it('decides, though ours is another: nothing starts before its slot there', async () => {
    const ahead = { nowUs: () => systemClock.nowUs() + 7_000_000_000 };
    const store = remoteStore(new FarStore(memoryStore({ clock: ahead })));
    const { shaper, starts } = setUp({}, { store, localShare: 1 });
    store.delayMs = 20;
    starts.many(shaper, 2);
    await pass(1_000);
    // The store granted them 20 ms and 270 ms after they came; its first answer took another 20 ms.
    expect(starts.ms).toEqual([40, 290]);
    store.delayMs = 2;
    starts.many(shaper, 4);
    await pass(2_000);
    // From a faster answer the shaper knows the store's clock more exactly.
    expect(starts.ms.slice(2)).toEqual([1004, 1254, 1504, 1754]);
  });

  it('that goes back by an hour lets nobody wait longer than maxWait', async () => {
    const clock = new ManualClock(systemClock.nowUs());
    const store = remoteStore(new FarStore(memoryStore({ clock })));
    const { shaper, starts } = setUp({ maxWait: '2s' }, { store, localShare: 1 });
    const run = async (ms: number) => {
      for (let i = 0; i < ms; i += 1) {
        clock.advance(1);
        await pass(1);
      }
    };
    starts.many(shaper, 3);
    await run(100);
    clock.setUs(clock.nowUs() - 3_600_000_000);
    await run(6_000);
    // The store has lost the slots at 250 and 500 ms, and has free ones only after maxWait.
    expect(starts.names).toEqual(['0']);
    expect(starts.codes).toEqual(['SPW_SHAPER_WAIT', 'SPW_SHAPER_WAIT']);
    starts.many(shaper, 3);
    await run(2_500);
    expect(starts.all).toHaveLength(4);
    expect(starts.leastGap).toBeGreaterThanOrEqual(249);
  });

  it('that goes forward brings no burst', async () => {
    const clock = new ManualClock(systemClock.nowUs());
    const store = remoteStore(new FarStore(memoryStore({ clock })));
    const { shaper, starts } = setUp({}, { store, localShare: 1 });
    starts.many(shaper, 6);
    await pass(10);
    clock.advance('1h');
    for (let i = 0; i < 3_000; i += 1) {
      clock.advance(1);
      await pass(1);
    }
    expect(starts.names).toEqual(['0', '1', '2', '3', '4', '5']);
    expect(starts.leastGap).toBeGreaterThanOrEqual(198);
  });

  it('of a process that goes back hides no later pause', async () => {
    let setBackMs = 0;
    const clock = { nowUs: () => systemClock.nowUs() - setBackMs * 1_000 };
    const memory = memoryStore({ clock: systemClock });
    const [here, there] = [{ clock }, {}].map((settings) =>
      setUp(
        { maxWait: '10s' },
        { ...settings, store: remoteStore(new FarStore(memory)), localShare: 1 },
      ),
    );
    const { shaper, starts } = here as ReturnType<typeof setUp>;
    const run = async (ms: number) => {
      for (let i = 0; i < ms; i += 100) {
        if (shaper.waiting < 8) starts.schedule(shaper, '');
        await pass(100);
      }
    };
    await run(2_000);
    setBackMs = 3_600_000;
    await run(1_000);
    const fromMs = starts.nowMs + 60;
    void there?.shaper.pause('acme', '3s');
    await run(8_000);
    expect(starts.ms.filter((ms) => ms > fromMs && ms < fromMs + 2_940)).toEqual([]);
    expect(starts.ms.filter((ms) => ms > fromMs).length).toBeGreaterThan(15);
  });

  it('of this process may go back too', async () => {
    const clock = new ManualClock(systemClock.nowUs());
    const store = memoryStore({ clock });
    const { shaper } = setUp({}, { store, clock });
    const starts = new Starts();
    starts.many(shaper, 3);
    clock.setUs(clock.nowUs() - 3_600_000_000);
    for (let i = 0; i < 40_000 && starts.all.length < 3; i += 10) {
      clock.advance(10);
      await pass(10);
    }
    expect(starts.names).toEqual(['0', '1', '2']);
    expect(starts.ms[2]).toBeLessThan(33_000);
  });
});
