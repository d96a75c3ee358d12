/** The pace of a shaper: when work starts, in which order, and what is rejected. */

import { isSpillwayError, memoryStore } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { createShaper } from '@spillway/outgoing';
import { fakeTime } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { pass, setUp } from './set-up.js';

describe('schedule', () => {
  fakeTime();

  it('starts 4 per second at 0, 250, 500 and 750 ms', async () => {
    const { shaper, starts } = setUp();
    starts.many(shaper, 5);
    await pass(999);
    expect(starts.ms).toEqual([0, 250, 500, 750]);
    await pass(1);
    expect(starts.ms).toEqual([0, 250, 500, 750, 1000]);
    expect(starts.names).toEqual(['0', '1', '2', '3', '4']);
  });

  it('keeps the pace of a third of a second, which no clock can count', async () => {
    const { shaper, starts } = setUp({ limit: 3 });
    starts.many(shaper, 4);
    await pass(2_000);
    expect(starts.ms).toEqual([0, 334, 667, 1000]);
  });

  it('saves nothing up while nobody comes', async () => {
    const { shaper, starts } = setUp();
    starts.many(shaper, 1);
    await pass(10_000);
    starts.many(shaper, 3);
    await pass(1_000);
    expect(starts.ms).toEqual([0, 10_000, 10_250, 10_500]);
  });

  it('starts as many at once as the burst says, and then keeps the pace', async () => {
    const { shaper, starts } = setUp({ burst: 3 });
    starts.many(shaper, 6);
    await pass(1_000);
    expect(starts.ms).toEqual([0, 0, 0, 250, 500, 750]);
  });

  it('gives each key a pace of its own', async () => {
    const { shaper, starts } = setUp();
    starts.many(shaper, 2, { key: 'acme' });
    starts.many(shaper, 2, { key: 'umbrella' });
    await pass(1_000);
    expect(starts.ms).toEqual([0, 0, 250, 250]);
  });

  it('waits longer before and after what costs more', async () => {
    const { shaper, starts } = setUp({ burst: 2 });
    starts.schedule(shaper, 'two', { cost: 2 });
    starts.schedule(shaper, 'one');
    starts.schedule(shaper, 'two again', { cost: 2 });
    await pass(2_000);
    expect(starts.ms).toEqual([0, 250, 750]);
  });

  it('settles as the work does, and goes on after work that failed', async () => {
    const { shaper } = setUp();
    const result = shaper.schedule('acme', () => 'sent');
    const thrown = shaper.schedule('acme', () => {
      throw new Error('no');
    });
    const rejected = shaper.schedule('acme', () => Promise.reject(new Error('later')));
    const last = shaper.schedule('acme', async () => 'sent again');
    const settled = Promise.allSettled([result, thrown, rejected, last]);
    await pass(1_000);
    expect(await settled).toMatchObject([
      { value: 'sent' },
      { reason: { message: 'no' } },
      { reason: { message: 'later' } },
      { value: 'sent again' },
    ]);
  });

  it('gives the work a signal: the one of the job, or one that is never aborted', async () => {
    const { shaper } = setUp();
    // This compiles with `exactOptionalPropertyTypes`, as `fetch(url, { signal })` must.
    const call = ({ signal }: { signal?: AbortSignal }) => signal;
    const own = new AbortController();
    const [given, none] = await Promise.all([
      shaper.schedule('acme', (signal) => call({ signal }), { signal: own.signal }),
      shaper.schedule('umbrella', (signal) => call({ signal })),
    ]);
    expect(given).toBe(own.signal);
    expect(none).toBeInstanceOf(AbortSignal);
    expect(none?.aborted).toBe(false);
  });

  it('starts work of a higher priority first, whenever it came', async () => {
    const { shaper, starts } = setUp();
    starts.schedule(shaper, 'at once');
    starts.schedule(shaper, 'low', { priority: -1 });
    starts.schedule(shaper, 'usual');
    starts.schedule(shaper, 'high', { priority: 1 });
    starts.schedule(shaper, 'high too', { priority: 1 });
    await pass(1_000);
    expect(starts.names).toEqual(['at once', 'high', 'high too', 'usual', 'low']);
    expect(starts.ms).toEqual([0, 250, 500, 750, 1000]);
  });

  it('refuses what would wait longer than maxWait, and says how long', async () => {
    const { shaper, starts } = setUp({ maxWait: '500ms' });
    starts.many(shaper, 4);
    await pass(0);
    expect(starts.errors).toMatchObject([
      { name: '3', error: { code: 'SPW_SHAPER_WAIT', wouldWaitMs: 750 } },
    ]);
    await pass(250);
    starts.schedule(shaper, 'now it fits');
    await pass(1_000);
    expect(starts.ms).toEqual([0, 250, 500, 750]);
  });

  it('refuses at once when maxQueue jobs wait, over all keys', async () => {
    const { shaper, starts } = setUp({ maxQueue: 2 });
    starts.many(shaper, 3);
    starts.schedule(shaper, 'too many', { key: 'umbrella' });
    await pass(0);
    expect(starts.codes).toEqual(['SPW_SHAPER_FULL']);
    await pass(250);
    starts.schedule(shaper, 'another', { key: 'umbrella' });
    await pass(250);
    expect(starts.names).toEqual(['0', '1', 'another', '2']);
  });

  it('tells how many wait, and how long the next would', async () => {
    const { shaper, starts } = setUp();
    expect(shaper.queueLength('acme')).toBe(0);
    expect(await shaper.waitOf('acme')).toBe(0);
    starts.many(shaper, 4);
    expect(shaper.queueLength('acme')).toBe(3);
    expect(await shaper.waitOf('acme')).toBe(1000);
    expect(await shaper.waitOf('acme')).toBe(1000);
    expect(shaper.queueLength('umbrella')).toBe(0);
    await pass(500);
    expect(shaper.queueLength('acme')).toBe(1);
    expect(await shaper.waitOf('acme')).toBe(500);
  });

  it('asks once more before a start that was waited for, for all starts of the next 50 ms together', async () => {
    const store = memoryStore();
    const asked: string[] = [];
    const { apply } = store;
    const counting = remoteStore({
      ...store,
      sync: true as const,
      apply: (steps: Parameters<typeof apply>[0]) => {
        asked.push(...steps.map(({ op }) => op));
        return apply.call(store, steps);
      },
    });
    const { shaper, starts } = setUp({ limit: 100 }, { store: counting });
    starts.many(shaper, 16);
    await pass(150);
    expect(starts.ms).toEqual(Array.from({ length: 16 }, (_, i) => i * 10));
    expect(asked.filter((op) => op === 'look')).toHaveLength(2);
  });
});

describe('mistakes', () => {
  const codeOf = (make: () => unknown) => {
    try {
      make();
    } catch (error) {
      if (isSpillwayError(error)) return `${error.code}: ${error.message}`;
    }
    return 'none';
  };
  const later = remoteStore({ sync: false, apply: async () => [] });

  it('throws for numbers that are none, with the code of each', () => {
    const base = { limit: 4, window: '1s' } as const;
    expect(codeOf(() => createShaper({ ...base, limit: 0 }))).toMatch('SPW_LIMIT_INVALID');
    expect(codeOf(() => createShaper({ ...base, window: 0 }))).toMatch('SPW_WINDOW_INVALID');
    expect(codeOf(() => createShaper({ ...base, burst: 0 }))).toMatch('SPW_BURST_INVALID');
    expect(codeOf(() => createShaper({ ...base, maxWait: -1 }))).toMatch(/OPTION_INVALID.*maxWait/);
    expect(codeOf(() => createShaper({ ...base, maxQueue: 0 }))).toMatch(/OPTION_INVALID.*maxQ/);
    expect(codeOf(() => createShaper(base, { store: memoryStore() }))).toMatch('NAME_REQUIRED');
    expect(codeOf(() => createShaper(base))).toBe('none');
  });

  it('needs localShare with a store that may fail, or a word that it is to refuse then', () => {
    const make = (settings: object) => () =>
      createShaper({ name: 'a', limit: 4, window: '1s' }, { store: later, ...settings });
    expect(codeOf(make({}))).toMatch(/SPW_OPTION_INVALID: localShare must be/);
    expect(codeOf(make({ onStoreError: 'local' }))).toMatch(/localShare must be/);
    expect(codeOf(make({ onStoreError: 'allow' }))).toMatch(/onStoreError must be/);
    expect(codeOf(make({ localShare: 2 }))).toMatch(/localShare must be above 0/);
    expect(codeOf(make({ localShare: 1 / 8 }))).toBe('none');
    expect(codeOf(make({ onStoreError: 'deny' }))).toBe('none');
  });

  it('rejects what is no key, no cost, no work, no priority, no signal and no pause', async () => {
    const { shaper } = setUp({ burst: 2 });
    const work = () => 1;
    const wrong = async (call: Promise<unknown>, text: RegExp) =>
      expect(call).rejects.toThrow(text);
    await wrong(shaper.schedule('', work), /SPW_KEY_INVALID/);
    await wrong(shaper.reserve(7 as never), /SPW_KEY_INVALID/);
    await wrong(shaper.reserveFirst([]), /SPW_KEY_INVALID/);
    await wrong(shaper.waitOf(''), /SPW_KEY_INVALID/);
    await wrong(shaper.schedule('a', work, { cost: 3 }), /set burst.*SPW_COST_INVALID/);
    await wrong(shaper.reserve('a', { cost: 0 }), /SPW_COST_INVALID/);
    await wrong(shaper.schedule('a', 'work' as never), /work must be/);
    await wrong(shaper.schedule('a', work, { priority: Number.NaN }), /priority must be/);
    await wrong(shaper.schedule('a', work, { signal: {} as never }), /signal must be/);
    const endless = { aborted: false, addEventListener: () => undefined } as never;
    await wrong(shaper.schedule('a', work, { signal: endless }), /signal must be/);
    await wrong(shaper.pause('a', '25h'), /duration must be/);
    expect(shaper.queueLength('a')).toBe(0);
    await shaper.close();
  });
});
