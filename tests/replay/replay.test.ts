import { Oracle } from '@spillway/conformance';
import { type Algorithm, memoryStore, type Step, type Store } from '@spillway/core';
import { makeRule, type Rule } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { redisStoreAt } from '@spillway/redis/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type LoggedRequest, madeUpLog, realLog } from './access-log.js';

const SECOND = 1_000_000;
const logs: [string, LoggedRequest[]][] = [['a made-up access log', madeUpLog(4_000)]];
const real = realLog();
if (real) logs.push(['a real access log', real]);

/** One character a request: `+` admitted, `-` refused. */
async function replay(
  store: Store,
  clock: ManualClock,
  rule: Rule,
  limiter: string,
  requests: readonly LoggedRequest[],
): Promise<string> {
  let said = '';
  for (const { client, timeUs } of requests) {
    clock.setUs(timeUs);
    const step: Step = { op: 'take', limiter, key: client, rule, cost: 1, binding: true };
    const [answer] = await store.apply([step]);
    said += answer?.allowed ? '+' : '-';
  }
  return said;
}

function replayExactly(rule: Rule, requests: readonly LoggedRequest[]): string {
  const oracle = new Oracle();
  const said = requests.map(({ client, timeUs }) => {
    const step: Step = { op: 'take', limiter: 'l', key: client, rule, cost: 1, binding: true };
    return oracle.apply([step], timeUs)[0]?.allowed ? '+' : '-';
  });
  return said.join('');
}

const rules: [string, Algorithm, number, number, number?][] = [
  ['20 per minute', 'token-bucket', 20, 60 * SECOND],
  ['3 per 10 s, 4 at once', 'token-bucket', 3, 10 * SECOND, 4],
  ['20 per minute', 'fixed-window', 20, 60 * SECOND],
  ['20 per minute', 'sliding-window-counter', 20, 60 * SECOND],
  ['20 per minute', 'sliding-window-log', 20, 60 * SECOND],
];

describe.each(logs)('%s', (_, requests) => {
  describe.each(rules)('under %s (%s)', (__, algorithm, limit, windowUs, burst) => {
    const rule = makeRule(algorithm, limit, windowUs, burst);
    let exact: string;
    beforeAll(() => {
      exact = replayExactly(rule, requests);
    });

    it('refuses some and admits some', () => {
      expect(exact).toHaveLength(requests.length);
      expect([...new Set(exact)].sort()).toEqual(['+', '-']);
    });

    it('is decided in memory as in exact arithmetic', async () => {
      const clock = new ManualClock();
      expect(await replay(memoryStore({ clock }), clock, rule, 'l', requests)).toBe(exact);
    });

    const url = inject('redisUrl');
    describe.runIf(url)('on Redis', () => {
      const redis = new Redis(url ?? '', { db: 13, lazyConnect: true });
      beforeAll(() => redis.connect());
      beforeAll(() => redis.flushdb());
      afterAll(() => redis.disconnect());

      it('is decided as in exact arithmetic', async () => {
        const clock = new ManualClock();
        expect(await replay(redisStoreAt(redis, clock), clock, rule, 'l', requests)).toBe(exact);
      });
    });
  });
});
