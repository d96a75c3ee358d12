/** Whatever a broken store does, a guard applies onStoreError, reports the failure, and counts each request once. */

import {
  type Algorithm,
  type Answer,
  concurrencyLimit,
  createGuard,
  createLimiter,
  type DecisionEvent,
  type Fault,
  memoryStore,
  rateLimit,
  type Step,
  type Store,
} from '@spillway/core';
import { algorithmByName } from '@spillway/core/algorithms';
import { remoteStore } from '@spillway/core/store';
import fc from 'fast-check';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';

const WORDS = [undefined, null, Number.NaN, Infinity, 0.5, 1e300, '7', 7n, {}, [], true, () => 1];

const word = fc.constantFrom<unknown>(...WORDS);
const answer = fc.oneof(
  word,
  fc.record({ allowed: word, nowUs: word, tatUs: word, tatNum: word }),
  fc.record({ allowed: fc.boolean(), nowUs: fc.nat(), tatUs: word, used: word, startUs: word }),
);
const thrower = {
  get allowed(): never {
    throw new Error('not even to be looked at');
  },
};
/** What `apply` returns: anything but a complete answer to each step. */
const junk = fc.oneof(word, fc.array(answer, { maxLength: 4 }), fc.constant([thrower, thrower]));
const how = fc.constantFrom('at once', 'later', 'by a promise of its own', 'thrown', 'rejected');

function junkStore(sync: boolean, gives: unknown, way: string): Store {
  const apply = (): unknown => {
    switch (way) {
      case 'at once':
        return gives;
      case 'later':
        return Promise.resolve(gives);
      case 'by a promise of its own':
        // biome-ignore lint/suspicious/noThenProperty: as some libraries do
        return { then: (done: (value: unknown) => void) => done(gives) };
      case 'thrown':
        throw gives;
      default:
        return Promise.reject(gives);
    }
  };
  return remoteStore({ sync, apply: apply as Store['apply'] });
}

const ALGORITHMS: readonly Algorithm[] = [
  'token-bucket',
  'fixed-window',
  'sliding-window-log',
  'sliding-window-counter',
];

describe.each([
  ['allow', true, 200],
  ['deny', false, 503],
] as const)('with onStoreError %s, a store that gives junk', (onStoreError, allowed, status) => {
  it('is answered for, in a guard and in a limiter', async () => {
    const trial = fc.tuple(fc.boolean(), junk, how, fc.constantFrom(...ALGORITHMS));
    await fc.assert(
      fc.asyncProperty(trial, async ([sync, gives, way, algorithm]) => {
        const store = junkStore(sync, gives, way);
        const events: DecisionEvent[] = [];
        const faults: Fault[] = [];
        const options = { store, onStoreError, logger: false } as const;
        const rate = {
          name: 'rate',
          limit: 5,
          window: '1m',
          algorithm: algorithmByName(algorithm),
        } as const;
        const guard = createGuard([rateLimit(rate), concurrencyLimit({ name: 'now', limit: 5 })], {
          ...options,
          onDecision: (event) => events.push(event),
          onFault: (fault) => faults.push(fault),
        });
        const admission = await guard.admit(request());
        expect(admission).toMatchObject({ allowed, status });
        await admission.release({ status: 200 });
        await guard.close();
        expect(events.map(({ outcome }) => outcome)).toEqual(['error', 'error']);
        expect(faults.map(({ source }) => source)).toEqual(['store', 'store']);

        const limiter = createLimiter({ ...rate, name: 'direct' }, options);
        expect(await limiter.consume('ada')).toMatchObject({ allowed, outcome: 'error' });
        expect(await limiter.consumeAll(['ada', 'bob'])).toMatchObject({ allowed });
      }),
      { numRuns: 500 },
    );
  });
});

describe('a store whose answers were lost on their way', () => {
  it.each([
    ['too few', (answers: readonly Answer[]) => answers.slice(1)],
    ['too many', (answers: readonly Answer[]) => [...answers, ...answers]],
    [
      'without numbers',
      (answers: readonly Answer[]) => answers.map(({ allowed }) => ({ allowed })),
    ],
  ])('%s: is told of as an error of that call', async (_, spoil) => {
    const memory = memoryStore();
    const store: Store = remoteStore({
      sync: false,
      apply: async (steps: readonly Step[]) => spoil(memory.apply(steps)) as readonly Answer[],
    });
    const faults: Fault[] = [];
    const guard = createGuard(rateLimit({ name: 'api', limit: 5, window: '1m' }), {
      store,
      onFault: (fault) => faults.push(fault),
    });
    for (let i = 0; i < 8; i += 1) await guard.admit(request());
    // Errors of single calls: the breaker stays closed, and the store is called each time.
    expect(faults.map(({ error }) => error)).toEqual(
      Array(8).fill(expect.objectContaining({ code: 'SPW_STORE_ERROR', kind: 'reply' })),
    );
  });
});
