/** What a guard uses and shows besides its decisions: its clock, its limiters, and the live settings it reads. */

import {
  type Control,
  concurrencyLimit,
  createGuard,
  createLimiter,
  type LimiterSettings,
  memoryControl,
  memoryStore,
  rateLimit,
} from '@spillway/core';
import { liveControl } from '@spillway/core/control';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { createShaper } from '@spillway/outgoing';
import { request } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { setUp, two } from './guard-set-up.js';

describe('the clock of a guard', () => {
  it('begins with empty counts, also for a limiter that a module makes once', () => {
    const limiter = rateLimit({ limit: 1, window: '1m' });
    for (let i = 0; i < 3; i += 1) {
      const guard = createGuard(limiter, { clock: new ManualClock() });
      expect([guard.admit(request()), guard.admit(request())]).toMatchObject([
        { allowed: true },
        { allowed: false },
      ]);
    }
  });

  it('is that of its memory, where no store is given', async () => {
    const clock = new ManualClock();
    const guard = createGuard(rateLimit({ limit: 1, window: '1m' }), { clock });
    expect((await guard.admit(request())).allowed).toBe(true);
    expect(await guard.admit(request())).toMatchObject({
      allowed: false,
      binding: { retryAfterMs: 60_000 },
    });
    clock.advance('59999ms');
    expect((await guard.admit(request())).allowed).toBe(false);
    clock.advance('1ms');
    expect((await guard.admit(request())).allowed).toBe(true);
  });

  it.each([
    ['createGuard()', createGuard],
    ['createLimiter()', (_: unknown, settings: object) => createLimiter(two, settings)],
    ['createShaper()', (_: unknown, settings: object) => createShaper(two, settings)],
  ] as const)('must be that of a memory store, in %s', (_, make) => {
    const clock = new ManualClock();
    for (const store of [memoryStore(), memoryStore({ clock: new ManualClock() })]) {
      expect(() => make(rateLimit(two), { clock, store })).toThrow(
        'clock must be the clock of the memory store: write memoryStore({ clock })',
      );
      expect(() => make(rateLimit(two), { store })).not.toThrow();
    }
    expect(() => make(rateLimit(two), { clock, store: memoryStore({ clock }) })).not.toThrow();
    // The counts of a remote store have another clock.
    const remote = remoteStore({ sync: false, apply: async () => [] });
    expect(() =>
      make(rateLimit(two), { clock, store: remote, onStoreError: 'deny' }),
    ).not.toThrow();
  });

  it('must have nowUs', () => {
    expect(() => createGuard(rateLimit(two), { clock: {} as never })).toThrow(/SPW_OPTION_INVALID/);
  });
});

it('a guard lists its limiters as they were declared', () => {
  const rate = rateLimit({ ...two, mode: 'shadow' });
  const permits = concurrencyLimit({ name: 'permits', limit: 3, mode: () => 'off' });
  const own = { kind: 'local', name: 'own', mode: 'off', decide: () => ({}) as never } as const;
  const { guard } = setUp([rate, permits, own]);
  expect(guard.limiters).toEqual([
    { name: 'two', kind: 'stored', rule: rate.rule, mode: 'shadow', refunds: false },
    { name: 'permits', kind: 'stored', rule: permits.rule, mode: undefined, refunds: false },
    { name: 'own', kind: 'local', rule: undefined, mode: 'off', refunds: false },
  ]);
  expect(Object.isFrozen(guard.limiters)).toBe(true);
});

it('a guard makes another one of its limiters, with other options in place of its own', async () => {
  const skip = ({ path }: { readonly path: string }): boolean => path === '/health';
  const onDecision = vi.fn();
  const guard = createGuard(rateLimit({ limit: 1, window: '1m' }), { skip, onDecision });
  const clock = new ManualClock();
  const shadow = guard.withOptions({ clock, mode: 'shadow', onDecision: undefined });
  expect(shadow.limiters).toEqual(guard.limiters);
  const outcomes = async (path: string) =>
    (await shadow.admit({ ...request(), path })).decisions.map(({ outcome }) => outcome);
  expect(await outcomes('/')).toEqual(['allowed']);
  expect(await outcomes('/')).toEqual(['would-deny']);
  expect(await outcomes('/health')).toEqual(['skipped']);
  clock.advance('1m');
  expect(await outcomes('/')).toEqual(['allowed']);
  expect(onDecision).not.toHaveBeenCalled();
  expect(() => guard.withOptions({ mode: 'of' as never })).toThrow(/SPW_OPTION_INVALID/);
});

it('a request may be frozen', async () => {
  const { guard } = setUp([rateLimit(two), concurrencyLimit({ name: 'c', limit: 1 })]);
  const admission = await guard.admit(Object.freeze(request()));
  expect(admission.allowed).toBe(true);
  await admission.release(Object.freeze({ status: 200 }));
});

describe('live settings', () => {
  it('are read once for each limiter and request, and so is what was decided of its key', () => {
    const live = memoryControl({ clock: new ManualClock() });
    live.set('two', { limits: { limit: 5 } }, { by: 'ada', because: 'a test' });
    const asked: string[] = [];
    const control: Control = liveControl({
      settingsOf: (limiter) => {
        asked.push(`settings ${limiter}`);
        return live.settingsOf(limiter);
      },
      overrideOf: (limiter, key) => {
        asked.push(`ruling ${limiter}`);
        return live.overrideOf(limiter, key);
      },
    });
    const { admit } = setUp([rateLimit({ ...two, share: 0.5 }), rateLimit({ ...two, name: 'b' })], {
      control,
    });
    asked.length = 0;
    admit();
    expect(asked.sort()).toEqual(['ruling b', 'ruling two', 'settings b', 'settings two']);
  });

  it('that end while a request is decided make one decision all the same', () => {
    // Returns the override once, and then none, because it has ended.
    const override: LimiterSettings = { mode: 'shadow', share: 1, limits: { limit: 1 } };
    let left = 0;
    const control: Control = liveControl({
      settingsOf: () => (left-- > 0 ? override : undefined),
      overrideOf: () => undefined,
    });
    const { admit } = setUp(rateLimit({ ...two, limit: 100, share: 0 }), { control });
    for (let i = 0; i < 2; i += 1) {
      left = 1;
      expect(admit().decisions).toMatchObject([
        { policy: { limit: 1 }, outcome: i === 0 ? 'allowed' : 'would-deny' },
      ]);
    }
    expect(admit().decisions).toMatchObject([{ policy: { limit: 100 } }]);
  });
});
