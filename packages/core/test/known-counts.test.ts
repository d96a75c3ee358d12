/** A reset deletes a key in every count of its limiter, whatever numbers it was counted under. */

import {
  createGuard,
  createLimiter,
  fixedWindow,
  memoryControl,
  memoryStore,
  rateLimit,
  type Step,
} from '@spillway/core';
import { liveControl } from '@spillway/core/control';
import { KnownCounts, makeRule } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';

const MINUTE = 60_000_000;
const bucket = makeRule('token-bucket', 1, MINUTE);
const window = makeRule('sliding-window-counter', 1, MINUTE);
const log = makeRule('sliding-window-log', 1, MINUTE);

function step(op: Step['op'], rule = bucket, other: Partial<Step> = {}): Step {
  return { op, limiter: 'api', key: 'ada', rule, cost: 1, binding: true, ...other };
}

describe('a reset in the memory store', () => {
  it('forgets the key in all counts of the limiter that were registered, and in no other', () => {
    const store = memoryStore({ clock: new ManualClock() });
    const passes = (of: Step) => store.apply([of])[0]?.allowed;
    for (const rule of [bucket, window]) store.register?.('api', rule);
    store.register?.('other', log);
    for (const rule of [bucket, window, log]) expect(passes(step('take', rule))).toBe(true);
    expect(passes(step('take', window, { key: 'bob' }))).toBe(true);
    store.apply([step('reset', bucket)]);
    expect(passes(step('look', bucket))).toBe(true);
    expect(passes(step('look', window))).toBe(true);
    expect(passes(step('look', log))).toBe(false);
    expect(passes(step('look', window, { key: 'bob' }))).toBe(false);
  });

  it('does so in a group too', () => {
    const store = memoryStore({ clock: new ManualClock() });
    for (const rule of [bucket, window]) store.register?.('api', rule);
    store.apply([step('take', window)]);
    store.apply([step('take', bucket, { key: 'bob' }), step('reset', bucket)]);
    expect(store.apply([step('look', window)])[0]?.allowed).toBe(true);
  });
});

describe('a limiter', () => {
  it('resets what was counted under limits that were set live or given by a function', () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const control = memoryControl({ clock });
    const key = () => 'ada';
    const declared = { name: 'api', limit: 1, window: '1m', algorithm: fixedWindow } as const;
    const guard = createGuard(rateLimit({ ...declared, key }), { store, control });
    const admit = () => (guard.admit(request()) as { allowed: boolean }).allowed;
    const limiter = createLimiter(declared, { store });
    control.set('api', { limits: { window: '1h' } }, { by: 'ada', because: 'a test' });
    expect([admit(), admit()]).toEqual([true, false]);
    limiter.reset('ada');
    expect([admit(), admit()]).toEqual([true, false]);
    control.limitKey('api', 'ada', { window: '2h' }, { by: 'ada', because: 'a test' });
    expect([admit(), admit()]).toEqual([true, false]);
    limiter.reset('ada');
    expect([admit(), admit()]).toEqual([true, false]);
  });

  it('is made known to the control by name, with its rule if it keeps counts', () => {
    const told: unknown[] = [];
    const control = liveControl({
      settingsOf: () => undefined,
      overrideOf: () => undefined,
      register: (...args: unknown[]) => void told.push(args),
    });
    const api = rateLimit({ name: 'api', limit: 1, window: '1m' });
    const own = { kind: 'local', name: 'own', mode: 'off', decide: () => ({}) as never } as const;
    createGuard([api, own], { control });
    expect(told).toEqual([
      ['api', api.rule],
      ['own', undefined],
    ]);
  });
});

describe('what is known of the counts of a limiter', () => {
  it('is at most 64 rules: the declared one, and the latest others', () => {
    const known = new KnownCounts();
    const rule = (i: number) => makeRule('fixed-window', 1, 1_000 + i);
    for (let i = 0; i < 1_000; i += 1) known.note('api', rule(i));
    const [[, rules] = []] = known.entries();
    expect(rules).toHaveLength(64);
    expect(rules?.[0]).toEqual(rule(0));
    expect(rules?.[1]).toEqual(rule(1_000 - 63));
  });

  it('is of at most 1,000 limiters, those noted last', () => {
    const known = new KnownCounts();
    for (let i = 0; i < 2_000; i += 1) known.note(`limiter ${i}`, bucket);
    expect([...known.entries()]).toHaveLength(1_000);
    expect(known.otherResets(step('reset', log, { limiter: 'limiter 999' }))).toEqual([]);
  });
});
