import { type Algorithm, concurrencyLimit, fixedWindow, rateLimit } from '@spillway/core';
import { algorithmByName } from '@spillway/core/algorithms';
import { describe, expect, it } from 'vitest';
import { ada, byUser, guarded, type Make, two } from './any-control.js';

export function controlsSettings(make: Make): void {
  describe('modes', () => {
    it('take effect at the next request, and end with being cleared', async () => {
      const control = await make();
      const { times, events } = guarded(control, rateLimit(two));
      expect(times(3)).toEqual([true, true, false]);
      await control.set('two', { mode: 'shadow' }, ada);
      expect(times(1)).toEqual([true]);
      await control.set('two', { mode: 'off' }, ada);
      expect(times(1)).toEqual([true]);
      await control.set('two', { mode: 'enforce' }, ada);
      expect(times(1)).toEqual([false]);
      await control.clear('two', ada);
      expect(times(1)).toEqual([false]);
      const seen = events.slice(2).map(({ outcome }) => outcome);
      expect(seen).toEqual(['denied', 'would-deny', 'skipped', 'denied', 'denied']);
    });

    it('of * are those of all limiters that have none of their own', async () => {
      const control = await make();
      const { admit } = guarded(control, [
        rateLimit(two),
        rateLimit({ ...two, name: 'one', limit: 1 }),
      ]);
      await control.set('*', { mode: 'off' }, ada);
      await control.set('one', { mode: 'enforce' }, ada);
      expect([1, 2, 3].map(() => admit().allowed)).toEqual([true, false, false]);
      expect(admit().decisions[0]?.outcome).toBe('skipped');
    });

    it('of * are seen at the next request too, and so is their end', async () => {
      const control = await make();
      const { times } = guarded(control, rateLimit(two));
      await control.set('two', { share: 1 }, ada);
      expect(times(3)).toEqual([true, true, false]);
      await control.set('*', { mode: 'off' }, ada);
      expect(times(1)).toEqual([true]);
      await control.clear('*', ada);
      expect(times(1)).toEqual([false]);
    });

    it.each([
      ['off', 'enforce', 'skipped'],
      ['shadow', 'enforce', 'would-deny'],
      ['enforce', 'shadow', 'would-deny'],
      ['shadow', 'off', 'skipped'],
    ] as const)('of a guard in %s with %s set live: the weaker', async (mode, live, outcome) => {
      const control = await make();
      const { times, events } = guarded(control, rateLimit({ ...two, limit: 1 }), { mode });
      await control.set('two', { mode: live }, ada);
      expect(times(2)).toEqual([true, true]);
      expect(events[1]?.outcome).toBe(outcome);
    });
  });

  describe('limits', () => {
    it('take effect at the next request, in fields too', async () => {
      const control = await make();
      const { admit, times } = guarded(control, rateLimit(two));
      expect(times(3)).toEqual([true, true, false]);
      await control.set('two', { limits: { limit: 4 } }, ada);
      expect(admit().headers).toContainEqual(['RateLimit-Policy', '"two";q=4;w=60']);
      await control.clear('two', ada, ['limits']);
      expect(admit().headers).toContainEqual(['RateLimit-Policy', '"two";q=2;w=60']);
    });

    it('keep the share of a bucket that is used, and begin another count with another burst', async () => {
      const control = await make();
      const { times, admit } = guarded(control, rateLimit({ ...two, limit: 10, window: '1m' }));
      expect(times(5)).not.toContain(false); // 30 s of debt
      await control.set('two', { limits: { limit: 20 } }, ada); // a unit refills in 3 s
      expect(admit().decisions[0]?.remaining).toBe(9);
      await control.set('two', { limits: { burst: 5 } }, ada); // at most 30 s of debt, not 60
      expect(admit().decisions[0]).toMatchObject({ allowed: true, remaining: 4 });
      await control.clear('two', ada);
      expect(admit().decisions[0]).toMatchObject({ allowed: true, remaining: 3 });
    });

    it.each(['fixed-window', 'sliding-window-counter', 'sliding-window-log'] as const)(
      'keep the count of a %s as long as the window is the same',
      async (algorithm: Algorithm) => {
        const control = await make();
        const { admit, times } = guarded(
          control,
          rateLimit({ ...two, algorithm: algorithmByName(algorithm) }),
        );
        expect(times(3)).toEqual([true, true, false]);
        await control.set('two', { limits: { limit: 4 } }, ada);
        expect(admit().decisions[0]).toMatchObject({ allowed: true, remaining: 1 });
        await control.set('two', { limits: { window: '2m' } }, ada);
        expect(admit().decisions[0]).toMatchObject({ allowed: true, remaining: 1 });
      },
    );

    it('of requests in progress count those that are in progress already', async () => {
      const control = await make();
      const { admit } = guarded(control, concurrencyLimit({ name: 'api', limit: 1 }));
      const first = admit();
      expect(admit().allowed).toBe(false);
      await control.set('api', { limits: { limit: 2 } }, ada);
      const second = admit();
      expect([second.allowed, admit().allowed]).toEqual([true, false]);
      await control.clear('api', ada);
      first.release({ status: 200 });
      expect(admit().allowed).toBe(false);
      second.release({ status: 200 });
      expect(admit().allowed).toBe(true);
    });

    it('are for callers without a plan, or for all of them, and change only what they name', async () => {
      const control = await make();
      const { admit } = guarded(control, rateLimit({ ...two, plan: () => ({ limit: 10 }) }));
      const policy = () => new Map(admit().headers).get('RateLimit-Policy');
      await control.set('two', { limits: { window: '2m' } }, ada);
      expect(policy()).toBe('"two";q=10;w=60');
      await control.set('two', { limits: { window: '2m', allPlans: true } }, ada);
      expect(policy()).toBe('"two";q=10;w=120');
      await control.set('two', { limits: { limit: 5, allPlans: true } }, ada);
      expect(policy()).toBe('"two";q=5;w=60');
      await control.set('two', { limits: { limit: 5, allPlans: false } }, ada);
      expect(policy()).toBe('"two";q=10;w=60');
    });

    it('that the limiter cannot have are told, and it stays as declared', async () => {
      const control = await make();
      const limiter = rateLimit({ ...two, algorithm: fixedWindow });
      const { times, faults } = guarded(control, limiter);
      await control.set('two', { limits: { burst: 10 } }, ada);
      expect(times(3)).toEqual([true, true, false]);
      expect(faults[0]).toMatchObject({ limiter: 'two', source: 'control' });
    });
  });

  describe('a share', () => {
    it('is of keys, always the same ones, and of the larger one for good', async () => {
      const control = await make();
      const { admit } = guarded(
        control,
        rateLimit({ name: 'api', limit: 1, window: '1m', ...byUser }),
      );
      const users = Array.from({ length: 10_000 }, (_, number) => `user-${number}`);
      const enforced = async (share: number) => {
        await control.set('api', { share }, ada);
        return new Set(users.filter((user) => admit(user) && !admit(user).allowed));
      };
      const tenth = await enforced(0.1);
      const half = await enforced(0.5);
      // Five standard deviations of a binomial distribution: 150 and 250.
      expect(Math.abs(tenth.size - 1_000)).toBeLessThan(150);
      expect(Math.abs(half.size - 5_000)).toBeLessThan(250);
      expect([...tenth].filter((user) => !half.has(user))).toEqual([]);
      expect(await enforced(0.1)).toEqual(tenth);
      expect((await enforced(0)).size).toBe(0);
      expect((await enforced(1)).size).toBe(10_000);
    });
  });
}
