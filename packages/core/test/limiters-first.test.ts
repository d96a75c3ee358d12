/** Alternatives that are tried one after another. */

import {
  type AlternativeDecision,
  createLimiters,
  fixedWindow,
  memoryStore,
  type Store,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { Remote } from './refusals-set-up.js';

const rules = {
  customer: { limit: 10, window: '100s' },
  carrier: { limit: 2, window: '2s' },
} as const;

function setUp() {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const limiters = createLimiters(rules, { store });
  const fill = (carrier: string, cost = 2) => limiters.record({ carrier }, { cost });
  const used = (...carriers: string[]) =>
    carriers.map((carrier) => limiters.peek({ carrier }).decisions.carrier.used);
  return { clock, store, limiters, fill, used };
}

const via = (carrier: string, customer = 'c1') => ({ customer, carrier });
const all = [via('x'), via('y'), via('z')];

describe('consumeFirst', () => {
  it('charges the first alternative while that passes', () => {
    const { limiters, used } = setUp();
    const sent = limiters.consumeFirst(all);
    expectTypeOf(sent).toEqualTypeOf<AlternativeDecision<'customer' | 'carrier'>>();
    expect(sent).toMatchObject({
      allowed: true,
      alternative: 0,
      decisions: { customer: { used: 1 }, carrier: { used: 1, remaining: 1 } },
    });
    expect(sent.binding).toBe(sent.decisions.carrier);
    expect(used('x', 'y', 'z')).toEqual([1, 0, 0]);
  });

  it('charges the next where one refuses, what both name once, and no other', () => {
    const { limiters, fill, used } = setUp();
    fill('x');
    expect(limiters.consumeFirst(all)).toMatchObject({ alternative: 1, allowed: true });
    fill('y');
    expect(limiters.consumeFirst(all)).toMatchObject({
      alternative: 2,
      decisions: { customer: { used: 2 }, carrier: { used: 1 } },
    });
    expect(used('x', 'y', 'z')).toEqual([2, 2, 1]);
  });

  it('asks the store once for each alternative until one passes', () => {
    const { store, limiters, fill } = setUp();
    fill('x');
    const apply = vi.spyOn(store, 'apply');
    limiters.refund(limiters.consumeFirst(all));
    expect(apply.mock.calls.map(([steps]) => steps.map(({ op, key }) => `${op} ${key}`))).toEqual([
      ['take c1', 'take x'],
      ['take c1', 'take y'],
      ['put c1', 'put y'],
    ]);
  });

  it('does not ask for an alternative that is known to be rejected', async () => {
    const store = remoteStore(new Remote());
    const limiters = createLimiters(rules, { store });
    for (const carrier of ['x', 'y'])
      await limiters.consume(via(carrier), { cost: { carrier: 2 } });
    expect(await limiters.consume(via('x'))).toMatchObject({ allowed: false });
    const apply = vi.spyOn(store, 'apply');
    expect(await limiters.consumeFirst(all)).toMatchObject({ alternative: 2 });
    expect(apply).toHaveBeenCalledTimes(2);
    expect(await limiters.consumeFirst([via('x'), via('y')])).toMatchObject({
      alternative: -1,
      binding: { limiter: 'carrier', outcome: 'denied', reason: 'rate' },
    });
    expect(apply).toHaveBeenCalledTimes(2);
  });

  it('never charges more than it says, whoever else asks meanwhile', async () => {
    const store = remoteStore(new Remote());
    const limiters = createLimiters(rules, { store });
    const sent = await Promise.all(Array.from({ length: 9 }, () => limiters.consumeFirst(all)));
    expect(sent.map(({ alternative }) => alternative)).toEqual([0, 0, 1, 1, 2, 2, -1, -1, -1]);
    expect((await limiters.peek({ customer: 'c1' })).decisions.customer.used).toBe(6);
  });

  it('tells of the first of those that pass soonest', () => {
    const { store } = setUp();
    const windows = createLimiters(
      { window: { limit: 3, window: '1m', algorithm: fixedWindow } },
      { store },
    );
    windows.record({ window: 'x' }, { cost: 3 });
    windows.record({ window: 'y' }, { cost: 2 });
    const refused = windows.consumeFirst([{ window: 'x' }, { window: 'y' }], { cost: 2 });
    expect(refused).toMatchObject({ alternative: -1, decisions: { window: { used: 3 } } });
  });

  it('tells of an alternative whose wait is known, rather than of one whose store is down', async () => {
    const { store: memory, fill } = setUp();
    fill('y');
    const store: Store = remoteStore({
      sync: false,
      domainOf: ({ key }) => key,
      apply: async (steps) => {
        if (steps.some(({ key }) => key === 'x')) throw new Error('down');
        return memory.apply(steps);
      },
    });
    const options = { store, onStoreError: 'deny', breaker: false, logger: false } as const;
    const limiters = createLimiters({ carrier: rules.carrier }, options);
    expect(await limiters.consumeFirst([{ carrier: 'x' }, { carrier: 'y' }])).toMatchObject({
      alternative: -1,
      binding: { outcome: 'denied', retryAfterMs: 1000 },
    });
  });

  it('tells of the alternative that passes soonest if none does, and charges nothing', () => {
    const { clock, limiters, fill, used } = setUp();
    fill('x');
    clock.advance(300);
    fill('y');
    fill('z');
    const refused = limiters.consumeFirst(all);
    expect(refused).toMatchObject({
      allowed: false,
      alternative: -1,
      decisions: { customer: { allowed: true, used: 0 } },
      binding: { limiter: 'carrier', reason: 'rate', retryAfterMs: 700 },
    });
    expect(refused.binding).toBe(refused.decisions.carrier);
    clock.advance(699.999);
    expect(limiters.consumeFirst(all).allowed).toBe(false);
    clock.advance(0.001);
    expect(limiters.consumeFirst(all)).toMatchObject({ alternative: 0 });
    expect(used('y', 'z')).toEqual([2, 2]);
  });

  it('waits for no limit in shadow mode', () => {
    const { clock, store } = setUp();
    const limits = {
      carrier: rules.carrier,
      trial: { limit: 1, window: '100s', mode: 'shadow' },
    } as const;
    const limiters = createLimiters(limits, { store });
    const ways = [
      { carrier: 'x', trial: 'x' },
      { carrier: 'y', trial: 'y' },
    ];
    limiters.record({ carrier: 'x', trial: 'x' }, { cost: { carrier: 2 } });
    clock.advance(300);
    limiters.record({ carrier: 'y' }, { cost: 2 });
    expect(limiters.consumeFirst(ways)).toMatchObject({
      alternative: -1,
      decisions: { trial: { outcome: 'would-deny' } },
      binding: { limiter: 'carrier', retryAfterMs: 700 },
    });
  });

  it('waits for what is common if that is longer', () => {
    const { clock, limiters, fill, used } = setUp();
    limiters.record({ customer: 'c1' }, { cost: 10 });
    fill('x');
    const refused = limiters.consumeFirst(all);
    expect(refused).toMatchObject({ allowed: false, alternative: -1 });
    expect(refused.binding).toMatchObject({ limiter: 'customer', retryAfterMs: 10_000 });
    expect(used('y')).toEqual([0]);
    clock.advance('10s');
    expect(limiters.consumeFirst(all).allowed).toBe(true);
  });

  it('gives back what it charged', () => {
    const { limiters, fill, used } = setUp();
    fill('x');
    const sent = limiters.consumeFirst(all);
    expect(limiters.refund(sent)).toBe(true);
    expect(limiters.refund(sent)).toBe(false);
    expect(used('x', 'y')).toEqual([2, 0]);
    expect(limiters.peek({ customer: 'c1' }).decisions.customer.used).toBe(0);
    fill('y');
    fill('z');
    expect(limiters.refund(limiters.consumeFirst(all))).toBe(false);
  });

  it('takes costs as consume does', () => {
    const { limiters, fill } = setUp();
    fill('x', 1);
    expect(limiters.consumeFirst(all, { cost: { carrier: 2 } })).toMatchObject({
      alternative: 1,
      decisions: { customer: { used: 1 }, carrier: { used: 2 } },
    });
    expect(limiters.consumeFirst(all, { cost: 3 })).toMatchObject({
      alternative: -1,
      binding: { reason: 'never', retryAfterMs: Infinity },
    });
  });

  it('takes alternatives that have nothing in common, or are one, or are the same', () => {
    const { limiters } = setUp();
    const different = [via('x', 'c1'), via('y', 'c2')];
    limiters.consumeFirst(different, { cost: { carrier: 2 } });
    expect(limiters.consumeFirst(different)).toMatchObject({
      alternative: 1,
      decisions: { customer: { used: 1 } },
    });
    expect(limiters.consumeFirst([via('x')])).toMatchObject({ allowed: false, alternative: -1 });
    expect(limiters.consumeFirst([via('z'), via('z')])).toMatchObject({
      alternative: 0,
      decisions: { carrier: { used: 1 } },
    });
  });

  it('asks one limit by keys in order of preference', () => {
    const { limiters, fill } = setUp();
    fill('x');
    const sent = limiters.consumeFirst([{ carrier: 'x' }, { carrier: 'y' }]);
    expect(sent).toMatchObject({ alternative: 1, decisions: { carrier: { used: 1 } } });
  });

  it('answers later with a store that does', async () => {
    const limiters = createLimiters(rules, { store: remoteStore(new Remote()) });
    await limiters.record({ carrier: 'x' }, { cost: 2 });
    const sent = await limiters.consumeFirst(all);
    expect(sent).toMatchObject({ alternative: 1, allowed: true });
    expect(await limiters.refund(sent)).toBe(true);
  });

  it.each([
    ['allow', 0, true],
    ['deny', -1, false],
  ] as const)(
    'in an outage is what onStoreError says: %s',
    async (policy, alternative, allowed) => {
      const store: Store = remoteStore({
        sync: false,
        apply: () => Promise.reject(new Error('down')),
      });
      const options = { store, onStoreError: policy, logger: false, breaker: false } as const;
      const sent = await createLimiters(rules, options).consumeFirst(all);
      expect(sent).toMatchObject({ alternative, allowed, binding: { outcome: 'error' } });
    },
  );

  it('in an outage goes on in this process with what it has charged', async () => {
    const store = remoteStore(new Remote());
    const limiters = createLimiters(rules, { store, logger: false });
    const { carrier } = (await limiters.consumeFirst(all)).decisions;
    expect(carrier).toMatchObject({ outcome: 'allowed', used: 1 });
    store.apply = () => Promise.reject(new Error('down'));
    const taken = [];
    for (let i = 0; i < 6; i += 1) taken.push(await limiters.consumeFirst(all));
    expect(taken.map(({ alternative }) => alternative)).toEqual([0, 1, 1, 2, 2, -1]);
    expect(taken[5]?.decisions.customer).toMatchObject({ outcome: 'error', used: 6 });
    expect(await limiters.refund(taken[2] as (typeof taken)[0])).toBe(true);
    expect(await limiters.consumeFirst(all)).toMatchObject({ alternative: 1 });
  });

  it.each([
    [undefined, 'SPW_ALTERNATIVES_INVALID'],
    [[], 'SPW_ALTERNATIVES_INVALID'],
    [via('x'), 'SPW_ALTERNATIVES_INVALID'],
    [[via('x'), undefined], 'SPW_KEY_INVALID'],
    [Object.assign([via('x')], { length: 2 }), 'SPW_KEY_INVALID'],
    [[via('x'), { customer: 'c1', carier: 'y' }], 'SPW_KEY_INVALID'],
    [[via('x'), { customer: 'c1', carrier: '' }], 'SPW_KEY_INVALID'],
  ])('throws for alternatives of %j', (alternatives, code) => {
    expect(() => setUp().limiters.consumeFirst(alternatives as never)).toThrow(code);
  });

  it('takes keys that are the same in some alternatives only', () => {
    const { limiters, fill } = setUp();
    fill('x');
    const given = [via('x'), via('x', 'c2'), via('y', 'c2')];
    expect(limiters.consumeFirst(given)).toMatchObject({ alternative: 2 });
  });

  it('throws where alternatives do not name the same limits', () => {
    const given = [via('x'), { customer: 'c1' }] as never;
    expect(() => setUp().limiters.consumeFirst(given)).toThrow(
      'all alternatives must name the same limits: the first names customer, carrier, number 2 customer (SPW_ALTERNATIVES_INVALID)',
    );
  });

  it('takes 1,000 alternatives', () => {
    const { limiters, fill } = setUp();
    const carriers = Array.from({ length: 1_000 }, (_, at) => via(`carrier-${at}`));
    for (const { carrier } of carriers.slice(0, -1)) fill(carrier);
    expect(limiters.consumeFirst(carriers)).toMatchObject({ alternative: 999 });
    for (const { carrier } of carriers.slice(-1)) fill(carrier);
    expect(limiters.consumeFirst(carriers)).toMatchObject({ alternative: -1 });
  });

  it('reads none of more than 1,000 alternatives', () => {
    let read = 0;
    const counted = new Proxy(via('x'), {
      ownKeys(target) {
        read += 1;
        return Reflect.ownKeys(target);
      },
    });
    const carriers = Array.from({ length: 1_001 }, () => counted);
    expect(() => setUp().limiters.consumeFirst(carriers)).toThrow(/SPW_GROUP_TOO_LARGE/);
    expect(read).toBe(0);
  });
});
