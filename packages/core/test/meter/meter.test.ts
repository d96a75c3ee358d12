/** What a limit charges for a request whose cost is known afterwards. */

import {
  calendar,
  fixedWindow,
  memoryControl,
  memoryStore,
  meter,
  partial,
  rateLimit,
  type UnitsEvent,
} from '@spillway/core';
import { type Exchange, Gate } from '@spillway/core/adapter';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { key, setUp } from './set-up.js';

const ROWS = { name: 'rows', limit: 100, window: '100s', key } as const;

/** A limit of 100 rows in 100 s, one a second, with a reservation. */
function rowsOf(reserve: number, options: Parameters<typeof meter<number>>[0] = {}) {
  const rows = meter({ reserve: () => reserve, ...options });
  return { rows, ...setUp(rateLimit({ ...ROWS, cost: rows.cost((n) => n) })) };
}

/** A usage that computes its component. */
class Doubled {
  readonly input: number;

  constructor(input: number) {
    this.input = input;
  }

  get total(): number {
    return this.input * 2;
  }
}

describe('a reservation', () => {
  it('is at most half of the burst, so nobody is rejected forever', () => {
    const { admit, numbers } = rowsOf(1_000_000);
    expect(admit().decisions[0]).toMatchObject({ allowed: true, cost: 50, remaining: 50 });
    expect(numbers()).toMatchObject({ used: 50 });
  });

  it('is at most maxReserve', () => {
    const rows = meter({ reserve: () => 1_000 });
    const cost = rows.cost((n) => n, { maxReserve: 80 });
    const { admit } = setUp(rateLimit({ ...ROWS, cost }));
    expect(admit().decisions[0]).toMatchObject({ allowed: true, cost: 80 });
    expect(admit().decisions[0]).toMatchObject({ allowed: false, cost: 80 });
  });

  it('charges at once what is owed beyond it, which rejects nobody', () => {
    const { admit, numbers, units } = rowsOf(10, { atLeast: () => 130 });
    expect(admit().decisions[0]).toMatchObject({ allowed: true, cost: 50, used: 130 });
    expect(numbers()).toMatchObject({ used: 130, remaining: 0, retryAfterMs: 31_000 });
    expect(units('reserved')).toBe(130);
  });

  it.each(['add', 'settle'] as const)(
    'may be made after %s: a price reads 0 for what is left out',
    (method) => {
      const usage = meter<{ input: number; output: number }>({
        reserve: () => ({ input: 10, output: 10 }),
      });
      const cost = usage.cost((u) => u.input + u.output);
      const { admit, numbers, faults } = setUp(rateLimit({ ...ROWS, cost }));
      const raw = {};
      usage.of(raw)[method]({ input: 50 } as never);
      admit({ raw }).release({ status: 200 });
      expect(numbers()).toMatchObject({ used: 50 });
      expect(faults).toEqual([]);
    },
  );

  it('is made once for all limits, each with its own price', () => {
    let calls = 0;
    const usage = meter<{ input: number; output: number }>({
      reserve: () => {
        calls += 1;
        return { input: 10, output: 20 };
      },
      atLeast: ({ input }) => ({ input, output: 0 }),
    });
    const { admit } = setUp([
      rateLimit({ ...ROWS, cost: usage.cost((u) => u.input + u.output) }),
      rateLimit({
        name: 'money',
        limit: 1_000,
        window: calendar('day'),
        key,
        cost: usage.cost((u) => 3 * u.input + 15 * u.output),
      }),
    ]);
    const admission = admit();
    expect(admission.decisions.map(({ cost }) => cost)).toEqual([30, 330]);
    expect(calls).toBe(1);
    usage.of(admission).settle({ input: 10, output: 2 });
    admission.release({ status: 200 });
    expect(usage.of(admission).snapshot()).toMatchObject({
      rows: { requested: 30, charged: 12, remaining: 88, estimated: false },
      money: { requested: 330, charged: 60, remaining: 940, estimated: false },
    });
  });

  it('may come later', async () => {
    const rows = meter({ reserve: async () => 30 });
    const { guard } = setUp(rateLimit({ ...ROWS, cost: rows.cost((n) => n) }));
    const { request } = await import('spillway-testkit');
    const admission = await guard.admit(request());
    expect(admission.decisions[0]).toMatchObject({ cost: 30 });
  });

  it('is 1 without an estimate', () => {
    const rows = meter();
    const { admit } = setUp(rateLimit({ ...ROWS, cost: rows.cost((n) => n) }));
    expect(admit().decisions[0]).toMatchObject({ cost: 1 });
  });
});

describe('a settlement', () => {
  it('charges the real usage, once, when the response has ended', () => {
    const { admit, numbers, rows, units } = rowsOf(40);
    const admission = admit();
    const spent = rows.of(admission);
    expect(spent.settle(12)).toBe(true);
    expect(spent.settle(99)).toBe(false);
    expect(numbers()).toMatchObject({ used: 40 });
    expect(spent.snapshot()).toEqual({
      rows: { requested: 40, charged: 12, remaining: 88, resetMs: 40_000, estimated: true },
    });
    admission.release({ status: 200 });
    expect(numbers()).toMatchObject({ used: 12 });
    expect(units('returned')).toBe(28);
  });

  it('may be more than the limit: the key recovers before it passes again', () => {
    const { admit, numbers, rows, clock, units } = rowsOf(1);
    const admission = admit();
    rows.of(admission).settle(150);
    admission.release({ status: 200 });
    expect(numbers()).toMatchObject({ used: 150, remaining: 0, retryAfterMs: 51_000 });
    expect(units('added')).toBe(149);
    clock.advance(50_999);
    expect(admit().allowed).toBe(false);
    clock.advance(1);
    expect(admit().allowed).toBe(true);
  });

  it('forgives what exceeds the limit and the debt', () => {
    const { admit, numbers, rows, units } = rowsOf(1);
    const admission = admit();
    rows.of(admission).settle(4_096);
    admission.release({ status: 200 });
    expect(numbers()).toMatchObject({ used: 200 });
    expect(units('forgiven')).toBe(4_096 - 200);
  });

  it('works in any order with what a request adds', () => {
    const { admit, numbers, rows, clock } = rowsOf(10);
    const admission = admit();
    const spent = rows.of(admission);
    for (const units of [5, 40, 60]) {
      clock.advance('1s');
      spent.add(units);
    }
    expect(numbers()).toMatchObject({ used: 102 }); // 105 minus the refill of 3 s
    spent.settle(3);
    admission.release({ status: 200 });
    clock.advance('2s');
    expect(numbers()).toMatchObject({ used: 0 });
  });

  it('may use one object for many calls of admit', () => {
    const { admit, numbers, rows } = rowsOf(10);
    const raw = {};
    for (const units of [3, 4]) {
      const admission = admit({ raw });
      rows.of(admission).settle(units);
      rows.of(raw).settle(99);
      admission.release({});
    }
    expect(numbers()).toMatchObject({ used: 7 });
  });
});

describe('a request without a settlement', () => {
  it('costs its reservation, or what it added', () => {
    const { admit, numbers, rows, units } = rowsOf(10);
    admit().release({ status: 200 });
    expect(numbers()).toMatchObject({ used: 10 });
    const other = admit();
    rows.of(other).add(30);
    other.release({ status: 200 });
    expect(numbers()).toMatchObject({ used: 40 });
    expect(units('silent')).toBe(40);
  });

  it.each([{ aborted: true }, { status: 500 }, { status: 200, aborted: true }])(
    'costs the same when it is cut, by default: %o',
    (end) => {
      const { admit, numbers, rows, units } = rowsOf(10);
      admit().release(end);
      const other = admit();
      rows.of(other).add(30);
      other.release(end);
      expect(numbers()).toMatchObject({ used: 40 });
      expect(units('cut')).toBe(40);
    },
  );

  it('costs what it added, whichever components each call leaves out', () => {
    const usage = meter<{ input: number; output: number }>({
      reserve: () => ({ input: 10, output: 10 }),
    });
    const cost = usage.cost((u) => u.input + 5 * u.output, { maxReserve: 100 });
    const { admit, numbers, faults, clock } = setUp(rateLimit({ ...ROWS, limit: 1_000, cost }));
    const admission = admit();
    usage.of(admission).add({ output: 50 });
    expect(usage.of(admission).snapshot()).toMatchObject({ rows: { charged: 250 } });
    clock.advance('1s');
    usage.of(admission).add({ output: 10 });
    expect(numbers()).toMatchObject({ used: 290 }); // 300 minus the refill of 1 s
    usage.of(admission).add({ input: 3 });
    admission.release({ status: 200 });
    expect(numbers()).toMatchObject({ used: 293 });
    expect(faults).toEqual([]);
  });

  it.each([undefined, { input: 4, output: 6, total: 10 }])(
    'may be priced by a getter of the class of its usage; reserved: %o',
    (reserved) => {
      class Tokens {
        readonly input: number;
        readonly output: number;

        constructor(input: number, output: number) {
          this.input = input;
          this.output = output;
        }

        get total(): number {
          return this.input + this.output;
        }
      }
      const usage = meter<Tokens>(reserved && { reserve: () => reserved });
      const cost = usage.cost((u) => u.total);
      const { admit, numbers, faults } = setUp(rateLimit({ ...ROWS, limit: 1_000, cost }));
      const [added, settled] = [admit(), admit()];
      usage.of(added).add(new Tokens(1, 2));
      usage.of(added).add(new Tokens(3, 4));
      usage.of(settled).settle(new Tokens(10, 20));
      added.release({ status: 200 });
      settled.release({ status: 200 });
      expect(numbers()).toMatchObject({ used: 10 + 30 });
      expect(faults).toEqual([]);
    },
  );

  it('counts a component that the class of a usage computes, without running its setters', () => {
    const usage = meter<{ total: number }>({ reserve: () => ({ total: 100 }) });
    const cost = usage.cost(({ total }) => total);
    const { admit, numbers, faults } = setUp(rateLimit({ ...ROWS, limit: 1_000, cost }));
    const [added, settled] = [admit(), admit()];
    for (let i = 0; i < 3; i += 1) usage.of(added).add(new Doubled(60));
    expect(usage.of(settled).settle(new Doubled(10))).toBe(true);
    added.release({ status: 200 });
    settled.release({ status: 200 });
    expect(numbers()).toMatchObject({ used: 360 + 20 });
    expect(faults).toEqual([]);
  });

  it.each(['add', 'settle'] as const)(
    'is a fault of %s if it has no component that counts',
    (method) => {
      class Hidden {
        readonly #input: number;

        constructor(input: number) {
          this.#input = input;
        }

        get input(): number {
          return this.#input;
        }
      }
      const broken = {
        get input(): number {
          throw new Error('a bug');
        },
      };
      for (const said of [new Map([['input', 30]]), new Date(30), new Hidden(30), broken]) {
        const usage = meter<{ input: number }>({ reserve: () => ({ input: 10 }) });
        const cost = usage.cost(({ input }) => input);
        const { admit, numbers, faults } = setUp(rateLimit({ ...ROWS, limit: 1_000, cost }));
        const admission = admit();
        for (let i = 0; i < 2; i += 1) usage.of(admission)[method](said as { input: number });
        admission.release({ status: 200 });
        if (said instanceof Hidden) {
          // The reservation names the component, so it is read through the getter.
          expect(numbers()).toMatchObject({ used: method === 'add' ? 60 : 30 });
          expect(faults).toEqual([]);
        } else {
          expect(numbers()).toMatchObject({ used: 10 });
          expect(faults[0]).toMatchObject({ source: 'cost', error: { code: 'SPW_COST_INVALID' } });
        }
      }
    },
  );

  it('loses nothing that a class computed before a plain object names it', () => {
    const usage = meter<{ total: number }>();
    const { admit, numbers } = setUp(
      rateLimit({ ...ROWS, limit: 1_000, cost: usage.cost(({ total }) => total) }),
    );
    const admission = admit();
    usage.of(admission).add(new Doubled(60));
    usage.of(admission).add({ total: 5 });
    admission.release({ status: 200 });
    expect(numbers()).toMatchObject({ used: 125 });
  });

  it.each([undefined, { input: 10, output: 10 }])(
    'costs what was said when it was said, though the object changes later; reserved: %o',
    (reserved) => {
      const usage = meter<{ input: number; output: number }>(
        reserved && { reserve: () => reserved },
      );
      const cost = usage.cost((u) => u.input + u.output, { maxReserve: 100 });
      const { admit, numbers } = setUp(rateLimit({ ...ROWS, limit: 1_000, cost }));
      const said = { input: 30, output: 0 };
      const [added, settled] = [admit(), admit()];
      usage.of(added).add(said);
      usage.of(settled).settle(said);
      said.input = 40;
      usage.of(added).add(said);
      added.release({ status: 200 });
      settled.release({ status: 200 });
      expect(numbers()).toMatchObject({ used: 70 + 30 });
    },
  );

  it('costs what it owes when it is cut, with partial()', () => {
    const { admit, numbers, rows } = rowsOf(30, { atLeast: () => 4, onCut: partial() });
    const admission = admit();
    rows.of(admission).add(3);
    admission.release({ aborted: true });
    expect(numbers()).toMatchObject({ used: 7 });
    admit().release({ status: 200 });
    expect(numbers()).toMatchObject({ used: 37 });
  });

  it('costs a floor for each second, with partial({ perSecond })', () => {
    const usage = meter<{ input: number; output: number }>({
      reserve: () => ({ input: 5, output: 40 }),
      atLeast: ({ input }) => ({ input, output: 0 }),
      onCut: partial({ perSecond: { input: 0, output: 7 } }),
    });
    const cost = usage.cost((u) => u.input + u.output);
    const { admit, clock, units } = setUp(rateLimit({ ...ROWS, cost }));
    const admission = admit();
    usage.of(admission).add({ output: 2 });
    clock.advance(2_500);
    admission.release({ aborted: true });
    expect(units('cut')).toBe(5 + 18);
  });

  it('corrects its charge by the first settlement after its end, once, for one window', () => {
    const { admit, numbers, rows, clock } = rowsOf(30);
    const [early, late] = [admit(), admit()];
    for (const admission of [early, late]) admission.release({ aborted: true });
    expect(numbers()).toMatchObject({ used: 60 });
    expect(rows.of(early).settle(40)).toBe(true);
    expect(rows.of(early).settle(1)).toBe(false);
    expect(numbers()).toMatchObject({ used: 70 });
    clock.advance('100s');
    clock.advance(1);
    expect(rows.of(late).settle(40)).toBe(false);
    expect(numbers()).toMatchObject({ used: 0 });
  });

  it('ignores what is added after its end', () => {
    const { admit, numbers, rows } = rowsOf(10);
    const admission = admit();
    admission.release({ status: 200 });
    rows.of(admission).add(50);
    expect(numbers()).toMatchObject({ used: 10 });
  });
});

describe('while a request runs', () => {
  it('what it owes beyond its reservation is charged at most once a second', () => {
    const { admit, rows, clock, units, store } = rowsOf(10);
    const spent = rows.of(admit());
    let calls = 0;
    const { apply } = store;
    store.apply = (steps) => {
      calls += 1;
      return apply.call(store, steps);
    };
    for (let ms = 0; ms < 3_000; ms += 100) {
      clock.advance(100);
      spent.add(1);
    }
    expect(calls).toBe(2); // after 1.1 s, when the request owed more than its reservation, and after 2.1 s
    expect(spent.snapshot()).toMatchObject({ rows: { charged: 30, estimated: true } });
    expect(units('forgiven')).toBe(0);
  });

  it('the signal aborts when an enforced limit is beyond its limit and debt', () => {
    const { admit, rows, clock } = rowsOf(10);
    const spent = rows.of(admit());
    const { signal } = spent;
    clock.advance('1s');
    spent.add(200);
    expect(signal.aborted).toBe(false);
    clock.advance('1s');
    spent.add(5);
    expect(signal).toMatchObject({ aborted: true, reason: { name: 'AbortError' } });
    expect(spent.signal).toBe(signal);
  });

  it('the signal has aborted if it is read later', () => {
    const { admit, rows } = rowsOf(10, { atLeast: () => 500 });
    expect(rows.of(admit()).signal.aborted).toBe(true);
  });
});

describe('a meter does nothing', () => {
  it.each([
    ['in mode off', { mode: 'off' }],
    ['after skip', { skip: () => true }],
  ] as const)('%s', (_, options) => {
    const rows = meter({ reserve: () => 10 });
    const limit = rateLimit({ ...ROWS, cost: rows.cost((n) => n) });
    const { admit, numbers, events } = setUp(limit, options);
    const admission = admit();
    const spent = rows.of(admission);
    spent.add(50);
    expect(spent.signal.aborted).toBe(false);
    expect(spent.snapshot()).toEqual({});
    expect(spent.settle(5)).toBe(true);
    expect(spent.settle(5)).toBe(false);
    admission.release({});
    expect(numbers()).toMatchObject({ used: 0 });
    expect(events).toEqual([]);
  });

  it('for a rejected request', () => {
    const { admit, numbers, rows } = rowsOf(40);
    for (let i = 0; i < 2; i += 1) admit();
    const rejected = admit();
    expect(rejected.allowed).toBe(false);
    rows.of(rejected).add(90);
    rows.of(rejected).settle(90);
    rejected.release({ status: 429 });
    expect(numbers()).toMatchObject({ used: 80 });
  });
});

describe('in shadow mode', () => {
  it('a limit charges, but never aborts', () => {
    const rows = meter({ reserve: () => 40 });
    const limit = rateLimit({ ...ROWS, mode: 'shadow', cost: rows.cost((n) => n) });
    const { admit, numbers } = setUp(limit);
    const admission = admit();
    const spent = rows.of(admission);
    spent.settle(500);
    admission.release({});
    expect(spent.signal.aborted).toBe(false);
    expect(numbers()).toMatchObject({ used: 200 });
    expect(admit()).toMatchObject({ allowed: true, decisions: [{ outcome: 'would-deny' }] });
  });
});

describe('a calendar', () => {
  it('charges an upward difference to the period of the settlement, and voids a downward one', () => {
    const rows = meter({ reserve: () => 30 });
    const limit = rateLimit({ ...ROWS, window: calendar('day'), cost: rows.cost((n) => n) });
    const { admit, numbers, clock } = setUp(limit);
    const [up, down] = [admit(), admit()];
    clock.advance('1d');
    rows.of(down).settle(1);
    down.release({});
    expect(numbers()).toMatchObject({ used: 0 });
    rows.of(up).settle(150);
    up.release({});
    expect(numbers()).toMatchObject({ used: 120, remaining: 0 });
  });
});

describe('a wrong usage', () => {
  const WRONG = [Number.NaN, -1, 1.5, 2 ** 53, '7', null, { rows: Number.NaN }, [1]];

  it.each(WRONG)('that is reserved is a fault, and the cost is 1: %j', (wrong) => {
    const { admit, faults } = rowsOf(wrong as number);
    const admission = admit();
    expect(admission.decisions[0]).toMatchObject({ cost: 1 });
    expect(faults).toMatchObject([{ limiter: 'rows', source: 'cost' }]);
    admission.release({});
    expect(faults).toHaveLength(1);
  });

  it.each(WRONG)('that is owed at once is a fault, and the cost is 1: %j', (wrong) => {
    const { admit, faults } = rowsOf(10, { atLeast: () => wrong as number });
    expect(admit().decisions[0]).toMatchObject({ cost: 1 });
    expect(faults).toMatchObject([{ source: 'cost' }]);
  });

  it.each([...WRONG, undefined])(
    'that is settled or added is a fault, and changes nothing: %j',
    (wrong) => {
      const { admit, faults, rows, numbers } = rowsOf(10);
      const admission = admit();
      const spent = rows.of(admission);
      spent.add(wrong as number);
      expect(spent.settle(wrong as number)).toBe(false);
      expect(faults).toMatchObject([{ source: 'cost' }, { source: 'cost' }]);
      expect(spent.settle(4)).toBe(true);
      admission.release({});
      expect(numbers()).toMatchObject({ used: 4 });
    },
  );

  it('whose price is wrong changes nothing', () => {
    const rows = meter({ reserve: () => 10 });
    const limit = rateLimit({ ...ROWS, cost: rows.cost((n) => (n === 10 ? 10 : n / 2)) });
    const { admit, faults, numbers } = setUp(limit);
    const admission = admit();
    rows.of(admission).settle(5);
    admission.release({});
    expect(numbers()).toMatchObject({ used: 10 });
    expect(faults).toMatchObject([{ source: 'cost' }]);
  });
});

describe('construction', () => {
  const rows = meter({ reserve: () => 1 });
  const cost = rows.cost((n) => n);

  it.each([
    ['an unknown option', () => meter({ reserves: 1 } as never), 'SPW_OPTION_UNKNOWN'],
    ['reserve', () => meter({ reserve: 5 } as never), 'SPW_OPTION_INVALID'],
    ['atLeast', () => meter({ atLeast: 5 } as never), 'SPW_OPTION_INVALID'],
    ['onCut', () => meter({ onCut: 'drop' } as never), 'SPW_OPTION_INVALID'],
    ['perSecond', () => partial({ perSecond: -1 }), 'SPW_OPTION_INVALID'],
    ['a price', () => rows.cost(5 as never), 'SPW_OPTION_INVALID'],
    ['no debt', () => rows.cost((n) => n, { debt: 0 }), 'SPW_OPTION_INVALID'],
    ['maxReserve', () => rows.cost((n) => n, { maxReserve: 0 }), 'SPW_OPTION_INVALID'],
    ['an object', () => rows.of('ada' as never), 'SPW_OPTION_INVALID'],
    [
      'maxReserve above the burst',
      () => rateLimit({ ...ROWS, cost: rows.cost((n) => n, { maxReserve: 101 }) }),
      'SPW_OPTION_INVALID',
    ],
    ['no key', () => rateLimit({ limit: 1, window: '1s', cost }), 'SPW_OPTION_INVALID'],
    ['refundIf', () => rateLimit({ ...ROWS, cost, refundIf: () => true }), 'SPW_OPTION_INVALID'],
    ['a window', () => rateLimit({ ...ROWS, cost, algorithm: fixedWindow }), 'SPW_OPTION_INVALID'],
  ])('throws for %s', (_, make, code) => {
    expect(make).toThrow(expect.objectContaining({ code }));
  });
});

describe('debt', () => {
  it('is not given back for units that were forgiven', () => {
    const rows = meter({ reserve: () => 10 });
    const cost = rows.cost((n) => n, { debt: 50 });
    const { admit, numbers, clock, units } = setUp(rateLimit({ ...ROWS, cost }));
    const admission = admit();
    clock.advance('2s');
    rows.of(admission).add(200);
    expect(numbers()).toMatchObject({ used: 150 });
    expect(units('forgiven')).toBe(48);
    rows.of(admission).settle(100);
    admission.release({ status: 200 });
    expect(numbers()).toMatchObject({ used: 98 }); // two were refilled
  });

  it('is the limit by default, and keeps its ratio under live settings', async () => {
    const rows = meter({ reserve: () => 1 });
    const control = memoryControl();
    const limit = rateLimit({ ...ROWS, cost: rows.cost((n) => n, { debt: 50 }) });
    const { admit, units } = setUp(limit, { control });
    const spend = () => {
      const admission = admit();
      rows.of(admission).settle(1_000);
      admission.release({});
    };
    spend();
    expect(units('forgiven')).toBe(850);
    await control.set('rows', { limits: { factor: 2 } }, { by: 'ada', because: 'test' });
    expect(admit().allowed).toBe(false);
  });
});

it('charges nothing if the client left before a handler could run, whatever is owed at admission', async () => {
  const rows = meter({ reserve: () => 10, atLeast: () => 4 });
  const store = memoryStore();
  const events: UnitsEvent[] = [];
  const limiter = rateLimit({ ...ROWS, key: async () => 'ada', cost: rows.cost((n) => n + 1) });
  const observers = [{ onUnits: (event: UnitsEvent) => events.push(event) }];
  const gate = new Gate(limiter, { store, observers });
  const exchange: Exchange = {
    isGone: () => true,
    onClosed: () => undefined,
    getHeader: () => undefined,
    setHeader: () => undefined,
    reject: () => undefined,
  };
  expect(await gate.enter(request(), exchange, {})).toBe('gone');
  expect(events).toEqual([
    { limiter: 'rows', kind: 'reserved', units: 11 },
    { limiter: 'rows', kind: 'returned', units: 11 },
  ]);
});
