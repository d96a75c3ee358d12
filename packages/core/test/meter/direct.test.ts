/** Costs that are known afterwards, without HTTP. */

import { calendar, createLimiter, meter, rateLimit, type UnitsEvent } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';

function setUp(options: Parameters<ReturnType<typeof meter<number>>['cost']>[1] = {}) {
  const clock = new ManualClock();
  const events: UnitsEvent[] = [];
  const rows = meter({ atLeast: (n: number) => Math.floor(n / 10) });
  const limiter = createLimiter(
    { limit: 100, window: '100s', cost: rows.cost((n) => n, options) },
    { clock, observers: [{ onUnits: (event) => events.push(event) }] },
  );
  return { clock, rows, limiter, events };
}

describe('a limiter without HTTP', () => {
  it('reserves, and settles once', () => {
    const { rows, limiter, events } = setUp();
    const decision = limiter.consume('ada', { cost: rows.reserve(40) });
    expect(decision).toMatchObject({ allowed: true, cost: 40, remaining: 60 });
    expect(limiter.settle(decision, 12)).toBe(true);
    expect(limiter.peek('ada')).toMatchObject({ used: 12 });
    expect(limiter.settle(decision, 90)).toBe(false);
    expect(limiter.refund(decision)).toBe(false);
    expect(limiter.peek('ada')).toMatchObject({ used: 12 });
    expect(events).toEqual([
      { limiter: '100-per-100s', kind: 'reserved', units: 40 },
      { limiter: '100-per-100s', kind: 'returned', units: 28 },
    ]);
  });

  it('settles upwards into debt, and rejects until that has refilled', () => {
    const { rows, limiter, clock } = setUp();
    limiter.settle(limiter.consume('ada', { cost: rows.reserve(1) }), 150);
    expect(limiter.consume('ada')).toMatchObject({
      allowed: false,
      used: 150,
      retryAfterMs: 51_000,
    });
    clock.advance('51s');
    expect(limiter.consume('ada').allowed).toBe(true);
  });

  it('reserves at most half of the burst, and charges at once what is owed beyond it', () => {
    const { rows, limiter } = setUp();
    expect(limiter.consume('ada', { cost: rows.reserve(70) })).toMatchObject({
      cost: 50,
      used: 50,
    });
    expect(limiter.consume('eve', { cost: rows.reserve(1_200) })).toMatchObject({ used: 120 });
    const { limiter: most, rows: own } = setUp({ maxReserve: 90 });
    expect(most.consume('ada', { cost: own.reserve(1_200) })).toMatchObject({ cost: 90 });
  });

  it('refunds also what was owed beyond the reservation', () => {
    const { rows, limiter } = setUp();
    const decision = limiter.consume('ada', { cost: rows.reserve(800) });
    expect(decision).toMatchObject({ allowed: true, cost: 50, used: 80 });
    expect(limiter.refund(decision)).toBe(true);
    expect(limiter.peek('ada')).toMatchObject({ used: 0 });
  });

  it('does not settle what was rejected, refunded, or charged by another', () => {
    const { rows, limiter } = setUp();
    const refunded = limiter.consume('ada', { cost: rows.reserve(40) });
    expect(limiter.refund(refunded)).toBe(true);
    expect(limiter.settle(refunded, 90)).toBe(false);
    limiter.settle(limiter.consume('ada', { cost: rows.reserve(40) }), 101);
    const rejected = limiter.consume('ada');
    expect(limiter.settle(rejected, 1)).toBe(false);
    const other = setUp();
    expect(other.limiter.settle(limiter.consume('eve'), 50)).toBe(false);
    expect(limiter.peek('eve')).toMatchObject({ used: 1 });
  });

  it('takes a number of units too, and throws for a wrong usage', () => {
    const { rows, limiter } = setUp();
    const decision = limiter.consume('ada', { cost: 7 });
    expect(decision.cost).toBe(7);
    const code = expect.objectContaining({ code: 'SPW_COST_INVALID' });
    for (const wrong of [Number.NaN, -1, 0.5, 2 ** 53, '7', undefined]) {
      expect(() => rows.reserve(wrong as number)).toThrow(code);
      expect(() => limiter.settle(decision, wrong as number)).toThrow(code);
    }
    expect(() => limiter.consume('ada', { cost: null as never })).toThrow(code);
    expect(() => limiter.settle(Promise.resolve(decision) as never, 1)).toThrow('awaited');
    expect(limiter.settle(decision, 3)).toBe(true);
  });

  it('has the debt of a limit in a guard, and its count', () => {
    const clock = new ManualClock();
    const rows = meter();
    const limit = rateLimit({
      name: 'rows',
      limit: 100,
      window: calendar('day'),
      key: () => 'ada',
      cost: rows.cost((n) => n, { debt: 20 }),
    });
    const limiter = createLimiter(limit, { clock });
    limiter.record('ada', { cost: 500 });
    expect(limiter.peek('ada')).toMatchObject({ used: 120 });
  });

  it.each([{ cost: 5 }, { cost: () => 5 }])('takes no other cost: %o', (cost) => {
    expect(() => createLimiter({ limit: 1, window: '1s', ...cost } as never)).toThrow(
      expect.objectContaining({ code: 'SPW_OPTION_UNKNOWN' }),
    );
  });

  it('takes no reservation without a meter', () => {
    const limiter = createLimiter({ limit: 9, window: '1s' });
    expect(() => limiter.consume('ada', { cost: meter().reserve(1) as never })).toThrow(
      expect.objectContaining({ code: 'SPW_COST_INVALID' }),
    );
  });
});
