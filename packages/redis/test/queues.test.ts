/** Buckets that wait in Redis: many takes that share one call are decided as if each had come alone. */

import { type Answer, memoryStore, type Step } from '@spillway/core';
import { makeRule, makeShaperRule } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { redisUrl } from 'spillway-testkit/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisStoreAt } from '../src/testing.js';

const SECOND = 1_000_000;
const paced = makeShaperRule(4, SECOND, 1, 3 * SECOND);
const thirds = makeShaperRule(3, SECOND, 2, 2 * SECOND);
const hasty = makeShaperRule(10, SECOND, 3, 0);
const bucket = makeRule('token-bucket', 3, SECOND);

describe.skipIf(redisUrl === null)('buckets that wait in Redis', () => {
  let client: Redis;
  let runs = 0;
  beforeAll(async () => {
    client = new Redis(redisUrl ?? '');
    await client.ping();
  });
  afterAll(() => client.disconnect());

  function setUp() {
    const clock = new ManualClock(1_767_225_600_000_000);
    runs += 1;
    const limiter = `queues-${process.pid}-${Math.random()}-${runs}`;
    const step = (key: string, other: Partial<Step> = {}): Step => {
      return { op: 'take', limiter, key, rule: paced, cost: 1, binding: true, ...other };
    };
    return {
      clock,
      store: redisStoreAt(client, clock),
      memory: memoryStore({ clock }),
      limiter,
      step,
    };
  }

  it('decide takes of one call as if each had come alone, whatever their states', async () => {
    const ask = fc.record({
      key: fc.constantFrom('ada', 'bob', 'eve'),
      rule: fc.constantFrom(paced, paced, paced, thirds, hasty, bucket),
      hold: fc.constantFrom(false, false, false, false, false, false, true),
    });
    const batches = fc.array(
      fc.record({
        moveUs: fc.constantFrom(0, 1, 250_000, 333_333, 5 * SECOND),
        asks: fc.array(ask, { minLength: 1, maxLength: 12 }),
      }),
      { minLength: 5, maxLength: 15, size: 'max' },
    );
    let waiting = 0;
    await fc.assert(
      fc.asyncProperty(batches, async (trace) => {
        const { clock, store, memory, step } = setUp();
        for (const { moveUs, asks } of trace) {
          clock.setUs(clock.nowUs() + moveUs);
          const steps = asks.map(({ key, rule, hold }) =>
            hold && rule !== bucket
              ? step(key, { rule, op: 'hold', cost: 0, holdUs: SECOND })
              : step(key, { rule }),
          );
          const answers = await Promise.all(steps.map((one) => store.apply([one])));
          for (const [at, one] of steps.entries()) {
            const [expected] = memory.apply([one]);
            expect(shown(answers[at]?.[0])).toEqual(shown(expected));
            if ('pausedUntilUs' in (expected as Answer)) waiting += 1;
          }
        }
      }),
      { seed: 20_260_101, numRuns: 60 },
    );
    expect(waiting).toBeGreaterThan(1_000);
  });

  it('store the instant and the span, then the pause, then the fraction', async () => {
    const { store, step, limiter, clock } = setUp();
    const text = (key: string) => client.get(`spw:1{${key}}${limiter}}q`);
    await store.apply([step('ada')]);
    expect(await text('ada')).toBe('1767225600250000:3250000');
    await store.apply([step('ada', { op: 'hold', cost: 0, holdUs: SECOND })]);
    expect(await text('ada')).toBe('1767225601000000:3250000:1767225601000000');
    await store.apply([step('bob', { rule: thirds })]);
    expect(await text('bob')).toBe('1767225600333333:2666667:0:1:3');
    await store.apply([step('bob', { rule: paced })]);
    expect(await text('bob')).toBe('1767225600583334:3250000');
    clock.advance('10s');
    await store.apply([step('bob', { rule: thirds, cost: 2 })]);
    expect(await text('bob')).toBe('1767225610666666:2666667:0:2:3');
  });

  it('reject a value that is not one of theirs, and change nothing', async () => {
    const { store, step, limiter } = setUp();
    const name = `spw:1{ada}${limiter}}q`;
    for (const text of ['1767225600250000', 'soon', '1767225600250000:-1', ':5']) {
      await client.set(name, text);
      await expect(store.apply([step('ada')])).rejects.toMatchObject({ code: 'SPW_STORE_ERROR' });
      const [look] = [step('ada', { op: 'look' })];
      await expect(store.apply([look])).rejects.toMatchObject({ code: 'SPW_STORE_ERROR' });
      expect(await client.get(name)).toBe(text);
    }
    await client.del(name);
  });
});

/** Replaces the instant of a full bucket, so that two full buckets are equal. */
function shown(answer: Answer | undefined): Answer | undefined {
  if (!answer || !('tatUs' in answer)) return answer;
  const { tatUs, tatNum, nowUs } = answer;
  const isFull = tatUs < nowUs || (tatUs === nowUs && tatNum === 0);
  return isFull ? { ...answer, tatUs: 0, tatNum: 0 } : answer;
}
