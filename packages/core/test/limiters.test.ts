/** Several limits decided together: consume, record, peek and refund. */

import {
  createLimiter,
  createLimiters,
  type Decision,
  type LimitersDecision,
  memoryStore,
  type Store,
  slidingLog,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { Remote } from './refusals-set-up.js';

const rules = {
  customer: { limit: 10, window: '10s' },
  carrier: { limit: 3, window: '1s', algorithm: slidingLog },
} as const;

function setUp() {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  return { clock, store, limiters: createLimiters(rules, { store }) };
}

const keys = { customer: 'c1', carrier: 'x' };

describe('createLimiters', () => {
  it('decides about limits with different numbers and keys at once', () => {
    const { limiters } = setUp();
    const sent = limiters.consume(keys);
    expect(sent).toMatchObject({
      allowed: true,
      decisions: {
        customer: { limiter: 'customer', allowed: true, used: 1, remaining: 9 },
        carrier: { limiter: 'carrier', allowed: true, used: 1, remaining: 2 },
      },
    });
    expect(sent.binding).toBe(sent.decisions.carrier);
    expect(Object.keys(sent.decisions)).toEqual(['customer', 'carrier']);
  });

  it('charges all limits or none, and names the one that binds', () => {
    const { clock, limiters } = setUp();
    for (let i = 0; i < 3; i += 1) limiters.consume({ customer: 'c2', carrier: 'x' });
    const refused = limiters.consume(keys);
    expect(refused).toMatchObject({
      allowed: false,
      decisions: { customer: { allowed: true, remaining: 10 }, carrier: { allowed: false } },
    });
    expect(refused.binding).toBe(refused.decisions.carrier);
    expect(refused.binding).toMatchObject({ reason: 'rate', retryAfterMs: 1000 });
    expect(limiters.peek({ customer: 'c1' }).decisions.customer.used).toBe(0);
    clock.advance(refused.binding.retryAfterMs);
    expect(limiters.consume(keys).allowed).toBe(true);
  });

  it.each(['customer', 'carrier'])(
    'names a limit that the store has decided, not one that passes unasked: %s',
    async (lost) => {
      const memory = memoryStore({ clock: new ManualClock() });
      const store: Store = remoteStore({
        sync: false,
        domainOf: ({ limiter }) => limiter,
        apply: async (steps) => {
          if (steps.some(({ limiter }) => limiter === lost)) throw new Error('down');
          return memory.apply(steps);
        },
      });
      const options = { store, onStoreError: 'allow', breaker: false, logger: false } as const;
      const off = { ...rules, off: { ...rules.customer, mode: 'off' } } as const;
      const limiters = createLimiters(off, options);
      const known = lost === 'customer' ? 'carrier' : 'customer';
      const sent = await limiters.consume({ off: 'c1', ...keys });
      expect(sent).toMatchObject({
        allowed: true,
        binding: { limiter: known, outcome: 'allowed' },
      });
      const unknown = await limiters.consume({ [lost]: 'c1', off: 'c1' } as never);
      expect(unknown).toMatchObject({ allowed: true, binding: { outcome: 'error' } });
    },
  );

  it('takes a plan for each limit', () => {
    const { limiters } = setUp();
    const plan = { customer: { limit: 2, name: 'free' } };
    const sent = limiters.consume(keys, { plan });
    expect(sent.decisions).toMatchObject({
      customer: { remaining: 1, policy: { limit: 2, plan: 'free' } },
      carrier: { remaining: 2, policy: { limit: 3 } },
    });
    const alternatives = [keys, { customer: 'c2', carrier: 'y' }];
    const closed = { customer: { limit: 0 }, carrier: null };
    expect(limiters.consumeFirst(alternatives, { plan: closed })).toMatchObject({
      alternative: -1,
      binding: { limiter: 'customer', reason: 'never' },
    });
    expect(limiters.peek(keys, { plan }).decisions.customer.remaining).toBe(1);
    expect(limiters.record(keys, { plan, cost: 0 }).decisions.customer.policy?.limit).toBe(2);
    expect(limiters.refund(sent)).toBe(true);
    expect(limiters.peek(keys).decisions.customer.used).toBe(0);
  });

  it.each([
    ['of another limit', { customer: undefined, car: { limit: 3 } }],
    ['of no limit by its name', { limit: 3 }],
    ['that is a list', [{ limit: 3 }]],
    ['that is a name', 'paid'],
  ])('refuses a plan %s', (_, plan) => {
    const { limiters } = setUp();
    for (const ask of ['consume', 'peek', 'record'] as const) {
      expect(() => limiters[ask](keys, { plan } as never)).toThrow(
        /^plan must be .*SPW_OPTION_INVALID/,
      );
    }
    expect(() => limiters.consumeFirst([keys], { plan } as never)).toThrow('SPW_OPTION_INVALID');
    expect(limiters.peek(keys).decisions.customer.used).toBe(0);
  });

  it('asks the store once', () => {
    const { store, limiters } = setUp();
    const apply = vi.spyOn(store, 'apply');
    const sent = limiters.consume(keys);
    expect(apply).toHaveBeenCalledTimes(1);
    limiters.refund(sent);
    expect(apply).toHaveBeenCalledTimes(2);
  });

  it('asks those of its limits that are named', () => {
    const { limiters } = setUp();
    const sent = limiters.consume({ carrier: 'x' });
    expectTypeOf(sent).toEqualTypeOf<LimitersDecision<'carrier'>>();
    expect(Object.keys(sent.decisions)).toEqual(['carrier']);
    expect(limiters.peek(keys).decisions).toMatchObject({ customer: { used: 0 } });
  });

  it('counts under the names of the limits, which other limiters of the store may share', () => {
    const { store, limiters } = setUp();
    limiters.consume(keys);
    const customers = createLimiter({ name: 'customer', limit: 10, window: '10s' }, { store });
    expect(customers.peek('c1').used).toBe(1);
    expect(() => createLimiters({ customer: { limit: 9, window: '10s' } }, { store })).toThrow(
      /SPW_NAME_CONFLICT/,
    );
  });

  it('counts apart from others that have no store', () => {
    const clock = new ManualClock();
    const [one, other] = [createLimiters(rules, { clock }), createLimiters(rules, { clock })];
    one.consume(keys);
    expect(one.peek(keys).decisions.carrier.used).toBe(1);
    expect(other.peek(keys).decisions.carrier.used).toBe(0);
  });

  it('takes one cost for all, or one for each name', () => {
    const { limiters } = setUp();
    expect(limiters.consume(keys, { cost: 2 }).decisions).toMatchObject({
      customer: { cost: 2, used: 2 },
      carrier: { cost: 2, used: 2 },
    });
    expect(limiters.consume(keys, { cost: { customer: 5 } }).decisions).toMatchObject({
      customer: { cost: 5, used: 7 },
      carrier: { cost: 1, used: 3 },
    });
  });

  it('records without judging, and says what would have been', () => {
    const { limiters } = setUp();
    const said = [1, 2, 3, 4].map(() => limiters.record(keys).allowed);
    expect(said).toEqual([true, true, true, false]);
    expect(limiters.peek({ customer: 'c1' }).decisions.customer.used).toBe(4);
  });

  it('peeks without charging', () => {
    const { limiters } = setUp();
    for (let i = 0; i < 9; i += 1) expect(limiters.peek(keys, { cost: 3 }).allowed).toBe(true);
    expect(limiters.peek(keys, { cost: 4 })).toMatchObject({
      allowed: false,
      binding: { limiter: 'carrier', reason: 'never' },
    });
  });

  it('answers later with a store that does, also in an outage', async () => {
    const store = remoteStore(new Remote());
    const limiters = createLimiters(rules, { store, onStoreError: 'deny', logger: false });
    const sent = limiters.consume(keys);
    expectTypeOf(sent).toEqualTypeOf<Promise<LimitersDecision<'customer' | 'carrier'>>>();
    expect(await sent).toMatchObject({ allowed: true });
    expect(await limiters.refund(await sent)).toBe(true);
    expect(await limiters.refund(await sent)).toBe(false);
    store.apply = () => Promise.reject(new Error('down'));
    const failed = await limiters.consume(keys);
    expect(failed).toMatchObject({
      allowed: false,
      binding: { outcome: 'error', reason: 'store-error' },
    });
  });

  it('tells of a store that fails once for a call, and counts in this process if told so', async () => {
    const warn = vi.fn();
    const store: Store = remoteStore({
      sync: false,
      apply: () => Promise.reject(new Error('down')),
    });
    const local = createLimiters(rules, { store, localShare: 0.5, logger: { warn } });
    const said = [];
    for (let i = 0; i < 4; i += 1) said.push((await local.consume(keys)).allowed);
    expect(said).toEqual([true, true, true, false]);
    expect((await local.peek(keys)).decisions.customer).toMatchObject({
      outcome: 'error',
      used: 3,
      resetMs: expect.closeTo(6000, -3),
    });
    expect(warn.mock.calls.length).toBeLessThanOrEqual(2);
  });

  it('has limits of any name that a limit may have', () => {
    const names = ['__proto__', 'constructor', 'a b'];
    const limits = Object.fromEntries(names.map((name) => [name, rules.customer]));
    const limiters = createLimiters(limits, { clock: new ManualClock() });
    const all = Object.fromEntries(names.map((name) => [name, 'k']));
    const { decisions } = limiters.consume(all);
    expect(Object.keys(decisions)).toEqual(names);
    expect(Object.values(decisions).map(({ limiter }) => limiter)).toEqual(names);
  });
});

describe('refund of several limits', () => {
  it('gives back what a decision charged, once', () => {
    const { limiters } = setUp();
    const sent = limiters.consume(keys, { cost: 2 });
    limiters.consume(keys);
    expect(limiters.refund(sent)).toBe(true);
    expect(limiters.refund(sent)).toBe(false);
    const { customer, carrier } = limiters.peek(keys).decisions;
    expect([customer.used, carrier.used]).toEqual([1, 1]);
  });

  it('gives back a part of it, of all limits or of those that are named', () => {
    const { limiters } = setUp();
    const used = (): number[] =>
      Object.values<Decision>(limiters.peek(keys).decisions).map((one) => one.used);
    limiters.refund(limiters.consume(keys, { cost: 3 }), { cost: 1 });
    expect(used()).toEqual([2, 2]);
    const second = limiters.consume(keys, { cost: { customer: 4 } });
    expect(used()).toEqual([6, 3]);
    expect(limiters.refund(second, { cost: { customer: 3 } })).toBe(true);
    expect(used()).toEqual([3, 2]);
    expect(limiters.refund(second)).toBe(false);
  });

  it('gives back nothing of a refusal, a look, a record, or a copy', () => {
    const { limiters } = setUp();
    const refused = limiters.consume(keys, { cost: 4 });
    expect(refused.allowed).toBe(false);
    for (const decision of [refused, limiters.peek(keys), limiters.record(keys)]) {
      expect(limiters.refund(decision)).toBe(false);
    }
    expect(limiters.refund(structuredClone(limiters.consume(keys)))).toBe(false);
  });

  it('gives back nothing of a limit that passed in a group that was refused', () => {
    const { limiters } = setUp();
    limiters.consume({ customer: 'c1' });
    limiters.consume({ carrier: 'x' }, { cost: 3 });
    expect(limiters.refund(limiters.consume(keys))).toBe(false);
    expect(limiters.peek(keys).decisions.customer.used).toBe(1);
  });

  it('gives back nothing that other limits charged', () => {
    const { limiters } = setUp();
    expect(limiters.refund(setUp().limiters.peek(keys))).toBe(false);
    const other = createLimiters({ customer: rules.customer }, { clock: new ManualClock() });
    expect(limiters.refund(other.consume({ customer: 'c1' }))).toBe(false);
  });

  it('throws for a wrong cost before anything is given back', () => {
    const { limiters } = setUp();
    const sent = limiters.consume(keys);
    expect(() => limiters.refund(sent, { cost: { carrier: -1 } })).toThrow(/SPW_COST_INVALID/);
    expect(limiters.refund(sent)).toBe(true);
    expect(limiters.peek(keys).decisions).toMatchObject({
      customer: { used: 0 },
      carrier: { used: 0 },
    });
  });

  it('throws for a wrong decision before anything is given back', () => {
    const { limiters } = setUp();
    const sent = limiters.consume(keys);
    const mixed = { decisions: { ...sent.decisions, carrier: null } };
    expect(() => limiters.refund(mixed as never)).toThrow(/SPW_OPTION_INVALID/);
    limiters.refund(sent);
    expect(limiters.peek(keys).decisions.customer.used).toBe(0);
  });

  it.each([undefined, null, 'x', [], {}, { decisions: [] }, { decisions: { customer: 1 } }])(
    'throws for %j, which is no decision',
    (decision) => {
      const { limiters } = setUp();
      expect(() => limiters.refund(decision as never)).toThrow(/SPW_OPTION_INVALID/);
    },
  );

  it('throws for a promise of a decision', () => {
    const { limiters } = setUp();
    expect(() => limiters.refund(Promise.resolve() as never)).toThrow(/SPW_OPTION_INVALID/);
  });
});

describe('mistakes', () => {
  const ask = setUp().limiters;

  it('does not compile for names that are none of the limits', () => {
    // @ts-expect-error `custmer` is no limit
    expect(() => ask.consume({ customer: 'c1', custmer: 'c1' })).toThrow(
      'keys must name limits that exist (customer, carrier), got "custmer" (SPW_KEY_INVALID)',
    );
    // @ts-expect-error `carrier` is not asked
    expect(() => ask.consume({ customer: 'c1' }, { cost: { carrier: 2 } })).toThrow(
      'cost must be for limits in this call (customer), got "carrier" (SPW_COST_INVALID)',
    );
    // @ts-expect-error `carrier` is not asked
    expect(ask.peek({ customer: 'c1' }).decisions.carrier).toBeUndefined();
  });

  it.each([undefined, null, 'c1', ['c1'], {}, new Map()])('throws for keys of %j', (given) => {
    for (const act of [ask.consume, ask.record, ask.peek]) {
      expect(() => act.call(ask, given as never)).toThrow(/SPW_KEY_INVALID/);
    }
  });

  it.each(['', undefined, null, 7])('throws for a key of %s', (key) => {
    const given = { customer: 'c1', carrier: key as string };
    expect(() => ask.consume(given)).toThrow(/SPW_KEY_INVALID/);
    expect(ask.peek({ customer: 'c1' }).decisions.customer.used).toBe(0);
  });

  it.each([-1, 0.5, '1', null, [1], { customer: '1' }, { customer: -1 }])(
    'throws for a cost of %j',
    (cost) => {
      expect(() => ask.consume(keys, { cost: cost as number })).toThrow(/SPW_COST_INVALID/);
      expect(() => ask.consume(keys, 5 as never)).toThrow(/SPW_COST_INVALID/);
    },
  );

  it.each([
    [undefined, 'SPW_OPTION_INVALID'],
    [[rules.customer], 'SPW_OPTION_INVALID'],
    [{}, 'SPW_OPTION_INVALID'],
    [{ a: undefined }, 'SPW_OPTION_INVALID'],
    [{ a: { limit: 0, window: '1s' } }, 'SPW_LIMIT_INVALID'],
    [{ a: { limit: 1, window: '0s' } }, 'SPW_WINDOW_INVALID'],
    [{ é: rules.customer }, 'SPW_NAME_INVALID'],
  ])('throws for limits of %j', (limits, code) => {
    expect(() => createLimiters(limits as never)).toThrow(code);
  });

  it.each([
    [{ store: {} }, 'SPW_STORE_INVALID'],
    [{ localShare: 0 }, 'SPW_OPTION_INVALID'],
    [{ onStoreError: 'maybe' }, 'SPW_OPTION_INVALID'],
  ])('throws for settings of %j', (settings, code) => {
    expect(() => createLimiters(rules, settings as never)).toThrow(code);
  });
});
