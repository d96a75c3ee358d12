/** Calls that no request waits for: sent apart from those that a request waits for, and sent once. */

import type { Step } from '@spillway/core';
import { makeLeasesRule, systemClock } from '@spillway/core/store';
import { describe, expect, it } from 'vitest';
import { type RedisClient, redisStore } from '../src/index.js';

const rule = makeLeasesRule(5, 60_000_000);
const SECOND_US = 1_000_000;

function step(op: Step['op'], id: string): Step {
  const lease = { id, critical: false };
  return { op, limiter: 'two', key: 'ada', rule, cost: 1, binding: true, lease };
}

/** A server that answers every group that it came too late, or that it passes. */
function fakeRedis(isLate: boolean) {
  const calls: { readonly keys: number; readonly deadlineUs: number }[] = [];
  const client: RedisClient = {
    state: 'ready',
    async evalsha(_sha, keys, args) {
      calls.push({ keys: keys.length, deadlineUs: Number(args[0]) });
      return [
        systemClock.nowUs(),
        ...keys.flatMap<string | number>(() => (isLate ? ['!late'] : [3, 0])),
      ];
    },
    eval: () => Promise.reject(new Error('the script is known')),
    onceChanged: () => () => undefined,
  };
  return { calls, store: redisStore(client) };
}

describe('a call in the background', () => {
  it('shares a script call with none of another deadline, so that it lends none', async () => {
    const { calls, store } = fakeRedis(false);
    await store.apply([step('take', 'a')]);
    calls.length = 0;
    const nowUs = systemClock.nowUs();
    const renew = (id: string, seconds: number) =>
      store.apply([step('record', id)], {
        deadlineUs: nowUs + seconds * SECOND_US,
        background: true,
      });
    await Promise.all([
      store.apply([step('take', 'b')], { deadlineUs: nowUs + SECOND_US }),
      renew('c', 10),
      store.apply([step('put', 'd')], { background: true }),
      renew('e', 10),
      renew('f', 20),
    ]);
    const seconds = calls.map(({ keys, deadlineUs }) => [
      keys,
      Math.round((deadlineUs - nowUs) / SECOND_US),
    ]);
    // What is given back has no deadline, and shares a call with any other.
    expect(seconds.sort()).toEqual([
      [1, 20],
      [2, 1],
      [2, 10],
    ]);
  });

  it.each([
    [20, [10, 20]],
    [10, [10]],
  ])(
    'shares one with another background call only by its deadline, 10 s and %i s',
    async (other, wanted) => {
      const { calls, store } = fakeRedis(false);
      await store.apply([step('take', 'a')]);
      calls.length = 0;
      const nowUs = systemClock.nowUs();
      const renew = (id: string, seconds: number) => {
        const deadlineUs = nowUs + seconds * SECOND_US;
        return store.apply([step('record', id)], { deadlineUs, background: true });
      };
      await Promise.all([renew('a', 10), renew('b', other)]);
      expect(calls.map(({ deadlineUs }) => Math.round((deadlineUs - nowUs) / SECOND_US))).toEqual(
        wanted,
      );
    },
  );

  it('is not sent again where the server was told another time, as one is that a request waits for', async () => {
    const { calls, store } = fakeRedis(true);
    const deadlineUs = systemClock.nowUs() + SECOND_US;
    const ask = (background: boolean) =>
      store.apply([step('record', 'a')], { deadlineUs, background });
    await expect(ask(false)).rejects.toMatchObject({ code: 'SPW_STORE_TIMEOUT' });
    expect(calls).toHaveLength(2);
    await expect(ask(true)).rejects.toMatchObject({ code: 'SPW_STORE_TIMEOUT' });
    expect(calls).toHaveLength(3);
  });
});
