/** Callbacks that are async although they must not be: none ends the process, and none exempts a request. */

import {
  createGuard,
  createLimiter,
  decisionLog,
  type Fault,
  meter,
  rateLimit,
  workerShedder,
} from '@spillway/core';
import { liveControl } from '@spillway/core/control';
import { remoteStore } from '@spillway/core/store';
import { request } from 'spillway-testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { setUp, two } from './guard-set-up.js';

const rejects = async (): Promise<never> => {
  throw new Error('rejected');
};
const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);
beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', note);
});
afterEach(async () => {
  await turn();
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

const rejected = { message: 'rejected' };

describe('an observer that rejects', () => {
  it('is told of as a fault, and nobody waits for it', async () => {
    const { admit, faults } = setUp(rateLimit(two), { onDecision: rejects });
    expect(admit().allowed).toBe(true);
    expect(faults).toEqual([]);
    await turn();
    expect(faults).toMatchObject([{ limiter: 'two', source: 'observer', error: rejected }]);
  });

  it('as it counts decisions is told of too', async () => {
    const { admit, faults } = setUp(rateLimit(two), { observers: [{ countDecision: rejects }] });
    admit();
    await turn();
    expect(faults).toMatchObject([{ limiter: 'two', source: 'observer', error: rejected }]);
  });

  it('of store calls and of breakers is told of too', async () => {
    const faults: Fault[] = [];
    const guard = createGuard(rateLimit(two), {
      store: remoteStore({ sync: false, apply: rejects }),
      breaker: { failures: 1, probeEvery: '1h' },
      logger: false,
      observers: [{ onStoreCall: rejects, onBreaker: rejects }],
      onFault: (fault) => faults.push(fault),
    });
    await guard.admit(request());
    await turn();
    expect(faults.filter(({ source }) => source === 'observer')).toMatchObject([
      { error: rejected },
      { error: rejected },
    ]);
  });

  it('of faults is left alone', async () => {
    const { admit } = setUp(rateLimit({ ...two, mode: () => rejects() as never }), {
      onFault: rejects,
    });
    expect(admit().allowed).toBe(true);
    await turn();
  });

  it('as the write of a decision log is told of', async () => {
    const log = decisionLog({ write: rejects, sample: 1 });
    const { admit, faults } = setUp(rateLimit(two), { observers: [log] });
    admit();
    await turn();
    expect(faults).toMatchObject([{ source: 'observer', error: rejected }]);
  });

  it('as a logger is left alone', async () => {
    const guard = createGuard(rateLimit(two), {
      store: remoteStore({ sync: false, apply: rejects }),
      breaker: { failures: 1, probeEvery: '1h' },
      logger: { warn: rejects },
    });
    await guard.admit(request());
    await turn();
  });
});

describe('a promise, or what is no plain answer', () => {
  const async = (value: unknown) => (async () => value) as never;
  const synchronous = { message: expect.stringContaining('returned a promise') };

  it.each([1, null, 'yes'])('%s from refundIf or skip is no yes, and a fault', (verdict) => {
    const says = () => verdict as never;
    const { admit, faults } = setUp(rateLimit({ ...two, refundIf: says }), { skip: says });
    for (let i = 0; i < 2; i += 1) admit().release({ status: 200 });
    expect(admit().allowed).toBe(false);
    expect(faults.map(({ source }) => source).sort()).toEqual([
      'refundIf',
      'refundIf',
      'skip',
      'skip',
      'skip',
    ]);
  });

  it('from mode is a fault', async () => {
    for (const callback of [async(1), rejects as never]) {
      const { admit, faults } = setUp(rateLimit({ ...two, mode: callback }));
      admit();
      expect(faults).toMatchObject([{ source: 'mode', error: synchronous }]);
      await turn();
    }
  });

  it.each([{ classify: rejects as never }, { isTest: async(true) }])(
    'from a priority is a fault',
    async (priority) => {
      const signal = { name: 'none', read: () => undefined };
      const workers = workerShedder({
        name: 'workers',
        ladder: { signal },
        brake: false,
        priority,
      });
      const { admit, faults } = setUp(workers);
      expect(admit().decisions[0]?.priority).toBe('get');
      expect(faults).toMatchObject([{ source: 'priority', error: synchronous }]);
      await turn();
    },
  );

  it.each(['settingsOf', 'overrideOf', 'limitsOf', 'resetsOf', 'register'])(
    'from %s of a control is a fault, and nothing is set',
    async (method) => {
      const settings = {};
      const control = { settingsOf: () => settings, overrideOf: () => undefined };
      const { admit, faults } = setUp(rateLimit(two), {
        control: liveControl({ ...control, [method]: rejects }),
      });
      expect([admit(), admit(), admit()].map(({ allowed }) => allowed)).toEqual([
        true,
        true,
        false,
      ]);
      await turn();
      expect(faults[0]).toMatchObject({ limiter: 'two', source: 'control', error: synchronous });
    },
  );

  it('from a price or atLeast of a meter is a fault', async () => {
    const fails = rejects as never;
    for (const [price, atLeast] of [
      [fails, undefined],
      [(rows: number) => rows, fails],
    ] as const) {
      const rows = meter({ reserve: () => 1, atLeast });
      const limit = rateLimit({ ...two, key: () => 'ada', cost: rows.cost(price) });
      const { admit, faults } = setUp(limit);
      const admission = admit();
      rows.of(admission).settle(2);
      admission.release({ status: 200 });
      await turn();
      expect(faults[0]).toMatchObject({ limiter: 'two', source: 'cost' });
    }
  });

  it('as the cost of a limiter without HTTP throws', async () => {
    const limiter = createLimiter({ limit: 2, window: '1m' });
    expect(() => limiter.consume('ada', { cost: rejects() as never })).toThrow(/SPW_COST_INVALID/);
    await turn();
  });

  it('false and undefined are plain answers', () => {
    const { admit, faults } = setUp(
      rateLimit({ ...two, refundIf: () => undefined as unknown as boolean }),
      { skip: () => false },
    );
    admit().release({ status: 200 });
    expect(faults).toEqual([]);
  });
});
