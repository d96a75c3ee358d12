/** Rejections of one key under several rules: each count has its own. */

import { createLimiter, rateLimit, type Step } from '@spillway/core';
import { countOf, remoteStore } from '@spillway/core/store';
import { describe, expect, it } from 'vitest';
import { remoteState } from '../src/stores/remote-state.js';
import { Remote, setUp } from './refusals-set-up.js';

/** Two counts for each key: the same units at once, but they take different times to refill. */
const numbers = { name: 'two', window: '1h', burst: 2 } as const;
const byMethod = rateLimit({
  ...numbers,
  limit: 2,
  plan: ({ method }) => (method === 'GET' ? { limit: 4 } : undefined),
  refundIf: (_, { status }) => status === 200,
});

/** Gives each count a separate name, whatever the store does with rules that share a key. */
class Apart extends Remote {
  override apply(steps: readonly Step[]) {
    return super.apply(
      steps.map((step) => ({ ...step, limiter: `${step.limiter} ${countOf(step)}` })),
    );
  }
}

async function refusedUnderBoth() {
  const store = remoteStore(new Apart());
  const all = setUp(byMethod, { store });
  const [posted] = [await all.admit({ method: 'POST' }), await all.admit({ method: 'POST' })];
  for (let i = 0; i < 2; i += 1) await all.admit({ method: 'GET' });
  const calls = async (method: string) => {
    const before = store.asked;
    const { outcome } = await all.ask({ method });
    return { outcome, calls: store.asked - before };
  };
  expect((await calls('POST')).outcome).toBe('denied');
  expect((await calls('GET')).outcome).toBe('denied');
  return { store, posted, calls };
}

describe('a key refused under two rules of one limiter', () => {
  it('is remembered under each', async () => {
    const { calls } = await refusedUnderBoth();
    for (const method of ['POST', 'GET', 'POST']) {
      expect(await calls(method)).toEqual({ outcome: 'denied', calls: 0 });
    }
  });

  it('is set free by a refund under that rule only', async () => {
    const { posted, calls } = await refusedUnderBoth();
    await posted?.release({ status: 200 });
    expect(await calls('GET')).toEqual({ outcome: 'denied', calls: 0 });
    expect(await calls('POST')).toEqual({ outcome: 'allowed', calls: 1 });
  });

  it('is set free by a reset under every rule', async () => {
    const { store, calls } = await refusedUnderBoth();
    await createLimiter({ ...numbers, limit: 2 }, { store }).reset('@203.0.113.7');
    expect(await calls('POST')).toMatchObject({ calls: 1 });
    expect(await calls('GET')).toMatchObject({ calls: 1 });
  });
});

describe('a client that chooses its limit, and with it the count', () => {
  it('is remembered under 64 of them, the latest', async () => {
    const chosen = rateLimit({
      ...numbers,
      limit: 2,
      plan: ({ path }) => ({ limit: Number(path) }),
      burst: 1,
    });
    const store = remoteStore(new Apart());
    const { admit } = setUp(chosen, { store });
    for (let limit = 1; limit <= 200; limit += 1) {
      for (let i = 0; i < 2; i += 1) await admit({ path: `${limit}` });
    }
    expect(remoteState(store).denials?.size).toBe(64);
    const { asked } = store;
    for (let limit = 137; limit <= 200; limit += 1) await admit({ path: `${limit}` });
    expect(store.asked).toBe(asked);
    await admit({ path: '136' });
    expect(store.asked).toBe(asked + 1);
  });
});

describe('a refusal that may be undone the next moment', () => {
  it('is not remembered', async () => {
    const store = remoteStore(new Remote());
    const { memory } = store;
    Object.assign(store, {
      memory: {
        apply: (steps: Parameters<typeof memory.apply>[0]) =>
          memory.apply(steps).map((answer) => ({ ...answer, provisional: !answer.allowed })),
      },
    });
    const limiter = createLimiter({ name: 'one', limit: 1, window: '1h' }, { store });
    for (let i = 0; i < 4; i += 1) await limiter.consume('ada');
    expect(store.asked).toBe(4);
  });

  it('is asked for again as soon as its store says', async () => {
    const store = Object.assign(remoteStore(new Remote()), { denialsLastUs: 1_000_000 });
    const limiter = createLimiter({ name: 'one', limit: 1, window: '1h' }, { store });
    for (let i = 0; i < 4; i += 1) await limiter.consume('ada');
    store.clock.advance(999);
    await limiter.consume('ada');
    expect(store.asked).toBe(2);
    store.clock.advance(1);
    await limiter.consume('ada');
    expect(store.asked).toBe(3);
  });
});
