/** What every control does, shown through guards; for the control in memory and for the one in Redis. */

import {
  type Admission,
  type Algorithm,
  type Control,
  concurrencyLimit,
  createGuard,
  type DecisionEvent,
  type Fault,
  type GuardOptions,
  type Limiter,
  type MemoryControl,
  memoryStore,
  rateLimit,
  type Store,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';
import { request } from '../guard-set-up.js';

type Methods = Omit<MemoryControl, keyof Control>;

/** The methods of a control, at once or later. */
export type AnyControl = Control & {
  [Name in keyof Methods]: (
    ...args: Parameters<Methods[Name]>
  ) => ReturnType<Methods[Name]> | Promise<ReturnType<Methods[Name]>>;
};

export const ada = { by: 'ada', because: 'a test' } as const;
const two = { name: 'two', limit: 2, window: '1m' } as const;
const byUser = { key: (of: { header(name: string): string | undefined }) => of.header('x-user') };

/** A guard in memory under a control. */
function guarded(control: Control, limiters: Limiter | Limiter[], options: GuardOptions = {}) {
  const clock = new ManualClock();
  const events: DecisionEvent[] = [];
  const faults: Fault[] = [];
  const guard = createGuard(limiters, {
    store: memoryStore({ clock }),
    control,
    onDecision: (event) => events.push(event),
    onFault: (fault) => faults.push(fault),
    ...options,
  });
  const admit = (user?: string): Admission =>
    guard.admit(request({ headers: user === undefined ? {} : { 'x-user': user } })) as Admission;
  const times = (count: number, user?: string) =>
    Array.from({ length: count }, () => admit(user).allowed);
  return { clock, admit, times, events, faults };
}

/** `make` gives a control without settings, for one test. */
export function behavesAsControl(make: () => AnyControl | Promise<AnyControl>): void {
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
      expect(admit().fields).toContainEqual(['RateLimit-Policy', '"two";q=4;w=60']);
      await control.clear('two', ada, ['limits']);
      expect(admit().fields).toContainEqual(['RateLimit-Policy', '"two";q=2;w=60']);
    });

    it('keep the debt of a bucket in time: half empty of 30 s, it is half full of 60 s', async () => {
      const control = await make();
      const { times, admit } = guarded(control, rateLimit({ ...two, limit: 10, window: '1m' }));
      expect(times(5)).not.toContain(false); // 30 s of debt
      await control.set('two', { limits: { limit: 20 } }, ada); // 3 s a unit
      expect(admit().decisions[0]?.remaining).toBe(9);
      await control.set('two', { limits: { burst: 5 } }, ada); // at most 30 s of debt: 33 s is cut to it
      expect(admit().decisions[0]).toMatchObject({ allowed: false, retryAfterMs: 6_000 });
    });

    it.each(['fixed-window', 'sliding-window-counter', 'sliding-window-log'] as const)(
      'keep the count of a %s as long as the window is the same',
      async (algorithm: Algorithm) => {
        const control = await make();
        const { admit, times } = guarded(control, rateLimit({ ...two, algorithm }));
        expect(times(3)).toEqual([true, true, false]);
        await control.set('two', { limits: { limit: 4 } }, ada);
        expect(admit().decisions[0]).toMatchObject({ allowed: true, remaining: 1 });
        if (algorithm === 'sliding-window-log') return; // keeps what is in view of any window
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

    it('of a function are those set live, which change only what they name', async () => {
      const control = await make();
      const limit = () => 10;
      const { admit } = guarded(control, rateLimit({ ...two, limit, defaultLimit: 1 }));
      await control.set('two', { limits: { window: '2m' } }, ada);
      expect(admit().fields).toContainEqual(['RateLimit-Policy', '"two";q=10;w=120']);
      await control.set('two', { limits: { limit: 5 } }, ada);
      expect(admit().fields).toContainEqual(['RateLimit-Policy', '"two";q=5;w=60']);
    });

    it('that the limiter cannot have are told, and it stays as declared', async () => {
      const control = await make();
      const limiter = rateLimit({ ...two, algorithm: 'fixed-window' });
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
      // Five standard deviations of a fair lot: 150 and 250.
      expect(Math.abs(tenth.size - 1_000)).toBeLessThan(150);
      expect(Math.abs(half.size - 5_000)).toBeLessThan(250);
      expect([...tenth].filter((user) => !half.has(user))).toEqual([]);
      expect(await enforced(0.1)).toEqual(tenth);
      expect((await enforced(0)).size).toBe(0);
      expect((await enforced(1)).size).toBe(10_000);
    });
  });

  describe('a ruling on a key', () => {
    const api = rateLimit({ name: 'api', limit: 2, window: '1m', ...byUser });

    it('blocks that key and no other, until it is cleared', async () => {
      const control = await make();
      const { admit, times } = guarded(control, api);
      await control.block('api', 'eve', { ...ada, for: '10m' });
      const refusal = admit('eve');
      expect(refusal).toMatchObject({ allowed: false, status: 429 });
      const wait = Number(new Map(refusal.fields).get('Retry-After'));
      expect(wait).toBeGreaterThan(590);
      expect(wait).toBeLessThanOrEqual(601);
      expect(times(1, 'ada')).toEqual([true]);
      await control.clearKey('api', 'eve', ada);
      // A block charges nothing.
      expect(times(3, 'eve')).toEqual([true, true, false]);
    });

    it('blocks for ever without a Retry-After', async () => {
      const control = await make();
      const { admit } = guarded(control, api);
      await control.block('api', 'eve', { ...ada, for: 'forever' });
      const refusal = admit('eve');
      expect(refusal.allowed).toBe(false);
      expect(new Map(refusal.fields).has('Retry-After')).toBe(false);
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
      expect(admit('eve')).toMatchObject({ allowed: true, fields: [] });
      expect(events[0]?.outcome).toBe('would-deny');
    });

    it.each(['__proto__', '{tag}', '"],["', '\ud800', 'line\nbreak', ' ', 'é'.repeat(1_024)])(
      'is about exactly the key %j',
      async (key) => {
        const control = await make();
        await control.block('api', key, ada);
        expect(control.rulingOn('api', key)?.verdict).toBe('block');
        expect(control.rulingOn('api', `${key} `)).toBeUndefined();
        expect(control.rulingOn('api ', key)).toBeUndefined();
        expect(await control.list()).toMatchObject([{ limiter: 'api', what: 'key', key }]);
      },
    );
  });

  describe('what a guard remembers of refusals is forgotten', () => {
    /** A guard over a store that answers later, and so remembers. */
    async function remembering() {
      const control = await make();
      const clock = new ManualClock();
      const memory = memoryStore({ clock });
      let calls = 0;
      const store: Store = {
        sync: false,
        apply: async (steps) => {
          calls += 1;
          return memory.apply(steps);
        },
      };
      const limiter = rateLimit({ ...two, window: '1h', algorithm: 'fixed-window' });
      const { name, rule } = limiter;
      const guard = createGuard(limiter, { store, control });
      const admit = async () => (await guard.admit(request())).allowed;
      for (let i = 0; i < 3; i += 1) await admit();
      const before = calls;
      expect(await admit()).toBe(false);
      expect(calls).toBe(before); // else there is nothing to forget
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

    it('when its count was reset', async () => {
      const { control, admit, reset } = await remembering();
      reset();
      expect(await admit()).toBe(false);
      await control.forget('two', '@203.0.113.7', ada);
      expect(await admit()).toBe(true);
    });
  });

  describe('the list and the history', () => {
    it('name who, why, since when and until when', async () => {
      const control = await make();
      await control.set('api', { mode: 'off', share: 0.1 }, { ...ada, for: '10m' });
      await control.set('api', { limits: { limit: 7, window: '1m' } }, { ...ada, for: 'forever' });
      await control.allow('api', 'bob', ada);
      const list = await control.list();
      const told = list.map(({ what, value, atMs, untilMs }) => [
        what,
        value,
        untilMs === null ? null : Math.round(untilMs - atMs),
      ]);
      expect(told.sort()).toEqual([
        ['key', 'allow', 3_600_000],
        ['limits', { limit: 7, window: '1m' }, null],
        ['mode', 'off', 600_000],
        ['share', 0.1, 600_000],
      ]);
      expect(list.every((one) => one.limiter === 'api' && one.by === 'ada')).toBe(true);
      expect(list.every((one) => one.because === 'a test')).toBe(true);
    });

    it('show each change with what was before and after, latest first, and keep it', async () => {
      const control = await make();
      await control.set('api', { mode: 'shadow' }, ada);
      await control.set('api', { mode: 'off' }, { by: 'bob', because: 'night', for: '10m' });
      await control.clear('api', { by: 'eve', because: 'morning' });
      await control.clear('api', { by: 'eve', because: 'again: nothing to clear' });
      await control.block('api', 'mallory', ada);
      const history = await control.history();
      expect(history).toMatchObject([
        { what: 'key', key: 'mallory', before: null, after: 'block' },
        { by: 'eve', because: 'morning', before: 'off', after: null, untilMs: null },
        { by: 'bob', because: 'night', before: 'shadow', after: 'off' },
        { limiter: 'api', what: 'mode', by: 'ada', before: null, after: 'shadow' },
      ]);
      const ids = history.map(({ id }) => id);
      expect(ids).toEqual([...ids].sort((a, b) => b - a));
      expect(new Set(ids).size).toBe(4);
      expect(history[2]?.untilMs).toBe((history[2]?.atMs ?? 0) + 600_000);
    });

    it('keep the latest thousand changes', async () => {
      const control = await make();
      for (let i = 0; i < 1_005; i += 1) {
        await control.set('api', { share: i / 10_000 }, ada);
      }
      const history = await control.history();
      expect(history).toHaveLength(1_000);
      expect(history[0]).toMatchObject({ after: 0.1004, before: 0.1003 });
    });
  });

  describe('refuses', () => {
    it.each<[string, unknown]>([
      ['SPW_OPTION_INVALID', { mode: 'of' }],
      ['SPW_OPTION_INVALID', { share: 1.1 }],
      ['SPW_OPTION_INVALID', { share: '0.1' }],
      ['SPW_OPTION_INVALID', { share: Number.NaN }],
      ['SPW_OPTION_INVALID', {}],
      ['SPW_OPTION_INVALID', { modus: 'off' }],
      ['SPW_OPTION_INVALID', 'off'],
      ['SPW_OPTION_INVALID', { limits: {} }],
      ['SPW_OPTION_INVALID', { limits: { limits: 3 } }],
      ['SPW_LIMIT_INVALID', { limits: { limit: 0 } }],
      ['SPW_WINDOW_INVALID', { limits: { window: '1y' } }],
      ['SPW_BURST_INVALID', { limits: { burst: 1.5 } }],
    ])('with %s the settings %j, and changes nothing', async (code, settings) => {
      const control = await make();
      await expect((async () => control.set('api', settings as object, ada))()).rejects.toThrow(
        code,
      );
      expect(await control.list()).toEqual([]);
      expect(await control.history()).toEqual([]);
    });

    it.each<[string, object]>([
      ['nobody', { by: '', because: 'x' }],
      ['no reason', { by: 'ada', because: ' ' }],
      ['no reason at all', { by: 'ada' }],
      ['control characters', { by: 'ada', because: '\u001b[2J' }],
      ['no duration', { ...ada, for: '10' }],
      ['an instant', { ...ada, for: '999ms' }],
      ['more than a month', { ...ada, for: '31d' }],
    ])('%s as author, reason or duration', async (_, note) => {
      const control = await make();
      await expect(
        (async () => control.set('api', { mode: 'off' }, note as typeof ada))(),
      ).rejects.toThrow('SPW_OPTION_INVALID');
    });

    it('names and keys that no limiter has', async () => {
      const control = await make();
      const off = { mode: 'off' } as const;
      await expect((async () => control.set('', off, ada))()).rejects.toThrow('SPW_NAME_INVALID');
      await expect((async () => control.set('é', off, ada))()).rejects.toThrow('SPW_NAME_INVALID');
      await expect((async () => control.block('a', '', ada))()).rejects.toThrow('SPW_KEY_INVALID');
      await expect((async () => control.block('a', 'k'.repeat(1_025), ada))()).rejects.toThrow(
        'SPW_KEY_INVALID',
      );
      await expect((async () => control.set('*', { limits: { limit: 1 } }, ada))()).rejects.toThrow(
        'SPW_OPTION_INVALID',
      );
    });
  });
}
