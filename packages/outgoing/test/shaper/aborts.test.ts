/** Aborted jobs and cancelled reservations settle at once, and no slot is lost that can be given back. */

import { memoryStore } from '@spillway/core';
import { remoteStore, systemClock } from '@spillway/core/store';
import { fakeTime, seeded } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { FarStore, pass, setUp, twoProcesses } from './set-up.js';

fakeTime();

describe('a job that is aborted', () => {
  it('settles at once with the reason, and gives its slot to the next', async () => {
    const { shaper, starts } = setUp();
    const abort = new AbortController();
    starts.schedule(shaper, 'a');
    starts.schedule(shaper, 'b', { signal: abort.signal });
    starts.schedule(shaper, 'c');
    await pass(100);
    abort.abort('gone');
    await pass(0);
    expect(starts.codes).toEqual(['gone']);
    expect(shaper.queueLength('acme')).toBe(1);
    await pass(900);
    starts.schedule(shaper, 'd');
    await pass(0);
    expect(starts.all).toEqual([
      { name: 'a', ms: 0 },
      { name: 'c', ms: 250 },
      { name: 'd', ms: 1000 },
    ]);
  });

  it('takes no slot if it was aborted before it came', async () => {
    const { shaper, starts } = setUp();
    starts.schedule(shaper, 'a', { signal: AbortSignal.abort('gone') });
    await pass(0);
    expect(starts.codes).toEqual(['gone']);
    expect(await shaper.waitOf('acme')).toBe(0);
  });

  it('gives the last slot back to the store, and then the one before it', async () => {
    const { shaper, starts } = setUp();
    const aborts = Array.from({ length: 3 }, () => new AbortController());
    starts.schedule(shaper, 'a');
    for (const { signal } of aborts) starts.schedule(shaper, 'b', { signal });
    expect(await shaper.waitOf('acme')).toBe(1000);
    aborts[1]?.abort();
    await pass(0);
    expect(await shaper.waitOf('acme')).toBe(750);
    aborts[0]?.abort();
    aborts[2]?.abort();
    await pass(0);
    expect(await shaper.waitOf('acme')).toBe(250);
  });

  it('does not reuse a slot whose cancellation got no answer, because the store may have granted it again', async () => {
    const { stores, here, there, starts } = twoProcesses();
    const abort = new AbortController();
    starts.schedule(here, 'a');
    starts.schedule(here, 'b', { signal: abort.signal });
    await pass(0);
    stores[0].loses = 'put';
    abort.abort('gone');
    await pass(0);
    starts.schedule(there, 'c');
    await pass(0);
    starts.schedule(here, 'd');
    await pass(1_000);
    expect(starts.all).toEqual([
      { name: 'a', ms: 0 },
      { name: 'c', ms: 250 },
      { name: 'd', ms: 500 },
    ]);
  });

  it('keeps a slot that others wait behind, for the next job that comes here', async () => {
    const { here, there, starts } = twoProcesses();
    const abort = new AbortController();
    starts.schedule(here, 'a');
    await pass(0);
    starts.schedule(here, 'b', { signal: abort.signal });
    await pass(0);
    starts.schedule(there, 'c');
    await pass(0);
    abort.abort();
    await pass(0);
    starts.schedule(there, 'd');
    await pass(0);
    starts.schedule(here, 'e');
    await pass(1_000);
    expect(starts.all).toEqual([
      { name: 'a', ms: 0 },
      { name: 'e', ms: 250 },
      { name: 'c', ms: 500 },
      { name: 'd', ms: 750 },
    ]);
  });

  it('gives its slot back though the store answers after the abort', async () => {
    const store = remoteStore(new FarStore());
    store.delayMs = 10;
    const { shaper, starts } = setUp({}, { store, localShare: 1 });
    const abort = new AbortController();
    starts.schedule(shaper, 'a', { signal: abort.signal });
    await pass(5);
    abort.abort('gone');
    await pass(0);
    expect(starts.codes).toEqual(['gone']);
    await pass(60);
    expect(starts.all).toEqual([]);
    starts.schedule(shaper, 'b');
    await pass(60);
    expect(starts.names).toEqual(['b']);
    expect(starts.ms[0]).toBeLessThan(100);
  });

  it('loses its slot if nobody knows whether the store has it back', async () => {
    const store = remoteStore(new FarStore());
    const { shaper, starts } = setUp({}, { store, localShare: 1, logger: false });
    const abort = new AbortController();
    starts.schedule(shaper, 'a');
    starts.schedule(shaper, 'b', { signal: abort.signal });
    await pass(0);
    store.down = 'put';
    abort.abort();
    await pass(0);
    starts.schedule(shaper, 'c');
    await pass(1_000);
    expect(starts.all).toEqual([
      { name: 'a', ms: 0 },
      { name: 'c', ms: 500 },
    ]);
  });

  it('settles at once after its start too, and its work is told', async () => {
    const { shaper } = setUp();
    const abort = new AbortController();
    let told: unknown;
    const result = shaper.schedule(
      'acme',
      (signal) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () => {
            told = signal.reason;
            setTimeout(() => reject(new Error('late')), 1_000);
          });
        }),
      { signal: abort.signal },
    );
    await pass(0);
    abort.abort('gone');
    await expect(result).rejects.toBe('gone');
    expect(told).toBe('gone');
    await pass(2_000);
  });

  it('in the turn in which it is scheduled, does not start', async () => {
    const { shaper, starts } = setUp();
    const abort = new AbortController();
    starts.schedule(shaper, 'a', { signal: abort.signal });
    abort.abort('gone');
    await pass(1_000);
    expect(starts.names).toEqual([]);
    expect(starts.codes).toEqual(['gone']);
  });

  it('with many others by one signal, has no listener of its own', async () => {
    const { shaper, starts } = setUp();
    const abort = new AbortController();
    const added = vi.spyOn(abort.signal, 'addEventListener');
    const removed = vi.spyOn(abort.signal, 'removeEventListener');
    starts.many(shaper, 30, { signal: abort.signal });
    await pass(300);
    expect(added).toHaveBeenCalledTimes(1);
    expect(removed).not.toHaveBeenCalled();
    abort.abort('gone');
    await pass(0);
    expect(starts.all).toHaveLength(2);
    expect(starts.codes).toEqual(new Array(28).fill('gone'));
    expect(removed).toHaveBeenCalledTimes(1);
  });

  it('in two processes by turns, all of them, leaves less than a slot for each', async () => {
    const { here, there, starts } = twoProcesses({ limit: 4 });
    const abort = new AbortController();
    for (let i = 0; i < 80; i += 1) {
      starts.schedule(i % 2 === 0 ? here : there, String(i), { signal: abort.signal });
      await pass(0);
    }
    await pass(100);
    abort.abort('gone');
    await pass(100);
    expect(starts.codes).toHaveLength(79);
    expect(await here.waitOf('acme')).toBeLessThan(79 * 250);
  });

  it('costs less than a slot, where 30 % of all are aborted', async () => {
    const random = seeded(30);
    const { here, there, starts } = twoProcesses({ limit: 10 });
    let aborted = 0;
    for (let i = 0; i < 400; i += 1) {
      const shaper = random.uniform() < 0.5 ? here : there;
      const abort = new AbortController();
      starts.schedule(shaper, String(i), { signal: abort.signal });
      if (random.uniform() < 0.3) {
        setTimeout(() => abort.abort(), random.uniform() * 900);
        aborted += 1;
      }
      await pass(72);
    }
    await pass(30_000);
    const lastMs = starts.ms.at(-1) as number;
    const wasted = lastMs / 100 + 1 - starts.all.length;
    const started = starts.all.length;
    expect(started + starts.errors.length).toBe(400);
    expect(wasted).toBeLessThan(aborted);
    expect(starts.leastGap).toBeGreaterThanOrEqual(99);
  });
});

describe('jobs of different costs', () => {
  it('hand a slot on only to a job that costs no more', async () => {
    const { shaper, starts } = setUp({ burst: 2 });
    const abort = new AbortController();
    starts.schedule(shaper, 'first', { cost: 2 });
    starts.schedule(shaper, 'one', { signal: abort.signal }); // 250
    starts.schedule(shaper, 'two', { cost: 2 }); // 750
    starts.schedule(shaper, 'other', {}); // 1000
    abort.abort();
    await pass(2_000);
    expect(starts.all).toEqual([
      { name: 'first', ms: 0 },
      { name: 'other', ms: 250 },
      { name: 'two', ms: 750 },
    ]);
  });

  it('leave a large slot to whom needs it', async () => {
    const { shaper, starts } = setUp({ burst: 2 });
    const abort = new AbortController();
    starts.schedule(shaper, 'first', { cost: 2 });
    starts.schedule(shaper, 'large', { cost: 2, signal: abort.signal }); // 500
    starts.schedule(shaper, 'one'); // 750
    starts.schedule(shaper, 'large too', { cost: 2 }); // 1250
    abort.abort();
    starts.schedule(shaper, 'last'); // 1000, because the slot at 1250 was given back
    await pass(3_000);
    expect(starts.names).toEqual(['first', 'large too', 'one', 'last']);
    expect(starts.ms).toEqual([0, 500, 750, 1000]);
  });
});

describe('reserve', () => {
  it('says when to start, by the clock of Date.now', async () => {
    const { shaper } = setUp();
    const first = await shaper.reserve('acme');
    const second = await shaper.reserve('acme');
    expect(first).toMatchObject({ allowed: true, key: 'acme', delayMs: 0, startAt: Date.now() });
    expect(second).toMatchObject({ allowed: true, delayMs: 250, startAt: Date.now() + 250 });
  });

  it('refuses without taking anything', async () => {
    const { shaper } = setUp({ maxWait: '300ms' });
    await shaper.reserve('acme');
    await shaper.reserve('acme');
    const refused = { allowed: false, key: 'acme', reason: 'wait', wouldWaitMs: 500 };
    expect(await shaper.reserve('acme')).toEqual(refused);
    expect(await shaper.reserve('acme')).toEqual(refused);
    await pass(200);
    expect(await shaper.reserve('acme')).toMatchObject({ allowed: true, delayMs: 300 });
  });

  it('gives the slot back once, to the store or to a job that waits here', async () => {
    const { shaper, starts } = setUp();
    const first = await shaper.reserve('acme');
    const second = await shaper.reserve('acme');
    starts.schedule(shaper, 'a');
    if (!second.allowed || !first.allowed) throw new Error('refused');
    second.cancel();
    second.cancel();
    await pass(250);
    expect(starts.ms).toEqual([250]);
    expect(await shaper.waitOf('acme')).toBe(250);
    first.cancel();
    await pass(0);
    expect(await shaper.waitOf('acme')).toBe(250);
  });

  it('takes a slot that was cancelled before one that is later', async () => {
    const { shaper } = setUp();
    await shaper.reserve('acme');
    const second = await shaper.reserve('acme');
    await shaper.reserve('acme');
    if (second.allowed) second.cancel();
    await pass(0);
    expect(await shaper.reserve('acme')).toMatchObject({ delayMs: 250 });
    expect(await shaper.reserve('acme')).toMatchObject({ delayMs: 750 });
  });

  it('leaves to jobs that wait the slots that they need', async () => {
    const { shaper, starts } = setUp();
    starts.many(shaper, 2);
    expect(await shaper.reserve('acme')).toMatchObject({ delayMs: 500 });
    await pass(1_000);
    expect(starts.ms).toEqual([0, 250]);
  });

  it('does not take a slot that is over, though no timer has come since', async () => {
    const { shaper } = setUp();
    await shaper.reserve('acme');
    const second = await shaper.reserve('acme');
    await shaper.reserve('acme');
    if (second.allowed) second.cancel();
    await pass(10_000);
    expect(await shaper.reserve('acme')).toMatchObject({ delayMs: 0 });
    expect(await shaper.reserve('acme')).toMatchObject({ delayMs: 250 });
  });
});

describe('reserveFirst', () => {
  it('takes the first key whose wait is short enough, and asks for no other after it', async () => {
    const store = remoteStore(new FarStore(memoryStore({ clock: systemClock })));
    const { shaper } = setUp({ maxWait: '250ms' }, { store, localShare: 1 });
    const keys = ['acme', 'umbrella'];
    const taken: unknown[] = [];
    for (let i = 0; i < 5; i += 1) taken.push(await shaper.reserveFirst(keys));
    expect(taken).toMatchObject([
      { key: 'acme', delayMs: 0 },
      { key: 'acme', delayMs: 250 },
      { key: 'umbrella', delayMs: 0 },
      { key: 'umbrella', delayMs: 250 },
      { allowed: false, reason: 'wait', wouldWaitMs: 500 },
    ]);
    expect(store.asked.map(({ key }) => key)).toEqual([
      ...['acme', 'acme', 'acme', 'umbrella', 'acme', 'umbrella', 'acme', 'umbrella'],
    ]);
    await pass(100);
    await shaper.reserve('acme');
    expect(await shaper.reserveFirst(keys)).toMatchObject({ key: 'acme', wouldWaitMs: 400 });
  });

  it('gives back what it took', async () => {
    const { shaper } = setUp();
    const taken = await shaper.reserveFirst(['acme', 'acme', 'umbrella']);
    if (taken.allowed) taken.cancel();
    await pass(0);
    expect(await shaper.waitOf('acme')).toBe(0);
  });
});
