/** A grant that is refunded in parts: each further part needs the receipt of the rest. */

import { type Answer, memoryStore, type Store } from '@spillway/core';
import {
  makeRule,
  makeShaperRule,
  type Rule,
  receiptFrom,
  receiptOfRest,
  type Step,
} from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { redisStoreAt } from '@spillway/redis/testing';
import { Redis } from 'ioredis';
import { redisUrl } from 'spillway-testkit/redis';
import { afterAll, describe, expect, it } from 'vitest';

const MINUTE_US = 60_000_000;
const RULES: readonly [string, Rule][] = [
  ['token-bucket', makeRule('token-bucket', 10, MINUTE_US)],
  ['token-bucket of fractions', makeRule('token-bucket', 7, MINUTE_US)],
  ['queue', makeShaperRule(7, MINUTE_US, 7, 2 * MINUTE_US)],
  ['fixed-window', makeRule('fixed-window', 10, 86_400_000_000)],
  ['sliding-window-log', makeRule('sliding-window-log', 10, MINUTE_US)],
];

/**
 * Takes 6 units and refunds `parts` of them, one after another. Returns whether each part refunded anything, and what
 * is left.
 */
async function giveBack(store: Store, rule: Rule, key: string, parts: readonly number[]) {
  const one = async (step: Step) => (await store.apply([step]))[0] as Answer;
  const take: Step = { op: 'take', limiter: 'rest', key, rule, cost: 6, binding: true };
  let receipt = receiptFrom(rule, await one(take), 6);
  const given: boolean[] = [];
  for (const cost of parts) {
    const put: Step = { ...take, op: 'put', cost, receipt };
    given.push((await one(put)).allowed);
    receipt = receiptOfRest(put) ?? { ...receipt, units: 0 };
  }
  return { given, after: await one({ ...take, op: 'look', cost: 1 }), rest: receipt.units };
}

/** The used part of a state, without the instant at which the answer was given. */
function spentUs(answer: Answer): number {
  if ('tatUs' in answer) return answer.tatUs - answer.nowUs;
  if ('used' in answer) return answer.used;
  return 'current' in answer ? answer.current : Number.NaN;
}

const CLOCK = new ManualClock(1_800_000_000_000_000);
const client = new Redis(redisUrl ?? '', { db: 11, lazyConnect: true });
const STORES: readonly [string, () => Store][] = [
  ['in memory', () => memoryStore({ clock: CLOCK })],
  ['in Redis', () => redisStoreAt(client, CLOCK)],
];
afterAll(() => client.disconnect());

describe.each(STORES)('%s', (where, make) => {
  describe.skipIf(where === 'in Redis' && redisUrl === null).each(RULES)('%s', (name, rule) => {
    it('parts give back as much as one', async () => {
      const whole = await giveBack(make(), rule, `whole ${name}`, [6]);
      const parts = await giveBack(make(), rule, `parts ${name}`, [1, 2, 3]);
      expect(parts.given).toEqual([true, true, true]);
      expect(spentUs(parts.after)).toBe(spentUs(whole.after));
      expect(parts.rest).toBe(0);
    });

    it('nothing more is given back than was taken', async () => {
      const store = make();
      const key = `both ${name}`;
      const other: Step = { op: 'take', limiter: 'rest', key, rule, cost: 1, binding: true };
      await store.apply([other]);
      const { given, after } = await giveBack(store, rule, key, [4, 4, 1]);
      expect(given).toEqual([true, true, false]);
      const [alone] = await store.apply([{ ...other, key: `alone ${name}` }]);
      expect(spentUs(after)).toBe(spentUs(alone as Answer));
    });
  });
});

it('what the stand-in has charged is given back there, in parts too', () => {
  const rule = makeRule('token-bucket', 10, MINUTE_US);
  const local = makeRule('token-bucket', 5, MINUTE_US);
  const fallbackReceipt = { atUs: 36_000_000, num: 0, units: 3 };
  const receipt = { atUs: 18_000_000, num: 0, units: 3, fallbackReceipt };
  const put: Step = {
    op: 'put',
    limiter: 'rest',
    key: 'ada',
    rule,
    cost: 1,
    binding: true,
    onStoreError: local,
    receipt,
  };
  expect(receiptOfRest(put)).toEqual({
    atUs: 12_000_000,
    num: 0,
    units: 2,
    fallbackReceipt: { atUs: 24_000_000, num: 0, units: 2 },
  });
  const unknown = { ...receipt, atUs: -1 };
  expect(receiptOfRest({ ...put, receipt: unknown })).toMatchObject({ atUs: -1, units: 2 });
  expect(receiptOfRest({ ...put, cost: 3 })).toBeUndefined();
});
