/**
 * Limits without HTTP decide like guards: live settings are read once, observers are called, modes and shares apply.
 */

import {
  type Control,
  createGuard,
  createLimiter,
  createLimiters,
  type Decision,
  type DecisionEvent,
  type Fault,
  memoryStore,
  rateLimit,
} from '@spillway/core';
import { Tally } from '@spillway/core/adapter';
import { liveControl } from '@spillway/core/control';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { Remote } from './refusals-set-up.js';

const calls = { name: 'calls', limit: 2, window: '1h' } as const;
const both = {
  customer: { limit: 10, window: '1h' },
  carrier: { limit: 2, window: '1h' },
} as const;

/** A control without settings, and how often it was asked for the settings of each limiter. */
function counting() {
  const reads: string[] = [];
  const control: Control = liveControl({
    settingsOf(limiter) {
      reads.push(limiter);
      return { mode: 'enforce', limits: { limit: 5 } } as const;
    },
    overrideOf: () => undefined,
  });
  return { control, reads: () => reads.splice(0) };
}

describe('live settings are read once for each limit and decision', () => {
  it('of a guard', async () => {
    const { control, reads } = counting();
    const guard = createGuard(rateLimit(calls), { store: memoryStore(), control });
    await guard.admit(request());
    expect(reads()).toEqual(['calls']);
  });

  it('of createLimiter', () => {
    const { control, reads } = counting();
    const limiter = createLimiter(calls, { store: memoryStore(), control });
    const of = (act: () => unknown) => {
      act();
      return reads();
    };
    expect(of(() => limiter.consume('ada'))).toEqual(['calls']);
    expect(of(() => limiter.peek('ada'))).toEqual(['calls']);
    expect(of(() => limiter.consumeAll(['ada', 'bob']))).toEqual(['calls']);
    expect(of(() => limiter.record(['ada', 'bob']))).toEqual(['calls']);
    expect(of(() => limiter.peek(['ada', 'bob', 'eve']))).toEqual(['calls']);
  });

  it('of createLimiters, also where alternatives are tried', () => {
    const { control, reads } = counting();
    const limiters = createLimiters(both, { store: memoryStore(), control });
    const via = (carrier: string) => ({ customer: 'c1', carrier });
    limiters.consume(via('x'), { cost: { carrier: 5 } });
    expect(reads()).toEqual(['customer', 'carrier']);
    expect(limiters.consumeFirst([via('x'), via('y')])).toMatchObject({ alternative: 1 });
    expect(reads()).toEqual(['customer', 'carrier']);
  });

  it('so that one decision follows from one state, though the control says something else meanwhile', () => {
    const says = [{ mode: 'enforce' }, { mode: 'shadow' }, { mode: 'off' }] as const;
    let at = 0;
    const control = liveControl({
      settingsOf: () => says[at++ % 3],
      overrideOf: () => undefined,
    });
    const limiter = createLimiter({ ...calls, limit: 1 }, { store: memoryStore(), control });
    const outcomes = [1, 2, 3, 4, 5].map(() => limiter.consume('ada').outcome);
    expect(outcomes).toEqual(['allowed', 'would-deny', 'skipped', 'denied', 'would-deny']);
  });
});

function observed() {
  const events: [DecisionEvent, string | undefined, unknown][] = [];
  const tally = new Tally();
  const faults: Fault[] = [];
  const settings = {
    observers: [tally],
    onDecision: (event: DecisionEvent, key: string | undefined, ...others: unknown[]) =>
      events.push([event, key, others[0]]),
    onFault: (fault: Fault) => faults.push(fault),
  };
  const told = () =>
    events.splice(0).map(([{ limiter, outcome }, key]) => `${limiter} ${key} ${outcome}`);
  const counted = () =>
    tally.decisions().map(({ labels, value }) => [labels.limiter, labels.outcome, value]);
  return { settings, events, told, counted, faults };
}

describe('observers', () => {
  it('are told of each decision with what the caller gets, its mode and its key, and of no request', () => {
    const { settings, events } = observed();
    const limiter = createLimiter(calls, settings);
    const { policy, ...decision } = limiter.consume('ada');
    expect(events).toEqual([
      [expect.objectContaining({ ...decision, mode: 'enforce' }), 'ada', undefined],
    ]);
    expect(events[0]?.[0].policy).toBe(policy);
  });

  it('are told of every call but peek, once for each key', () => {
    const { settings, told, counted } = observed();
    const limiter = createLimiter(calls, settings);
    limiter.consumeAll(['ada', 'bob', 'ada']);
    expect(told()).toEqual(['calls ada allowed', 'calls bob allowed']);
    limiter.consume('ada');
    expect(told()).toEqual(['calls ada denied']);
    limiter.record('ada');
    expect(told()).toEqual(['calls ada denied']);
    limiter.peek('ada');
    limiter.peek(['ada', 'bob']);
    limiter.reset('ada');
    limiter.refund(limiter.consume('ada'));
    expect(told()).toEqual(['calls ada allowed']);
    expect(counted()).toEqual([
      ['calls', 'allowed', 3],
      ['calls', 'denied', 2],
    ]);
  });

  it('are told of each limit of a group, and of each alternative that was tried', () => {
    const { settings, told } = observed();
    const limiters = createLimiters(both, settings);
    limiters.consume({ customer: 'c1', carrier: 'x' }, { cost: 2 });
    expect(told()).toEqual(['customer c1 allowed', 'carrier x allowed']);
    limiters.consumeFirst([
      { customer: 'c1', carrier: 'x' },
      { customer: 'c1', carrier: 'y' },
    ]);
    expect(told()).toEqual([
      'customer c1 allowed',
      'carrier x denied',
      'customer c1 allowed',
      'carrier y allowed',
    ]);
  });

  it('are told of decisions that need no store, and of those that it could not make', async () => {
    const { settings, told, faults } = observed();
    const store = remoteStore(new Remote());
    const options = { ...settings, store, breaker: false } as const;
    const limiter = createLimiter({ ...calls, limit: 1 }, options);
    await limiter.consume('ada');
    await limiter.consume('ada');
    store.apply = () => Promise.reject(new Error('down'));
    await limiter.consume('ada');
    expect(told()).toEqual(['calls ada allowed', 'calls ada denied', 'calls ada denied']);
    expect(faults).toEqual([]);
    await limiter.consumeAll(['bob', 'eve']);
    expect(told()).toEqual(['calls bob error', 'calls eve error']);
    expect(faults).toMatchObject([
      { limiter: 'calls', source: 'store', error: { message: 'down' } },
    ]);
  });

  it('may fail without failing the decision', () => {
    const faults: Fault[] = [];
    const limiter = createLimiter(calls, {
      onDecision: () => {
        throw new Error('no');
      },
      onFault: (fault) => faults.push(fault),
    });
    expect(limiter.consume('ada').allowed).toBe(true);
    expect(faults).toMatchObject([{ source: 'observer', error: { message: 'no' } }]);
  });

  it.each([
    [{ observers: [{}] }, 'each of observers must be an object with one of onDecision'],
    [{ onDecision: 1 }, 'onDecision must be a function'],
    [{ onFault: 'log' }, 'onFault must be a function'],
  ])('must be observers: %j', (settings, message) => {
    expect(() => createLimiter(calls, settings as never)).toThrow(message);
    expect(() => createLimiters(both, settings as never)).toThrow(message);
  });
});

describe('modes and shares', () => {
  const consume = (options: object, count = 4): readonly Decision[] => {
    const limiter = createLimiter({ ...calls, ...options });
    return Array.from({ length: count }, () => limiter.consume('ada'));
  };

  it('shadow counts and rejects nobody', () => {
    const outcomes = consume({ mode: 'shadow' }).map(({ outcome, allowed }) => [outcome, allowed]);
    expect(outcomes).toEqual([
      ['allowed', true],
      ['allowed', true],
      ['would-deny', true],
      ['would-deny', true],
    ]);
  });

  it('off counts nothing, and still throws for a mistake', () => {
    const limiter = createLimiter({ ...calls, mode: 'off' });
    expect(limiter.consume('ada')).toMatchObject({ outcome: 'skipped', allowed: true });
    expect(() => limiter.consume('')).toThrow('SPW_KEY_INVALID');
    expect(limiter.refund(limiter.consume('ada'))).toBe(false);
  });

  it('enforces for the same share of keys as a guard with the same limit', async () => {
    const store = memoryStore({ clock: new ManualClock() });
    const limit = { ...calls, limit: 1, share: 0.3 };
    const limiter = createLimiter(limit, { store });
    const guard = createGuard(rateLimit({ ...limit, key: ({ path }) => path }), { store });
    const keys = Array.from({ length: 300 }, (_, at) => `/${at}`);
    for (const key of keys) limiter.consume(key);
    const here = keys.filter((key) => !limiter.consume(key).allowed);
    expect(here.length).toBeGreaterThan(60);
    expect(here.length).toBeLessThan(120);
    const there = [];
    for (const path of keys) {
      if (!(await guard.admit(request({ path }))).allowed) there.push(path);
    }
    expect(there).toEqual(here);
  });

  it('in a group, what is in shadow does not reject it', () => {
    const limiters = createLimiters({ ...both, carrier: { ...both.carrier, mode: 'shadow' } });
    const keys = { customer: 'c1', carrier: 'x' };
    for (let i = 0; i < 3; i += 1) expect(limiters.consume(keys).allowed).toBe(true);
    expect(limiters.peek(keys).decisions).toMatchObject({
      customer: { used: 3 },
      carrier: { used: 2, outcome: 'would-deny' },
    });
  });

  it.each([
    [{ mode: 'dark' }, 'mode must be one of enforce, shadow, off'],
    [{ mode: () => 'off' }, 'mode must be one of enforce, shadow, off'],
    [{ share: 1.5 }, 'share must be'],
  ])('must be valid: %j', (options, message) => {
    expect(() => createLimiter({ ...calls, ...options } as never)).toThrow(message);
    const limits = { carrier: { ...both.carrier, ...options } };
    expect(() => createLimiters(limits as never)).toThrow(message);
  });
});

it('a group that is rejected gives nothing back, though some of it passed', () => {
  const limiters = createLimiters(both);
  const keys = { customer: 'c1', carrier: 'x' };
  const rejected = limiters.consume(keys, { cost: { carrier: 3 } });
  expect(rejected.allowed).toBe(false);
  expect(rejected.decisions.customer).toMatchObject({ allowed: true, used: 0 });
  expect(limiters.refund(rejected)).toBe(false);
});
