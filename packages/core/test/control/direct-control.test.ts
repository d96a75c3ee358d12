/** Limits without HTTP under a control. */

import {
  type Control,
  createGuard,
  createLimiter,
  createLimiters,
  fixedWindow,
  type Logger,
  type MemoryControl,
  memoryControl,
  memoryStore,
  rateLimit,
  type Store,
} from '@spillway/core';
import { liveControl } from '@spillway/core/control';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';

const ada = { by: 'ada', because: 'a test' } as const;
const calls = { name: 'calls', limit: 2, window: '1h' } as const;

function setUp(options: object = {}) {
  const clock = new ManualClock();
  const control = memoryControl({ clock });
  const store = memoryStore({ clock });
  const limiter = createLimiter({ ...calls, ...options }, { store, control });
  const times = (count: number, key = 'ada') =>
    Array.from({ length: count }, () => limiter.consume(key).allowed);
  return { clock, control, store, limiter, times };
}

/** A store that answers later, and the number of its calls. */
function later(memory: Pick<Store, 'apply'> = memoryStore({ clock: new ManualClock() })) {
  const store = remoteStore({
    sync: false,
    calls: 0,
    apply: async (steps: Parameters<Store['apply']>[0]) => {
      store.calls += 1;
      return memory.apply(steps);
    },
  });
  return store;
}

describe('createLimiter with a control', () => {
  it('follows live limits, a factor and limits of one key, in this order', () => {
    const { control, limiter, times } = setUp();
    control.set('calls', { limits: { factor: 2 } }, ada);
    expect(times(5)).toEqual([true, true, true, true, false]);
    expect(limiter.peek('bob').policy?.limit).toBe(4);
    control.limitKey('calls', 'bob', { limit: 1 }, ada);
    expect(times(2, 'bob')).toEqual([true, false]);
    expect(limiter.peek('bob').policy?.limit).toBe(1);
    control.clear('calls', ada);
    control.clearKey('calls', 'bob', ada);
    expect(limiter.peek('bob').policy).toMatchObject({ limit: 2 });
  });

  it('gives back what was charged under live numbers, and resets them', () => {
    const { control, limiter, times } = setUp({ algorithm: fixedWindow });
    control.limitKey('calls', 'ada', { limit: 3, window: '2h' }, ada);
    const first = limiter.consume('ada');
    expect(times(3)).toEqual([true, true, false]);
    expect(limiter.refund(first)).toBe(true);
    expect(times(2)).toEqual([true, false]);
    control.clearKey('calls', 'ada', ada);
    expect(times(3)).toEqual([true, true, false]);
    limiter.reset('ada');
    control.limitKey('calls', 'ada', { limit: 3, window: '2h' }, ada);
    expect(times(4)).toEqual([true, true, true, false]);
  });

  it('obeys modes: off counts nothing, shadow counts and refuses nobody', () => {
    const { control, limiter, times } = setUp();
    control.set('calls', { mode: 'off' }, ada);
    expect(times(5)).not.toContain(false);
    expect(limiter.consume('ada')).toMatchObject({ outcome: 'skipped', allowed: true });
    expect(limiter.peek('ada').outcome).toBe('skipped');
    control.set('calls', { mode: 'shadow' }, ada);
    expect(times(3)).toEqual([true, true, true]);
    expect(limiter.consume('ada')).toMatchObject({ outcome: 'would-deny', allowed: true });
    expect(limiter.consumeAll(['ada', 'bob'])).toMatchObject({ allowed: true });
    control.clear('calls', ada);
    expect(times(1)).toEqual([false]);
  });

  it('enforces for a share of the keys, always the same', () => {
    const { control, limiter } = setUp();
    const keys = Array.from({ length: 1_000 }, (_, i) => `key ${i}`);
    const refused = () =>
      keys.filter((key) => [1, 2, 3].map(() => limiter.consume(key)).some((one) => !one.allowed));
    control.set('calls', { share: 0.1 }, ada);
    const tenth = refused();
    expect(tenth.length).toBeGreaterThan(50);
    expect(tenth.length).toBeLessThan(150);
    expect(refused()).toEqual(tenth);
  });

  it('obeys what operators say of a key, without asking the store', async () => {
    const control = memoryControl();
    const store = later();
    const limiter = createLimiter(calls, { store, control });
    control.block('calls', 'eve', { ...ada, for: '10m' });
    control.allow('calls', 'bob', ada);
    const refused = await limiter.consume('eve');
    expect(refused).toMatchObject({ allowed: false, outcome: 'denied', reason: 'blocked' });
    expect(refused.retryAfterMs).toBeGreaterThan(590_000);
    expect(await limiter.consume('bob')).toMatchObject({ allowed: true, outcome: 'skipped' });
    expect(store.calls).toBe(0);
    expect(await limiter.refund(refused)).toBe(false);
  });

  it('charges nobody of a group in which a key is blocked, and all others with record', () => {
    const { control, limiter } = setUp();
    control.block('calls', 'eve', ada);
    control.allow('calls', 'bob', ada);
    const all = limiter.consumeAll(['ada', 'eve', 'bob']);
    expect(all.allowed).toBe(false);
    expect(all.binding).toMatchObject({ reason: 'blocked' });
    expect(all.decisions.map(({ outcome }) => outcome)).toEqual(['skipped', 'denied', 'skipped']);
    expect(limiter.peek('ada').used).toBe(0);
    expect(limiter.peek(['ada', 'eve']).allowed).toBe(false);
    limiter.record(['ada', 'eve', 'bob']);
    expect(limiter.peek('ada').used).toBe(1);
    control.clearKey('calls', 'eve', ada);
    control.clearKey('calls', 'bob', ada);
    expect([limiter.peek('eve').used, limiter.peek('bob').used]).toEqual([0, 0]);
  });

  it('counts, of a group, for the keys that nobody has ruled on', () => {
    const { control, limiter } = setUp();
    control.allow('calls', 'bob', ada);
    const all = limiter.consumeAll(['bob', 'ada']);
    expect(all).toMatchObject({ allowed: true, binding: { outcome: 'allowed', remaining: 1 } });
    expect(limiter.refund(all.decisions[1] as never)).toBe(true);
  });

  it('forgets refusals that it remembers when something is changed', async () => {
    const control = memoryControl();
    const store = later();
    const limiter = createLimiter({ ...calls, algorithm: fixedWindow }, { store, control });
    for (let i = 0; i < 3; i += 1) await limiter.consume('ada');
    expect([(await limiter.consume('ada')).allowed, store.calls]).toEqual([false, 3]);
    control.limitKey('calls', 'ada', { limit: 3 }, ada);
    expect((await limiter.consume('ada')).allowed).toBe(true);
    control.set('calls', { mode: 'shadow' }, ada);
    expect(await limiter.consume('ada')).toMatchObject({ allowed: true, outcome: 'would-deny' });
  });

  it('goes on with live numbers when the store fails', async () => {
    const control = memoryControl();
    const down: Store = remoteStore({
      sync: false,
      apply: () => Promise.reject(new Error('down')),
    });
    const limiter = createLimiter(
      { ...calls, limit: 10, algorithm: fixedWindow },
      { store: down, control, logger: false },
    );
    control.limitKey('calls', 'ada', { limit: 4 }, ada);
    const outcomes = [];
    for (let i = 0; i < 5; i += 1) outcomes.push((await limiter.consume('ada')).allowed);
    expect(outcomes).toEqual([true, true, true, true, false]);
    expect((await limiter.consume('ada')).outcome).toBe('error');
  });

  it('tells a control its name and rule, and of a broken one goes on as declared', () => {
    const told: unknown[] = [];
    const lines: string[] = [];
    const logger: Logger = { warn: (line) => void lines.push(line) };
    const throwing = () => {
      throw new Error('bug');
    };
    const control: Control = liveControl({
      settingsOf: () => undefined,
      overrideOf: throwing,
      limitsOf: throwing,
      register: (...args) => void told.push(args),
    });
    const limiter = createLimiter(calls, { store: memoryStore(), control, logger });
    expect(told).toEqual([['calls', limiter.rule]]);
    expect([1, 2, 3].map(() => limiter.consume('ada').allowed)).toEqual([true, true, false]);
    expect(lines.length).toBeGreaterThan(0);
    const junk = liveControl({
      ...control,
      overrideOf: () => undefined,
      limitsOf: () => 'much' as never,
    });
    const other = createLimiter(calls, { store: memoryStore(), control: junk, logger: false });
    expect([1, 2, 3].map(() => other.consume('ada').allowed)).toEqual([true, true, false]);
  });

  it('asks the copy of a control, not the original', () => {
    const none: Control = { settingsOf: () => undefined, overrideOf: () => undefined };
    const control = { ...liveControl(none), settingsOf: () => ({ mode: 'off' }) as const };
    const limiter = createLimiter({ ...calls, limit: 1 }, { store: memoryStore(), control });
    expect([1, 2].map(() => limiter.consume('ada').outcome)).toEqual(['skipped', 'skipped']);
  });

  it('refuses a control that has not passed through liveControl', () => {
    const control: Control = { settingsOf: () => undefined, overrideOf: () => undefined };
    for (const make of [
      () => createLimiter(calls, { control }),
      () => createGuard(rateLimit({ limit: 1, window: '1s' }), { control }),
    ]) {
      expect(make).toThrow('write liveControl(control) (SPW_OPTION_INVALID)');
    }
    expect(() => liveControl(Object.freeze(control))).toThrow('freeze it after');
  });

  it('refuses a control that is none', () => {
    const control = {} as MemoryControl;
    expect(() => createLimiter(calls, { control })).toThrow('settingsOf()');
    expect(() => createLimiters({ a: { limit: 1, window: '1s' } }, { control })).toThrow(
      'settingsOf()',
    );
  });
});

describe('createLimiters with a control', () => {
  const numbers = { limit: 2, window: '1h' } as const;

  function several() {
    const control = memoryControl();
    const store = memoryStore({ clock: new ManualClock() });
    const limiters = createLimiters({ customer: numbers, carrier: numbers }, { store, control });
    const both = (customer: string, carrier: string) => limiters.consume({ customer, carrier });
    return { control, limiters, both };
  }

  it('each limit follows what is set for its name', () => {
    const { control, both } = several();
    control.set('customer', { limits: { factor: 2 } }, ada);
    control.limitKey('carrier', 'x', { limit: 3 }, ada);
    expect([1, 2, 3, 4].map(() => both('c', 'x').allowed)).toEqual([true, true, true, false]);
    control.set('carrier', { mode: 'off' }, ada);
    expect(both('c', 'x')).toMatchObject({
      allowed: true,
      binding: { limiter: 'customer' },
      decisions: { carrier: { outcome: 'skipped' } },
    });
  });

  it('charges none where one key is blocked', () => {
    const { control, limiters, both } = several();
    control.block('carrier', 'x', ada);
    expect(both('c', 'x')).toMatchObject({ allowed: false, binding: { reason: 'blocked' } });
    expect(limiters.peek({ customer: 'c' }).decisions.customer.used).toBe(0);
  });

  it('passes over alternatives with a blocked key, and says which one it charged', () => {
    const { control, limiters } = several();
    const alternatives = ['x', 'y', 'z'].map((carrier) => ({ customer: 'c', carrier }));
    control.block('carrier', 'x', ada);
    const first = limiters.consumeFirst(alternatives);
    expect(first).toMatchObject({ allowed: true, alternative: 1 });
    expect(limiters.peek({ carrier: 'y' }).decisions.carrier.used).toBe(1);
    expect(limiters.refund(first)).toBe(true);
    control.allow('carrier', 'z', ada);
    control.block('carrier', 'y', { ...ada, for: '1m' });
    expect(limiters.consumeFirst(alternatives)).toMatchObject({
      alternative: 2,
      decisions: { carrier: { outcome: 'skipped' }, customer: { outcome: 'allowed' } },
    });
    control.block('carrier', 'z', ada);
    const none = limiters.consumeFirst(alternatives);
    expect(none).toMatchObject({ allowed: false, alternative: -1, binding: { reason: 'blocked' } });
    // Of the blocked ones, the one whose block ends first.
    expect(none.binding.retryAfterMs).toBeLessThanOrEqual(60_000);
    control.block('customer', 'c', ada);
    expect(limiters.consumeFirst(alternatives).allowed).toBe(false);
  });

  it('takes the first alternative in shadow, whatever it has used', () => {
    const { control, limiters } = several();
    const alternatives = ['x', 'y'].map((carrier) => ({ customer: 'c', carrier }));
    control.set('*', { mode: 'shadow' }, ada);
    const taken = [1, 2, 3, 4].map(() => limiters.consumeFirst(alternatives).alternative);
    expect(taken).toEqual([0, 0, 0, 0]);
  });

  it('takes the first alternative in shadow when the store fails too', async () => {
    const control = memoryControl();
    const down: Store = remoteStore({
      sync: false,
      apply: () => Promise.reject(new Error('down')),
    });
    const settings = { store: down, control, onStoreError: 'deny', logger: false } as const;
    const limiters = createLimiters({ customer: numbers, carrier: numbers }, settings);
    const alternatives = ['x', 'y'].map((carrier) => ({ customer: 'c', carrier }));
    expect(await limiters.consumeFirst(alternatives)).toMatchObject({ alternative: -1 });
    control.set('*', { mode: 'shadow' }, ada);
    const taken = await limiters.consumeFirst(alternatives);
    expect(taken).toMatchObject({ allowed: true, alternative: 0 });
  });
});
