import { concurrencyLimit, rateLimit } from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { ada, byUser, guarded, type Make, two } from './any-control.js';

const plans = {
  name: 'plans',
  window: '1m',
  limit: 3,
  plan(of: { header(name: string): string | undefined }) {
    const limit = of.header('x-plan');
    return limit === undefined ? undefined : { limit: Number(limit) };
  },
  ...byUser,
} as const;

export function controlsLimits(make: Make): void {
  describe('a factor', () => {
    it('multiplies plans, each by itself', async () => {
      const control = await make();
      const { policy } = guarded(control, rateLimit(plans));
      await control.set('plans', { limits: { factor: 2 } }, ada);
      expect(policy('free', 10)).toMatchObject({ limit: 20, windowMs: 60_000 });
      expect(policy('acme', 5_000)).toMatchObject({ limit: 10_000 });
      await control.clear('plans', ada);
      expect(policy('free', 10)).toMatchObject({ limit: 10 });
    });

    it.each([
      [0.5, 3, 1],
      [1.1, 100, 110],
      [0.29, 100, 29],
      [1e-9, 1_000, 1],
      [1e9, 7, 1_000_000_000],
      [1, 7, 7],
    ])(
      '%d of %d is %d: rounded down, at least 1, at most what a limit can be',
      async (factor, limit, is) => {
        const control = await make();
        const { policy } = guarded(control, rateLimit(plans));
        await control.set('plans', { limits: { factor } }, ada);
        expect(policy('ada', limit).limit).toBe(is);
      },
    );

    it('multiplies a burst too, so that the bucket stays the same count', async () => {
      const control = await make();
      const { admit, policy } = guarded(
        control,
        rateLimit({ name: 'api', limit: 10, window: '1m', burst: 5 }),
      );
      for (let i = 0; i < 5; i += 1) admit();
      expect(admit().allowed).toBe(false);
      await control.set('api', { limits: { factor: 2 } }, ada);
      expect(policy()).toMatchObject({ limit: 20, burst: 10 });
      expect(admit().allowed).toBe(false); // the share that was used stays used
    });

    it('opens no closed plan by a factor, only by a limit of the key', async () => {
      const control = await make();
      const { admit } = guarded(control, rateLimit(plans));
      await control.set('plans', { limits: { factor: 1_000 } }, ada);
      await control.limitKey('plans', 'ada', { limit: 50 }, ada);
      expect(admit('bob', { 'x-plan': '0' })).toMatchObject({ binding: { reason: 'never' } });
      expect(admit('ada', { 'x-plan': '0' })).toMatchObject({ allowed: true });
    });

    it('of * is that of all limiters that have no limits of their own', async () => {
      const control = await make();
      const { admit } = guarded(control, [
        rateLimit(two),
        rateLimit({ ...two, name: 'own', limit: 4 }),
        concurrencyLimit({ name: 'busy', limit: 6 }),
      ]);
      await control.set('*', { limits: { factor: 0.5 } }, ada);
      await control.set('own', { limits: { limit: 9 } }, ada);
      expect(admit().decisions.map(({ policy }) => policy?.limit)).toEqual([1, 9, 3]);
    });
  });

  describe('limits of one key', () => {
    it('are those of that key alone, until they end', async () => {
      const control = await make();
      const { times } = guarded(control, rateLimit({ ...two, ...byUser }));
      await control.limitKey('two', 'acme', { limit: 4 }, ada);
      expect(times(5, 'acme')).toEqual([true, true, true, true, false]);
      expect(times(3, 'other')).toEqual([true, true, false]);
      await control.clearKey('two', 'acme', ada);
      expect(times(1, 'acme')).toEqual([false]);
    });

    it('come before those of the limiter, and are numbers in place of the declared ones', async () => {
      const control = await make();
      const { admit, policy } = guarded(control, rateLimit(plans));
      await control.set('plans', { limits: { limit: 7, window: '2m' } }, ada);
      await control.limitKey('plans', 'acme', { limit: 9 }, ada);
      await control.limitKey('plans', 'half', { factor: 0.5 }, ada);
      expect(policy('acme', 10)).toMatchObject({ limit: 9, windowMs: 60_000 });
      expect(policy('half', 10)).toMatchObject({ limit: 5, windowMs: 60_000 });
      expect(policy('other', 10)).toMatchObject({ limit: 10, windowMs: 60_000 });
      const [decision] = admit('none').decisions;
      expect(decision?.policy).toMatchObject({ limit: 7, windowMs: 120_000 });
      await control.clear('plans', ada);
      expect(policy('acme', 10)).toMatchObject({ limit: 9 });
    });

    it('of * are a factor for limiters that have none for the key', async () => {
      const control = await make();
      const { policy } = guarded(control, rateLimit(plans));
      await control.limitKey('*', 'acme', { factor: 3 }, ada);
      expect(policy('acme', 10).limit).toBe(30);
      await control.limitKey('plans', 'acme', { limit: 4 }, ada);
      expect(policy('acme', 10).limit).toBe(4);
      await control.clearKey('plans', 'acme', ada);
      expect(policy('acme', 10).limit).toBe(30);
    });

    it('come after an operator who blocks or allows the key; each ends by itself', async () => {
      const control = await make();
      const { admit, times } = guarded(control, rateLimit({ ...two, ...byUser }));
      await control.limitKey('two', 'acme', { limit: 1 }, { ...ada, for: '1d' });
      await control.allow('two', 'acme', ada);
      expect(times(3, 'acme')).toEqual([true, true, true]);
      await control.block('two', 'acme', ada);
      expect(admit('acme')).toMatchObject({ binding: { reason: 'blocked' } });
      await control.clearKey('two', 'acme', ada, ['ruling']);
      expect(times(2, 'acme')).toEqual([true, false]);
      await control.block('two', 'acme', ada);
      await control.clearKey('two', 'acme', ada, ['limits']);
      expect(await control.list()).toMatchObject([{ what: 'key', key: 'acme' }]);
      await control.limitKey('two', 'acme', { limit: 1 }, ada);
      await control.clearKey('two', 'acme', ada);
      expect(await control.list()).toEqual([]);
    });

    it('of addresses are written as the limiter counts them', async () => {
      const control = await make();
      const { times } = guarded(control, rateLimit(two));
      await control.limitKey('two', '@203.0.113.7', { limit: 1 }, ada);
      expect(times(2)).toEqual([true, false]);
    });

    it('hold for requests in progress', async () => {
      const control = await make();
      const { times } = guarded(control, concurrencyLimit({ name: 'api', limit: 1, ...byUser }));
      await control.limitKey('api', 'acme', { factor: 3 }, ada);
      expect(times(4, 'acme')).toEqual([true, true, true, false]);
      expect(times(2, 'other')).toEqual([true, false]);
    });

    it.each([{ window: '1h' as const }, { burst: 3 }, { limit: 9, window: '1h' as const }])(
      '%j are none for requests in progress: told, and as declared',
      async (limits) => {
        const control = await make();
        const { times, faults } = guarded(
          control,
          concurrencyLimit({ name: 'api', limit: 1, ...byUser }),
        );
        await control.limitKey('api', 'acme', limits, ada);
        expect(times(2, 'acme')).toEqual([true, false]);
        expect(faults[0]).toMatchObject({ limiter: 'api', source: 'control' });
      },
    );

    it.each(['__proto__', 'constructor', '{tag}', '"],["', '\ud800', 'line\nbreak', ' '])(
      'are about exactly the key %j',
      async (key) => {
        const control = await make();
        await control.limitKey('api', key, { limit: 3 }, ada);
        expect(control.limitsOf?.('api', key)).toEqual({ limit: 3 });
        expect(control.limitsOf?.('api', `${key} `)).toBeUndefined();
        expect(control.limitsOf?.('api ', key)).toBeUndefined();
        expect(await control.list()).toMatchObject([{ limiter: 'api', what: 'key-limits', key }]);
        expect((await control.history())[0]).toMatchObject({ key, after: { limit: 3 } });
      },
    );

    it('are the same object while they are the same', async () => {
      const control = await make();
      await control.limitKey('api', 'acme', { limit: 3 }, ada);
      const before = control.limitsOf?.('api', 'acme');
      const settings = control.settingsOf('api');
      await control.limitKey('api', 'other', { limit: 4 }, ada);
      expect(control.limitsOf?.('api', 'acme')).toBe(before);
      expect(control.settingsOf('api')).not.toBe(settings);
    });
  });

  it.each<[string, string, unknown]>([
    ['SPW_OPTION_INVALID', 'api', { factor: 0 }],
    ['SPW_OPTION_INVALID', 'api', { factor: -1 }],
    ['SPW_OPTION_INVALID', 'api', { factor: Number.NaN }],
    ['SPW_OPTION_INVALID', 'api', { factor: Number.POSITIVE_INFINITY }],
    ['SPW_OPTION_INVALID', 'api', { factor: 1e10 }],
    ['SPW_OPTION_INVALID', 'api', { factor: '2' }],
    ['SPW_OPTION_INVALID', 'api', { factor: 2, limit: 5 }],
    ['SPW_OPTION_INVALID', 'api', { factor: 2, window: '1m' }],
    ['SPW_OPTION_INVALID', 'api', { factor: 2, burst: 5 }],
    ['SPW_OPTION_INVALID', 'api', { faktor: 2 }],
    ['SPW_OPTION_INVALID', 'api', { factor: 2, allPlans: true }],
    ['SPW_OPTION_INVALID', 'api', { limit: 5, allPlans: 1 }],
    ['SPW_OPTION_INVALID', 'api', { allPlans: true }],
    ['SPW_OPTION_INVALID', 'api', {}],
    ['SPW_OPTION_INVALID', 'api', null],
    ['SPW_OPTION_INVALID', '*', { limit: 5 }],
    ['SPW_LIMIT_INVALID', 'api', { limit: 0 }],
  ])('refuses with %s for %s the limits %j, of all keys and of one', async (code, name, limits) => {
    const control = await make();
    const given = limits as { limit: number };
    await expect((async () => control.set(name, { limits: given }, ada))()).rejects.toThrow(code);
    await expect((async () => control.limitKey(name, 'k', given, ada))()).rejects.toThrow(code);
    expect(await control.history()).toEqual([]);
  });

  it('refuses keys, notes and lists that are none', async () => {
    const control = await make();
    const limits = { limit: 3 };
    for (const key of ['', 'k'.repeat(1_025)]) {
      await expect((async () => control.limitKey('a', key, limits, ada))()).rejects.toThrow(
        'SPW_KEY_INVALID',
      );
    }
    await expect(
      (async () => control.limitKey('a', 'k', limits, { ...ada, because: '' }))(),
    ).rejects.toThrow('SPW_OPTION_INVALID');
    await expect(
      (async () => control.clearKey('a', 'k', ada, ['key' as 'limits']))(),
    ).rejects.toThrow('ruling, limits');
  });
}
