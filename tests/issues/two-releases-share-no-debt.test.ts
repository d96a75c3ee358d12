/**
 * Two rules that met on one limiter and key cut or forgot each other's counts: a `limit` function with a burst, a rolling deploy
 * that changed burst, window or lease, a live change that has not reached all. Each then admitted without end.
 */

import { type Algorithm, createGuard, memoryControl, rateLimit, type Step } from '@spillway/core';
import { makeLeasesRule, makeRule, type RateRule } from '@spillway/core/store';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { type Opened, onBothStores } from './both-stores.js';

const MINUTE = 60_000_000;

const take = (rule: Step['rule'], cost = 1): Step => ({
  op: 'take',
  limiter: 'api',
  key: 'ada',
  rule,
  cost,
  binding: true,
});

/** How many takes of each of two releases pass, asked in turns at one instant. */
async function inTurns({ store }: Opened, rules: readonly RateRule[]): Promise<number[]> {
  const admitted = rules.map(() => 0);
  for (let turn = 0; turn < 150; turn += 1) {
    for (const [i, rule] of rules.entries()) {
      const [answer] = await store.apply([take(rule)]);
      if (answer?.allowed) admitted[i] = (admitted[i] ?? 0) + 1;
    }
  }
  return admitted;
}

const releases: [string, RateRule, RateRule, number[]][] = [
  ['burst', bucket(10, MINUTE, 50), bucket(10, MINUTE, 5), [50, 5]],
  ['limit beside a burst', bucket(1000, MINUTE, 100), bucket(10, MINUTE, 100), [100, 100]],
  ['window', bucket(10, MINUTE), bucket(20, 2 * MINUTE), [10, 20]],
  ['fixed window', window('fixed-window', MINUTE), window('fixed-window', 2 * MINUTE), [10, 10]],
  ['window of a counter', ...counters('sliding-window-counter'), [10, 10]],
  ['window of a log', ...counters('sliding-window-log'), [10, 10]],
  ['algorithm', window('fixed-window', MINUTE), window('sliding-window-counter', MINUTE), [10, 10]],
];

function bucket(limit: number, windowUs: number, burst = limit): RateRule {
  return makeRule('token-bucket', limit, windowUs, burst);
}

function window(algorithm: Algorithm, windowUs: number): RateRule {
  return makeRule(algorithm, 10, windowUs);
}

function counters(algorithm: Algorithm): [RateRule, RateRule] {
  return [window(algorithm, MINUTE), window(algorithm, 2 * MINUTE)];
}

onBothStores(11, (open) => {
  describe('two releases behind one balancer', () => {
    it.each(releases)('that differ in %s admit what each promises', async (_, a, b, expected) => {
      expect(await inTurns(open(), [a, b])).toEqual(expected);
    });

    it.each([
      'token-bucket',
      'fixed-window',
      'sliding-window-counter',
      'sliding-window-log',
    ] as const)('share what was used when only the limit differs (%s)', async (algorithm) => {
      const [old, raised] = [makeRule(algorithm, 10, MINUTE), makeRule(algorithm, 20, MINUTE)];
      const { store } = open();
      await store.apply([take(old, 10)]);
      // Counts of units keep their units: ten of ten become ten of twenty. A bucket keeps its share: it is still empty.
      const left = algorithm === 'token-bucket' ? 0 : 10;
      const answers = [];
      for (let unit = 0; unit <= left; unit += 1)
        answers.push(...(await store.apply([take(raised)])));
      expect(answers.filter(({ allowed }) => allowed)).toHaveLength(left);
      expect((await store.apply([take(old)]))[0]?.allowed).toBe(false);
    });

    it('that differ in the lease leave each other their permits', async () => {
      const { store, clock } = open();
      const [long, short] = [makeLeasesRule(8, 6_000_000), makeLeasesRule(8, 1_000_000)];
      const hold = (rule: Step['rule'], id: string) =>
        store.apply([{ ...take(rule), lease: { id, critical: false } }]);
      for (let id = 0; id < 5; id += 1) await hold(long, `long ${id}`);
      await hold(short, 'short');
      const held = async () => {
        const [answer] = await store.apply([{ ...take(short), op: 'look' }]);
        return (answer as { used: number }).used;
      };
      clock.advance('1.3s');
      expect(await held()).toBe(5);
      await hold(short, 'another');
      clock.advance('4.699999s');
      expect(await held()).toBe(5);
      clock.advance(0.001);
      expect(await held()).toBe(0);
    });
  });

  describe('one limiter', () => {
    const admit = async (guard: ReturnType<typeof createGuard>, method: string) =>
      (await guard.admit(request({ method }))).allowed;

    it('with plans and a burst admits each burst once', async () => {
      const { store } = open();
      const limiter = rateLimit({
        name: 'api',
        limit: 10,
        plan: ({ method }) => (method === 'GET' ? { limit: 1000 } : undefined),
        window: '1m',
        burst: 20,
      });
      const guard = createGuard(limiter, { store, denialCache: false });
      const admitted = { POST: 0, GET: 0 };
      for (let turn = 0; turn < 200; turn += 1) {
        if (await admit(guard, 'POST')) admitted.POST += 1;
        else if (await admit(guard, 'GET')) admitted.GET += 1;
      }
      expect(admitted).toEqual({ POST: 20, GET: 20 });
    });

    it('of which a live change has not reached all admits each burst once', async () => {
      const { store } = open();
      const limiter = () => rateLimit({ name: 'api', limit: 10, window: '1m', burst: 50 });
      const control = memoryControl();
      control.set('api', { limits: { burst: 5 } }, { by: 'ada', because: 'test', for: '1h' });
      const guards = [
        createGuard(limiter(), { store, denialCache: false }),
        createGuard(limiter(), { store, control, denialCache: false }),
      ] as const;
      const admitted = [0, 0];
      for (let turn = 0; turn < 100; turn += 1) {
        for (const [i, guard] of guards.entries()) {
          if (await admit(guard, 'GET')) admitted[i] = (admitted[i] ?? 0) + 1;
        }
      }
      expect(admitted).toEqual([50, 5]);
    });
  });
});
