/** Windows that begin with a key's first charge, as apps ask for them. */

import {
  createGuard,
  createLimiter,
  createLimiters,
  fixedWindow,
  memoryControl,
  memoryStore,
  rateLimit,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { setUp } from './guard-set-up.js';

const three = {
  name: 'three',
  limit: 3,
  window: '10s',
  algorithm: fixedWindow,
  anchor: 'first-request',
} as const;

/** Four seconds after a window of ten seconds of the epoch has begun. */
const START_US = 1_767_225_604_000_000;

describe('a fixed window from the first request', () => {
  it('lasts one window, and the next window starts with a later request', () => {
    const clock = new ManualClock(START_US);
    const store = memoryStore({ clock });
    const limiter = createLimiter(three, { store });
    const aligned = createLimiter({ ...three, name: 'aligned', anchor: 'epoch' }, { store });
    const rows = [0, 4, 8, 9, 10, 13, 27].map((second) => {
      clock.setUs(START_US + second * 1_000_000);
      const { allowed, remaining, retryAfterMs, resetMs } = limiter.consume('ada');
      const other = aligned.consume('ada');
      return [second, allowed, remaining, retryAfterMs, resetMs, other.allowed, other.remaining];
    });
    expect(rows).toEqual([
      [0, true, 2, 0, 10_000, true, 2],
      [4, true, 1, 0, 6_000, true, 1],
      [8, true, 0, 2_000, 2_000, true, 2],
      [9, false, 0, 1_000, 1_000, true, 1],
      [10, true, 2, 0, 10_000, true, 0],
      [13, true, 1, 0, 7_000, false, 0],
      [27, true, 2, 0, 10_000, true, 2],
    ]);
  });

  it('is another count than windows of the epoch, and epoch is the default', () => {
    const clock = new ManualClock(START_US);
    const store = memoryStore({ clock });
    const aligned = createLimiter({ ...three, name: 'aligned', anchor: 'epoch' }, { store });
    const plain = createLimiter({ ...three, name: 'plain', anchor: undefined }, { store });
    const anchored = createLimiter(three, { store });
    expect(plain.rule).toMatchObject({ code: aligned.rule.code, kind: 'fixed' });
    expect(anchored.rule).toMatchObject({ kind: 'anchored' });
    expect(anchored.rule.code).not.toBe(aligned.rule.code);
    expect(aligned.consume('ada').resetMs).toBe(6_000);
    expect(anchored.consume('ada').resetMs).toBe(10_000);
  });

  it('begins anew after all of it was refunded, and not after a part', () => {
    const clock = new ManualClock(START_US);
    const limiter = createLimiter(three, { store: memoryStore({ clock }) });
    const [first, second] = [limiter.consume('ada'), limiter.consume('bob', { cost: 2 })];
    clock.advance('4s');
    expect([limiter.refund(first), limiter.refund(second, { cost: 1 })]).toEqual([true, true]);
    expect(limiter.consume('ada').resetMs).toBe(10_000);
    expect(limiter.consume('bob').resetMs).toBe(6_000);
    clock.advance('10s');
    expect(limiter.refund(limiter.consume('ada'))).toBe(true);
  });

  it('is one of several limits of one decision', () => {
    const clock = new ManualClock(START_US);
    const { name: _, ...numbers } = three;
    const limits = createLimiters(
      { customer: numbers, carrier: { limit: 9, window: '10s' } },
      { store: memoryStore({ clock }) },
    );
    limits.consume({ customer: 'c', carrier: 'x' });
    clock.advance('4s');
    const { decisions } = limits.consume({ customer: 'c', carrier: 'x' }, { cost: 2 });
    expect(decisions.customer).toMatchObject({ remaining: 0, resetMs: 6_000 });
  });

  it('keeps its begin when the limit is changed live, and begins another with another window', async () => {
    const control = memoryControl();
    const { admit, clock } = setUp(rateLimit(three), { control });
    const told = () => admit().decisions[0];
    told();
    clock.advance('4s');
    await control.set('three', { limits: { limit: 5 } }, { by: 'ada', because: 'a test' });
    expect(told()).toMatchObject({ remaining: 3, resetMs: 6_000 });
    await control.set('three', { limits: { window: '20s' } }, { by: 'ada', because: 'a test' });
    expect(told()).toMatchObject({ remaining: 2, resetMs: 20_000 });
  });

  it('is refused from memory until its end, and admits then', async () => {
    const clock = new ManualClock(START_US);
    const memory = memoryStore({ clock });
    let calls = 0;
    const store = remoteStore({
      sync: false as const,
      testClock: clock,
      apply: async (steps: Parameters<typeof memory.apply>[0]) => {
        calls += 1;
        return memory.apply(steps);
      },
    });
    const guard = createGuard(rateLimit({ ...three, limit: 1 }), { store, clock });
    const wait = async () => (await guard.admit(request())).decisions[0]?.retryAfterMs;
    expect([await wait(), await wait()]).toEqual([10_000, 10_000]);
    clock.advance(9_999.999);
    expect(await wait()).toBe(0.001);
    expect(calls).toBe(2);
    clock.advance(0.001);
    expect((await guard.admit(request())).allowed).toBe(true);
    expect(calls).toBe(3);
  });
});
