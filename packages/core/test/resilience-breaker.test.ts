import { createGuard, createLimiter, rateLimit, SpillwayError } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { describe, expect, it, vi } from 'vitest';
import { background, lost, Patient, PROBE, setUp } from './breaker-set-up.js';

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
    // Reported as a fault, once; the breaker logs nothing.
    expect(warnings).toEqual([expect.stringContaining('SPW_STORE_ERROR')]);
  });

  it('opens at the first error that a store answers to everybody', async () => {
    const { store, fail } = setUp();
    await fail(50, new SpillwayError('SPW_STORE_UNAVAILABLE', 'loading', { kind: 'loading' }));
    expect(store.calls).toBe(1);
  });

  it('opens for a store that throws', async () => {
    const { store, ask } = setUp();
    const apply = vi.spyOn(store, 'apply').mockImplementation(() => {
      throw lost;
    });
    for (let i = 0; i < 50; i += 1) expect(await ask()).toBe('error');
    expect(apply).toHaveBeenCalledTimes(3);
  });

  it('closes at the first question that is answered, and begins to count anew', async () => {
    const { clock, store, fail, ask } = setUp();
    await fail(3);
    store.error = undefined;
    clock.advance(200);
    expect(await ask()).toBe('allowed');
    await fail(2);
    expect(store.calls).toBe(6);
  });

  it('closes at an error that is about the question alone: the store decides', async () => {
    const { clock, store, fail, ask } = setUp();
    await fail(3);
    store.error = new SpillwayError('SPW_STORE_ERROR', 'not of our format');
    clock.advance(200);
    expect(await ask()).toBe('error');
    store.error = undefined;
    expect(await ask()).toBe('allowed');
  });

  it('asks one thing that writes, beside a key that failed, under a name that no limiter can have', async () => {
    const { clock, store, ask } = setUp();
    store.error = lost;
    const many = createLimiter({ name: 'm', limit: 5, window: '1m' }, { store, logger: false });
    const keys = Array.from({ length: 500 }, (_, i) => `k${i}`);
    for (let i = 0; i < 3; i += 1) await many.consumeAll(keys);
    const { length } = store.asked;
    clock.advance(200);
    await ask();
    expect(store.asked.slice(length)).toMatchObject([{ op: 'take', limiter: PROBE, key: 'k0' }]);
    expect(() => rateLimit({ name: PROBE, limit: 1, window: '1m' })).toThrow('SPW_NAME_INVALID');
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
    clock.advance(200);
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
      expect(() => createGuard(limiter, { store: remoteStore(new Patient()), breaker })).toThrow(
        /SPW_/,
      );
    },
  );
});
