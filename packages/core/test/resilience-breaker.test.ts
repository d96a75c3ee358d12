import { createGuard, createLimiter, rateLimit, SpillwayError } from '@spillway/core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { background, lost, Patient, setUp } from './breaker-set-up.js';

describe('a breaker', () => {
  it('opens after so many failed calls in a row, and then asks nothing', async () => {
    const { store, fail } = setUp();
    await fail(3);
    expect(store.calls).toBe(3);
    await fail(50);
    expect(store.calls).toBe(3);
  });

  it('does not open for failures with an answer between them', async () => {
    const { store, ask, fail } = setUp();
    for (let i = 0; i < 5; i += 1) {
      await fail(2);
      store.error = undefined;
      expect(await ask()).toBe('allowed');
    }
    expect(store.calls).toBe(15);
  });

  it('does not open for errors that a store answers about one call', async () => {
    const { store, warnings, fail } = setUp();
    await fail(50, new SpillwayError('SPW_STORE_ERROR', 'not of our format'));
    expect(store.calls).toBe(50);
    // Told of as a fault, once; the breaker says nothing.
    expect(warnings).toEqual([expect.stringContaining('SPW_STORE_ERROR')]);
  });

  it('opens for errors that a store answers to everybody', async () => {
    const { store, fail } = setUp();
    await fail(50, new SpillwayError('SPW_STORE_UNAVAILABLE', 'loading', { kind: 'loading' }));
    expect(store.calls).toBe(3);
  });

  it('opens for a store that throws', async () => {
    const { store, ask } = setUp();
    const apply = vi.spyOn(store, 'apply').mockImplementation(() => {
      throw lost;
    });
    for (let i = 0; i < 50; i += 1) expect(await ask()).toBe('error');
    expect(apply).toHaveBeenCalledTimes(3);
  });

  it('asks in the background whether the store is back, one question at a time, and delays no request by it', async () => {
    const { clock, store, fail, ask } = setUp();
    await fail(3);
    clock.advance(99);
    await fail(5);
    expect(store.probes).toBe(0);
    clock.advance(1);
    store.silent = true;
    expect(await ask()).toBe('error'); // answered, though the store says nothing
    await background();
    clock.advance('4s');
    expect(await ask()).toBe('error');
    await background();
    expect(store.probes).toBe(1);
    for (const end of store.open) end();
    await background();
    expect(await ask()).toBe('error');
    await background();
    expect(store.probes).toBe(2);
    expect(store.calls).toBe(3);
  });

  it('asks by itself for ten seconds after the last request, and no longer', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { clock, store, fail } = setUp();
    const pass = async (seconds: number) => {
      for (let ms = 0; ms < seconds * 1000; ms += 10) {
        clock.advance(10);
        await vi.advanceTimersByTimeAsync(10);
      }
    };
    await fail(3);
    await pass(1);
    expect(store.probes).toBe(9);
    await pass(12);
    const { probes } = store;
    expect(probes).toBeGreaterThan(80);
    await pass(60);
    expect(store.probes).toBe(probes);
    expect(vi.getTimerCount()).toBe(0);
    await fail(1);
    await pass(1);
    expect(store.probes).toBeGreaterThan(probes + 5);
  });

  it('gives up a question that is lost, as with the request that made it', async () => {
    const { clock, store, fail, ask } = setUp({ storeTimeout: '60s' });
    await fail(3);
    clock.advance(100);
    store.silent = true;
    await ask();
    await background();
    store.silent = false;
    store.error = undefined;
    clock.advance('5s');
    await ask();
    await background();
    expect(await ask()).toBe('allowed');
  });

  it('closes at the first question that is answered', async () => {
    const { clock, store, fail, ask } = setUp();
    await fail(3);
    store.error = undefined;
    clock.advance(100);
    expect(await ask()).toBe('error'); // this one set off the question
    await background();
    expect(await ask()).toBe('allowed');
    await fail(2);
    expect(store.calls).toBe(6); // and begins to count anew
  });

  it('asks a question that writes, about the key that failed: a store that can only read is not back', async () => {
    const { clock, store, fail, ask } = setUp();
    await fail(3);
    clock.advance(100);
    await ask();
    await background();
    const key = '@203.0.113.7'; // in a cluster, whoever failed has it
    expect(store.asked.at(-1)).toMatchObject({ op: 'take', limiter: 'spillway', key });
  });

  it('is not opened again by what was asked before it closed', async () => {
    const { clock, store, fail, ask } = setUp({ storeTimeout: '60s' });
    store.silent = true;
    store.error = lost;
    const old = Array.from({ length: 10 }, () => ask());
    await background();
    store.silent = false;
    await fail(3);
    store.error = undefined;
    clock.advance(100);
    await ask();
    await background();
    expect(await ask()).toBe('allowed');
    for (const end of store.open) end();
    expect(await Promise.all(old)).toEqual(Array(10).fill('error'));
    expect(await ask()).toBe('allowed');
  });

  it('is one for all guards and limiters of a store', async () => {
    const { store, make, ask, fail } = setUp();
    const other = make('b');
    const direct = createLimiter({ name: 'c', limit: 5, window: '1m' }, { store, logger: false });
    await fail(3);
    expect(await ask(other)).toBe('error');
    expect((await direct.consume('ada')).outcome).toBe('error');
    expect(store.calls).toBe(3);
  });

  it('is opened by direct calls too', async () => {
    const { store, ask } = setUp();
    store.error = lost;
    const direct = createLimiter({ name: 'c', limit: 5, window: '1m' }, { store, logger: false });
    for (const key of ['ada', 'bob', 'eve']) await direct.consume(key);
    expect(await ask()).toBe('error');
    expect(store.calls).toBe(3);
  });

  it('can be left out', async () => {
    const { store, fail } = setUp({ breaker: false });
    await fail(50);
    expect(store.calls).toBe(50);
  });

  it.each([{ failures: 0 }, { failures: 1.5 }, { probeEvery: 'soon' as '1s' }])(
    'refuses %j at construction',
    (breaker) => {
      const limiter = rateLimit({ name: 'a', limit: 1, window: '1m' });
      expect(() => createGuard(limiter, { store: new Patient(), breaker })).toThrow(/SPW_/);
    },
  );
});
