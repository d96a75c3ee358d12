import {
  createLimiter,
  type Decision,
  type GroupDecision,
  isSpillwayError,
  memoryStore,
  type Store,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';

function setUp(limit = 5) {
  const clock = new ManualClock();
  const limiter = createLimiter(
    { name: 'test', limit, window: '1m' },
    { store: memoryStore({ clock }) },
  );
  return { clock, limiter };
}

describe('createLimiter', () => {
  it('answers at once with a memory store, later with any other', async () => {
    const { limiter } = setUp();
    expectTypeOf(limiter.consume('ada')).toEqualTypeOf<Decision>();
    const memory = memoryStore();
    const later: Store = remoteStore({ sync: false, apply: async (steps) => memory.apply(steps) });
    const remote = createLimiter({ name: 'test', limit: 5, window: '1m' }, { store: later });
    const decision = remote.consume('ada');
    expectTypeOf(decision).toEqualTypeOf<Promise<Decision>>();
    expect((await decision).remaining).toBe(4);
  });

  it('refuses until exactly the promised moment, then admits', () => {
    const { clock, limiter } = setUp();
    for (let i = 0; i < 5; i += 1) expect(limiter.consume('ada').allowed).toBe(true);
    const refused = limiter.consume('ada');
    expect(refused).toMatchObject({
      allowed: false,
      outcome: 'denied',
      reason: 'rate',
      remaining: 0,
      retryAfterMs: 12_000,
      resetMs: 60_000,
    });
    clock.advance(refused.retryAfterMs - 0.001);
    expect(limiter.consume('ada').allowed).toBe(false);
    clock.advance(0.001);
    expect(limiter.consume('ada').allowed).toBe(true);
  });

  it('says never of a cost that exceeds the capacity, and charges nothing', () => {
    const { limiter } = setUp();
    expect(limiter.consume('ada', { cost: 6 })).toMatchObject({
      allowed: false,
      reason: 'never',
      retryAfterMs: Infinity,
      remaining: 5,
    });
  });

  it('charges all keys or none, and names the key that binds', () => {
    const { limiter } = setUp();
    limiter.consume('b', { cost: 5 });
    const refused = limiter.consumeAll(['a', 'b', 'c']);
    expect(refused.allowed).toBe(false);
    expect(refused.decisions.map((decision) => decision.allowed)).toEqual([true, false, true]);
    expect(refused.binding).toBe(refused.decisions[1]);
    expect(limiter.peek('a').remaining).toBe(5);
    expect(limiter.consumeAll(['a', 'c']).decisions.map((one) => one.remaining)).toEqual([4, 4]);
  });

  it('counts a key that is named twice twice', () => {
    const { limiter } = setUp(3);
    expect(limiter.consumeAll(['a', 'a']).decisions.map((one) => one.remaining)).toEqual([1, 1]);
    expect(limiter.consumeAll(['a', 'a']).allowed).toBe(false);
    expect(limiter.peek('a').remaining).toBe(1);
  });

  it('records without judging, and says what would have been', () => {
    const { limiter } = setUp(2);
    const said = [1, 2, 3, 4].map(() => limiter.record('a').allowed);
    expect(said).toEqual([true, true, false, false]);
    expect(limiter.record(['a', 'b']).decisions.map((one) => one.allowed)).toEqual([false, true]);
    expect(limiter.peek('b').remaining).toBe(1);
  });

  it('gives back a grant once, and a refusal never', () => {
    const { limiter } = setUp();
    const granted = limiter.consume('a', { cost: 3 });
    expect(limiter.refund(granted)).toBe(true);
    expect(limiter.refund(granted)).toBe(false);
    expect(limiter.peek('a').remaining).toBe(5);
    limiter.consume('a', { cost: 5 });
    expect(limiter.refund(limiter.consume('a'))).toBe(false);
    expect(limiter.refund(limiter.peek('a'))).toBe(false);
  });

  it('gives back a part of a grant', () => {
    const { limiter } = setUp();
    const granted = limiter.consume('a', { cost: 4 });
    expect(() => limiter.refund(granted, { cost: -1 })).toThrow(/SPW_COST_INVALID/);
    expect(limiter.refund(granted, { cost: 3 })).toBe(true);
    expect(limiter.peek('a').remaining).toBe(4);
    expect(limiter.refund(granted)).toBe(false);
  });

  it('peeks at several keys as consumeAll would answer', () => {
    const { limiter } = setUp();
    limiter.consume('b', { cost: 5 });
    const seen = limiter.peek(['a', 'b']);
    expectTypeOf(seen).toEqualTypeOf<GroupDecision>();
    expect(seen).toEqual(limiter.consumeAll(['a', 'b']));
    expect(seen).toMatchObject({ allowed: false, binding: { reason: 'rate' } });
    expect(limiter.peek(['a', 'a'], { cost: 2 }).decisions.map(({ cost }) => cost)).toEqual([4, 4]);
    expect(limiter.peek('a').remaining).toBe(5);
    for (const keys of [[], ['']]) expect(() => limiter.peek(keys)).toThrow(/SPW_KEY_INVALID/);
  });

  it('gives back the grants of consumeAll one by one', () => {
    const { limiter } = setUp();
    const [a] = limiter.consumeAll(['a', 'b']).decisions;
    expect(limiter.refund(a as Decision)).toBe(true);
    expect(limiter.peek('a').remaining).toBe(5);
    expect(limiter.peek('b').remaining).toBe(4);
  });

  it('does not give back what has come back by itself', () => {
    const { clock, limiter } = setUp();
    const granted = limiter.consume('a', { cost: 2 });
    clock.advance(granted.resetMs);
    limiter.consume('a', { cost: 5 });
    expect(limiter.refund(granted)).toBe(false);
    expect(limiter.peek('a').remaining).toBe(0);
  });

  it('forgets a key on reset', () => {
    const { limiter } = setUp();
    limiter.consume('a', { cost: 5 });
    limiter.reset('a');
    expect(limiter.peek('a')).toMatchObject({ remaining: 5, resetMs: 0 });
  });

  it('lets a cost of 0 pass and writes nothing', () => {
    const { limiter } = setUp();
    limiter.consume('a', { cost: 5 });
    expect(limiter.consume('a', { cost: 0 })).toMatchObject({ allowed: true, retryAfterMs: 0 });
  });

  it.each([Number.NaN, -1, 0.5, Infinity, 2 ** 53, '1', null, {}, true])(
    'throws for a cost of %s',
    (cost) => {
      const { limiter } = setUp();
      const act = () => limiter.consume('a', { cost: cost as number });
      expect(act).toThrow(/SPW_COST_INVALID/);
      expect(limiter.peek('a').remaining).toBe(5);
    },
  );

  it.each(['', undefined, null, 7, {}, ['a']])('throws for a key of %s', (key) => {
    const { limiter } = setUp();
    expect(() => limiter.consume(key as string)).toThrow(/SPW_KEY_INVALID/);
    expect(() => limiter.consumeAll([key as string])).toThrow(/SPW_KEY_INVALID/);
    expect(() => limiter.consumeAll([])).toThrow(/SPW_KEY_INVALID/);
  });

  it('keeps hostile keys apart and answers them', () => {
    const { limiter } = setUp(1);
    const keys = [
      '__proto__',
      'constructor',
      '{}',
      '{a}b',
      '\0',
      'a\r\nb',
      '\ud800',
      '\udfff',
      '\ufffd',
      'x'.repeat(8_192),
    ];
    for (const key of keys) expect(limiter.consume(key).allowed).toBe(true);
    for (const key of keys) expect(limiter.consume(key).allowed).toBe(false);
  });

  it('has errors that are recognised across copies of the package', () => {
    expect(
      isSpillwayError(Object.assign(new Error('x'), { [Symbol.for('spillway.error')]: true })),
    ).toBe(true);
    expect(isSpillwayError(new Error('x'))).toBe(false);
  });
});
