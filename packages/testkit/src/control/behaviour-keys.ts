import { createGuard, fixedWindow, memoryStore, rateLimit, type Store } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';
import { request } from '../request.js';
import { ada, byUser, guarded, type Make, two } from './any-control.js';

export function controlsKeys(make: Make): void {
  describe('a ruling on a key', () => {
    const api = rateLimit({ name: 'api', limit: 2, window: '1m', ...byUser });

    it('blocks that key and no other, until it is cleared', async () => {
      const control = await make();
      const { admit, times } = guarded(control, api);
      await control.block('api', 'eve', { ...ada, for: '10m' });
      const refusal = admit('eve');
      expect(refusal).toMatchObject({
        allowed: false,
        status: 403,
        binding: { reason: 'blocked' },
      });
      const wait = Number(new Map(refusal.headers).get('Retry-After'));
      expect(wait).toBeGreaterThan(590);
      expect(wait).toBeLessThanOrEqual(601);
      expect(times(1, 'ada')).toEqual([true]);
      await control.clearKey('api', 'eve', ada);
      // The blocked requests were charged nothing.
      expect(times(3, 'eve')).toEqual([true, true, false]);
    });

    it('blocks for ever without a Retry-After', async () => {
      const control = await make();
      const { admit } = guarded(control, api);
      await control.block('api', 'eve', { ...ada, for: 'forever' });
      const refusal = admit('eve');
      expect(refusal.allowed).toBe(false);
      expect(new Map(refusal.headers).has('Retry-After')).toBe(false);
    });

    it('allows a key that is over its limit, unseen', async () => {
      const control = await make();
      const { times, events } = guarded(control, api);
      expect(times(3, 'bob')).toEqual([true, true, false]);
      await control.allow('api', 'bob', ada);
      expect(times(2, 'bob')).toEqual([true, true]);
      expect(events.at(-1)?.outcome).toBe('skipped');
      await control.clearKey('api', 'bob', ada);
      expect(times(1, 'bob')).toEqual([false]);
    });

    it('names an address as the limiter counts it', async () => {
      const control = await make();
      const { admit } = guarded(control, rateLimit(two));
      await control.block('*', '@203.0.113.7', ada);
      expect(admit().allowed).toBe(false);
    });

    it('in shadow refuses nobody', async () => {
      const control = await make();
      const { admit, events } = guarded(control, api);
      await control.set('api', { mode: 'shadow' }, ada);
      await control.block('api', 'eve', ada);
      expect(admit('eve')).toMatchObject({ allowed: true, headers: [] });
      expect(events[0]?.outcome).toBe('would-deny');
    });

    it.each(['__proto__', '{tag}', '"],["', '\ud800', 'line\nbreak', ' ', 'é'.repeat(1_024)])(
      'is about exactly the key %j',
      async (key) => {
        const control = await make();
        await control.block('api', key, ada);
        expect(control.overrideOf('api', key)?.verdict).toBe('block');
        expect(control.overrideOf('api', `${key} `)).toBeUndefined();
        expect(control.overrideOf('api ', key)).toBeUndefined();
        expect(await control.list()).toMatchObject([{ limiter: 'api', what: 'key', key }]);
      },
    );
  });

  describe('what a guard remembers of refusals is forgotten', () => {
    /** A guard that caches rejections, because its store is asynchronous. */
    async function remembering() {
      const control = await make();
      const clock = new ManualClock();
      const memory = memoryStore({ clock });
      let calls = 0;
      const store: Store = remoteStore({
        sync: false,
        apply: async (steps) => {
          calls += 1;
          return memory.apply(steps);
        },
      });
      const limiter = rateLimit({ ...two, window: '1h', algorithm: fixedWindow });
      const { name, rule } = limiter;
      const guard = createGuard(limiter, { store, control });
      const admit = async () => (await guard.admit(request())).allowed;
      for (let i = 0; i < 3; i += 1) await admit();
      const before = calls;
      expect(await admit()).toBe(false);
      expect(calls).toBe(before); // the rejection came from the cache
      const reset = () =>
        memory.apply([
          { op: 'reset', limiter: name, key: '@203.0.113.7', rule, cost: 1, binding: true },
        ]);
      return { control, admit, reset };
    }

    it('when a limit is raised', async () => {
      const { control, admit } = await remembering();
      await control.set('two', { limits: { limit: 100 } }, ada);
      expect(await admit()).toBe(true);
    });

    it('when anything else of the limiter is changed: its state may have changed meanwhile', async () => {
      const { control, admit, reset } = await remembering();
      reset();
      await control.set('two', { share: 1 }, ada);
      expect(await admit()).toBe(true);
    });

    it('and whatever else keeps counts is told which keys were reset', async () => {
      const control = await make();
      const before = control.settingsOf('api');
      await control.forget('api', 'ada', ada);
      await control.forget('*', 'bob', ada);
      const resets = control.resetsOf?.('api') ?? new Map();
      expect([...resets.keys()].sort()).toEqual(['ada', 'bob']);
      expect(resets.get('ada')).toBe((await control.history())[1]?.atMs);
      expect([...(control.resetsOf?.('other') ?? [])].map(([key]) => key)).toEqual(['bob']);
      expect(control.settingsOf('api')).not.toBe(before);
    });

    it('when its count was reset', async () => {
      const { control, admit, reset } = await remembering();
      reset();
      expect(await admit()).toBe(false);
      await control.forget('two', '@203.0.113.7', ada);
      expect(await admit()).toBe(true);
    });
  });
}
