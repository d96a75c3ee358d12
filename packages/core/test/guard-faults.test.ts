import {
  createGuard,
  type Limiter,
  type LocalLimiter,
  memoryStore,
  rateLimit,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { setUp, two } from './guard-set-up.js';

describe('a guard with junk from callbacks', () => {
  it.each<[string, () => unknown]>([
    ['undefined', () => undefined],
    ['an empty key', () => ''],
    ['a number', () => 7],
    ['an object', () => ({})],
    [
      'a throw',
      () => {
        throw new Error('no user');
      },
    ],
  ])('a key function that gives %s counts the client address, and never frees it', (_, key) => {
    const { admit } = setUp(rateLimit({ ...two, key: key as () => string }));
    expect([admit(), admit(), admit()].map((one) => one.allowed)).toEqual([true, true, false]);
    expect(admit({ clientIp: '203.0.113.8' }).allowed).toBe(true);
  });

  it('no user can name the bucket of an address', () => {
    const { admit } = setUp(rateLimit({ ...two, key: (of) => of.header('x-user') }));
    admit();
    admit();
    expect(admit().allowed).toBe(false);
    expect(admit({ headers: { 'x-user': '@203.0.113.7' } }).allowed).toBe(true);
  });

  it('an address that cannot be known is one bucket', () => {
    const { admit } = setUp(rateLimit(two));
    const seen = [1, 2, 3].map(() => admit({ clientIp: undefined }).allowed);
    expect(seen).toEqual([true, true, false]);
  });

  it.each([Number.NaN, -1, 1.5, Infinity, 2 ** 53, '2', {}, null])(
    'a cost of %s counts 1',
    (cost) => {
      const { admit, faults } = setUp(rateLimit({ ...two, cost: () => cost as number }));
      expect([admit(), admit(), admit()].map((one) => one.allowed)).toEqual([true, true, false]);
      expect(faults).toHaveLength(3);
      expect(faults[0]).toMatchObject({ limiter: 'two', source: 'cost' });
    },
  );

  it.each([0.5, -1, Number.NaN, 1e12, 'x'])(
    'a plan with a limit of %s means the declared one',
    (limit) => {
      const { admit, faults } = setUp(
        rateLimit({ ...two, plan: () => ({ limit: limit as number }) }),
      );
      expect([admit(), admit(), admit()].map((one) => one.allowed)).toEqual([true, true, false]);
      expect(faults[0]).toMatchObject({ source: 'plan' });
    },
  );

  it('an observer that throws changes nothing', () => {
    const throwing = () => {
      throw new Error('observer');
    };
    const { guard } = setUp(rateLimit(two), { onDecision: throwing, onFault: throwing });
    expect(guard.admit(request())).toMatchObject({ allowed: true });
  });
});

describe('a guard with a broken limiter', () => {
  it('lets a request pass a local limiter that throws, and says so', () => {
    const broken: LocalLimiter = {
      kind: 'local',
      name: 'broken',
      mode: 'enforce',
      decide: () => {
        throw new Error('bug');
      },
    };
    const { admit, faults } = setUp(broken);
    expect(admit().allowed).toBe(true);
    expect(faults[0]).toMatchObject({ limiter: 'broken', source: 'decide' });
  });

  it.each([undefined, null, 7, {}, Promise.resolve({ allowed: false })])(
    'lets a request pass a local limiter that decides %s, and says so',
    (decision) => {
      const { admit, faults } = setUp({
        kind: 'local',
        name: 'broken',
        mode: 'enforce',
        decide: () => decision as never,
      });
      expect(admit()).toMatchObject({ allowed: true, decisions: [{ outcome: 'skipped' }] });
      expect(faults).toMatchObject([{ limiter: 'broken', source: 'decide' }]);
    },
  );

  it.each([undefined, 7, {}, Promise.resolve({ allowed: true })])(
    'answers by onStoreError for a limiter that decides %s',
    (decision) => {
      const sound = rateLimit(two);
      const broken: Limiter = Object.assign(Object.create(sound) as typeof sound, {
        decide: () => decision,
      });
      const { admit, faults } = setUp(broken, { onStoreError: 'allow' });
      expect(admit()).toMatchObject({ allowed: true, decisions: [{ outcome: 'error' }] });
      expect(faults).toMatchObject([{ limiter: 'two', source: 'decide' }]);
    },
  );

  it.each([
    ['step', 'allow', 200],
    ['step', 'deny', 503],
    ['decide', 'allow', 200],
    ['decide', 'deny', 503],
  ] as const)(
    'answers for a limiter whose %s throws by onStoreError: %s',
    (method, policy, status) => {
      const sound = rateLimit(two);
      const broken: Limiter = Object.assign(Object.create(sound) as typeof sound, {
        [method]: () => {
          throw new Error('bug');
        },
      });
      const { admit, faults, events } = setUp(broken, { onStoreError: policy });
      expect(admit().status).toBe(status);
      expect(events[0]?.outcome).toBe('error');
      expect(faults[0]).toMatchObject({ limiter: 'two', source: method });
    },
  );

  it.each([undefined, {}, { rule: {} }, 7])(
    'answers for a limiter whose step is %s',
    async (step) => {
      const sound = rateLimit(two);
      const broken: Limiter = Object.assign(Object.create(sound) as typeof sound, {
        step: () => step,
      });
      const later = memoryStore();
      for (const store of [later, remoteStore({ sync: false, apply: async () => [] })]) {
        const outcomes: string[] = [];
        const guard = createGuard(broken, {
          store,
          onDecision: ({ outcome }) => outcomes.push(outcome),
          onFault: () => undefined,
        });
        expect((await guard.admit(request())).allowed).toBe(true);
        expect(outcomes).toEqual(['error']);
      }
    },
  );

  it('refuses a limiter whose name cannot stand in a field', () => {
    const odd = Object.assign(Object.create(rateLimit(two)) as Limiter, { name: 'a\r\nb' });
    expect(() => createGuard(odd)).toThrow(/SPW_NAME_INVALID/);
  });

  it('survives a refundIf that throws', () => {
    const { admit, faults } = setUp(
      rateLimit({
        ...two,
        refundIf: () => {
          throw new Error('bug');
        },
      }),
    );
    admit().release({ status: 200 });
    expect(faults[0]).toMatchObject({ source: 'refundIf' });
  });
});
