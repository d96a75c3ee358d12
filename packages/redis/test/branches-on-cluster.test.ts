/** Groups with branches on a Redis Cluster: in one slot, and across slots. */

import { Oracle } from '@spillway/conformance';
import type { Step } from '@spillway/core';
import { makeLeasesRule, makeRule, measure, type WindowAnswer } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import slotOf from 'cluster-key-slot';
import fc from 'fast-check';
import { Cluster } from 'ioredis';
import { redisProgram, useCluster } from 'spillway-testkit/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RedisStore, redisStore } from '../src/index.js';
import { redisStoreAt } from '../src/testing.js';
import { nameOf, take } from './steps.js';

const KEYS = ['ada', 'bob', 'eve', 'joe', 'kim'];

describe.skipIf(redisProgram === null)('on Redis Cluster, a group with branches', () => {
  const { servers, nodes } = useCluster();
  let client: Cluster;
  let store: RedisStore;

  beforeAll(async () => {
    client = new Cluster(servers.map(({ port }) => ({ host: '127.0.0.1', port })));
    store = redisStore(client);
    expect(new Set(KEYS.map((key) => slotOf(nameOf(key)))).size).toBe(KEYS.length);
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

  const told = (answers: readonly { allowed: boolean; branch?: number }[]) =>
    answers.map(({ allowed, branch }) => `${allowed ? 'passes' : 'refuses'}, ${branch}`);

  it('is one call if all its keys are in one slot', async () => {
    const group = [undefined, 1, 2].map((branch) =>
      take('ada', { limiter: `${branch}`, ...(branch && { branch }) }),
    );
    await store.apply([take('ada', { limiter: '1', cost: 3 })]);
    for (const node of nodes) await node.config('RESETSTAT');
    expect(told(await store.apply(group))).toEqual(['passes, 2', 'refuses, 2', 'passes, 2']);
    const stats = await Promise.all(nodes.map((node) => node.info('commandstats')));
    expect(stats.join().match(/cmdstat_evalsha:calls=\d+/g)).toEqual(['cmdstat_evalsha:calls=1']);
  });

  it('charges the first branch that passes, and tells what the others would do', async () => {
    await spend('eve');
    const group = [
      take('ada'),
      take('bob', { branch: 1 }),
      take('eve', { branch: 1 }),
      take('joe', { branch: 2 }),
      take('kim', { branch: 3 }),
    ];
    const answers = await store.apply(group);
    expect(told(answers)).toEqual([
      'passes, 2',
      'passes, 2',
      'refuses, 2',
      'passes, 2',
      'passes, 2',
    ]);
    expect(answers.map((answer) => (answer as WindowAnswer).current)).toEqual([1, 0, 3, 1, 0]);
    expect(answers.map(({ provisional }) => provisional === true)).toEqual([
      ...[false, false, true, false, false],
    ]);
    expect(await used(...KEYS)).toEqual([1, 0, 3, 1, 0]);
  });

  it('keeps nothing if its common steps refuse, or all branches do', async () => {
    await spend('eve', 'joe');
    const refusedByCommon = [take('eve'), take('ada', { branch: 1 }), take('bob', { branch: 2 })];
    expect(told(await store.apply(refusedByCommon))).toEqual([
      'refuses, 0',
      'passes, 0',
      'passes, 0',
    ]);
    const refusedByAll = [
      take('ada'),
      take('bob', { branch: 1 }),
      take('eve', { branch: 1 }),
      take('joe', { branch: 2 }),
      take('kim', { branch: 2 }),
    ];
    const answers = await store.apply(refusedByAll);
    expect(told(answers)).toEqual([
      'passes, 0',
      'passes, 0',
      'refuses, 0',
      'refuses, 0',
      'passes, 0',
    ]);
    expect(answers.map((answer) => (answer as WindowAnswer).current)).toEqual([0, 0, 3, 3, 0]);
    expect(await used(...KEYS)).toEqual([0, 0, 3, 3, 0]);
  });

  describe('of which a slot fails', () => {
    beforeEach(() => client.hset(nameOf('bob'), 'not', 'ours'));
    const failed = { code: 'SPW_STORE_ERROR' };

    it('fails, and keeps nothing, if the slot is of the common steps or of the branch that is asked', async () => {
      await spend('eve');
      for (const group of [
        [take('bob'), take('ada'), take('joe', { branch: 1 }), take('kim', { branch: 2 })],
        [
          take('ada'),
          take('joe', { branch: 1 }),
          take('bob', { branch: 1 }),
          take('kim', { branch: 2 }),
        ],
        [
          take('ada'),
          take('eve', { branch: 1 }),
          take('bob', { branch: 2 }),
          take('kim', { branch: 2 }),
        ],
      ]) {
        await expect(store.apply(group)).rejects.toMatchObject(failed);
        expect(await used('ada', 'eve', 'joe', 'kim')).toEqual([0, 3, 0, 0]);
      }
    });

    it('is refused if a common step refuses', async () => {
      await spend('eve');
      const group = [
        take('eve'),
        take('ada'),
        take('bob', { branch: 1 }),
        take('kim', { branch: 2 }),
      ];
      const answers = await store.apply(group);
      expect(told(answers)).toEqual(['refuses, 0', 'passes, 0', 'passes, 0', 'passes, 0']);
      expect(answers[2]?.failure).toMatchObject(failed);
      expect(await used('ada', 'kim')).toEqual([0, 0]);
    });

    it('goes on to the next branch if another slot refuses the one that failed', async () => {
      await spend('eve');
      const group = [
        take('ada'),
        take('eve', { branch: 1 }),
        take('bob', { branch: 1 }),
        take('kim', { branch: 2 }),
      ];
      const answers = await store.apply(group);
      expect(told(answers)).toEqual(['passes, 2', 'refuses, 2', 'passes, 2', 'passes, 2']);
      expect(answers[2]?.failure).toMatchObject(failed);
      expect(await used('ada', 'kim')).toEqual([1, 1]);
    });

    it('passes if the slot is of a branch that is not needed', async () => {
      const group = [
        take('ada'),
        take('eve', { branch: 1 }),
        take('bob', { branch: 2 }),
        take('kim', { branch: 2 }),
      ];
      const answers = await store.apply(group);
      expect(told(answers)).toEqual(['passes, 1', 'passes, 1', 'passes, 1', 'passes, 1']);
      expect(answers.map(({ failure }) => failure !== undefined)).toEqual([
        false,
        false,
        true,
        false,
      ]);
      expect(await used('ada', 'eve', 'kim')).toEqual([1, 1, 0]);
    });
  });

  it('is decided as one on one server would be', async () => {
    const rules = [
      makeRule('token-bucket', 4, 60_000_000),
      makeRule('token-bucket', 7, 60_000_000),
      makeRule('sliding-window-counter', 4, 60_000_000),
      makeRule('sliding-window-log', 4, 60_000_000),
      makeLeasesRule(4, 60_000_000),
    ];
    const branch = fc.constantFrom(undefined, 2, 2, 5, 5, 9);
    const oneStep = fc.record({
      branch,
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
          const steps = parts.map(({ step: { branch: own, ...step }, key }): Step => {
            const lease = step.rule.machine === 'leases' && {
              lease: { id: `${at}`, critical: false },
            };
            return take(key, { ...step, ...lease, ...(own && { branch: own }) });
          });
          const answers = await onCluster.apply(steps);
          const verdicts = oracle.apply(steps, clock.nowUs());
          for (const [i, { rule, cost }] of steps.entries()) {
            const answer = answers[i] ?? expect.unreachable();
            const { allowed, branch: charged, remaining } = verdicts[i] ?? expect.unreachable();
            const { remaining: left } = measure(rule, answer, cost);
            expect({ allowed: answer.allowed, branch: answer.branch, remaining: left }).toEqual({
              allowed,
              branch: charged,
              remaining,
            });
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});
