/** Groups across slots of a Redis Cluster. */

import { Oracle } from '@spillway/conformance';
import type { Step } from '@spillway/core';
import {
  makeDistinctRule,
  makeLeasesRule,
  makeRule,
  measure,
  type WindowAnswer,
} from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import fc from 'fast-check';
import { Cluster } from 'ioredis';
import { redisProgram, useCluster } from 'spillway-testkit/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashSlotOf } from '../src/hash-slot.js';
import { type RedisStore, redisStore } from '../src/index.js';
import { redisStoreAt } from '../src/testing.js';
import { nameOf, take } from './steps.js';

const KEYS = ['ada', 'bob', 'eve', 'joe', 'kim'];

describe.skipIf(redisProgram === null)('on Redis Cluster, a group across slots', () => {
  const { servers, nodes } = useCluster();
  let client: Cluster;
  let store: RedisStore;

  beforeAll(async () => {
    client = new Cluster(servers.map(({ port }) => ({ host: '127.0.0.1', port })));
    store = redisStore(client);
    expect(new Set(KEYS.map((key) => hashSlotOf(nameOf(key)))).size).toBe(KEYS.length);
  });
  afterAll(async () => {
    client?.disconnect();
  });
  beforeEach(async () => {
    for (const node of nodes) await node.flushall();
  });

  /** The units that each key has used. */
  async function used(...keys: string[]): Promise<number[]> {
    const looks = keys.map((key) => store.apply([take(key, { op: 'look' })]));
    const answers = await Promise.all(looks);
    return answers.map(([answer]) => (answer as WindowAnswer).current);
  }

  async function spend(...keys: string[]): Promise<void> {
    for (const key of keys) await store.apply([take(key, { cost: 3 })]);
  }

  const told = (answers: readonly { allowed: boolean }[]) => answers.map(({ allowed }) => allowed);

  it('keeps nothing if one of its slots refuses, and says that this may have changed', async () => {
    await spend('eve');
    const answers = await store.apply([take('ada'), take('bob'), take('eve')]);
    expect(told(answers)).toEqual([true, true, false]);
    expect(answers.map((answer) => (answer as WindowAnswer).current)).toEqual([0, 0, 3]);
    expect(answers.map(({ provisional }) => provisional === true)).toEqual([false, false, true]);
    expect(await used(...KEYS)).toEqual([0, 0, 3, 0, 0]);
  });

  it('leaves no items of groups that repeat each other and are all refused', async () => {
    await spend('eve');
    const rule = makeDistinctRule(2, 60_000_000);
    const items = (item: string) => take('ada', { rule, items: [item.repeat(32)] });
    for (const item of ['a', 'b', 'c']) {
      const group = [items(item), take('eve')];
      await Promise.all(Array.from({ length: 5 }, () => store.apply(group)));
    }
    expect(await store.apply([{ ...items('d'), op: 'look' }])).toMatchObject([{ used: 0 }]);
    expect(await store.apply([items('d'), take('bob')])).toMatchObject([
      { allowed: true, used: 1 },
      { allowed: true, current: 1 },
    ]);
  });

  describe('of which a slot fails', () => {
    beforeEach(() => client.hset(nameOf('bob'), 'not', 'ours'));
    const failed = { code: 'SPW_STORE_ERROR' };

    it('fails, and keeps nothing', async () => {
      const group = [take('ada'), take('joe'), take('bob')];
      await expect(store.apply(group)).rejects.toMatchObject(failed);
      expect(await used('ada', 'joe')).toEqual([0, 0]);
    });

    it('is refused if another slot refuses', async () => {
      await spend('eve');
      const answers = await store.apply([take('eve'), take('ada'), take('bob')]);
      expect(told(answers)).toEqual([false, true, true]);
      expect(answers[2]?.failure).toMatchObject(failed);
      expect(await used('ada', 'eve')).toEqual([0, 3]);
    });
  });

  it('is decided as one on one server would be', async () => {
    const rules = [
      makeRule('token-bucket', 4, 60_000_000),
      makeRule('token-bucket', 7, 60_000_000),
      makeRule('sliding-window-counter', 4, 60_000_000),
      makeRule('sliding-window-log', 4, 60_000_000),
      makeLeasesRule(4, 60_000_000),
      makeDistinctRule(4, 60_000_000),
    ];
    const oneStep = fc.record({
      rule: fc.constantFrom(...rules),
      cost: fc.integer({ min: 0, max: 3 }),
      binding: fc.boolean(),
    });
    const group = fc
      .tuple(...KEYS.map(() => fc.option(oneStep, { nil: undefined, freq: 4 })))
      .map((steps) =>
        steps.flatMap((step, at) => (step ? [{ step, key: KEYS[at] as string }] : [])),
      );
    await fc.assert(
      fc.asyncProperty(fc.array(group, { minLength: 20, maxLength: 20 }), async (groups) => {
        for (const node of nodes) await node.flushall();
        const clock = new ManualClock();
        const onCluster = redisStoreAt(client, clock);
        const oracle = new Oracle();
        for (const [at, parts] of groups.entries()) {
          clock.advance(7_000);
          const items = (count: number) =>
            Array.from({ length: count }, (_, i) => `${(at * 3 + i) % 7}`.repeat(32));
          const steps = parts.map(({ step, key }): Step => {
            const lease = step.rule.machine === 'leases' && {
              lease: { id: `${at}`, critical: false },
            };
            const own = step.rule.machine === 'distinct' && { items: items(step.cost) };
            return take(key, { ...step, ...lease, ...own });
          });
          const answers = await onCluster.apply(steps);
          const verdicts = oracle.apply(steps, clock.nowUs());
          for (const [i, { rule, cost }] of steps.entries()) {
            const answer = answers[i] ?? expect.unreachable();
            const { allowed, remaining } = verdicts[i] ?? expect.unreachable();
            const { remaining: left } = measure(rule, answer, cost);
            expect({ allowed: answer.allowed, remaining: left }).toEqual({ allowed, remaining });
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});
