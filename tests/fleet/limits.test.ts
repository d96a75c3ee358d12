/** The limits of one process and of a fleet, under load. */

import { checkBuilt, startDemo } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, describe, expect, it } from 'vitest';
import { ask, load } from './load.js';

beforeAll(() => checkBuilt('express'));

describe('one process', () => {
  it('admits exactly the limit, and says 429 with all fields to the rest', async () => {
    const { url } = await startDemo({ LIMIT: 100, WINDOW: '400d' });
    const { statuses, unanswered } = await load(url, { amount: 1_000, connections: 50 });
    expect({ statuses, unanswered }).toEqual({ statuses: { 200: 100, 429: 900 }, unanswered: 0 });

    const headers = { 'x-api-key': 'ada', 'x-forwarded-for': '192.0.2.1' };
    const refusal = await fetch(`${url}/things`, { headers });
    expect(refusal.status).toBe(429);
    const seconds = Number(refusal.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(4 * 86_400 - 60); // a unit takes four days to refill
    expect(Object.fromEntries(refusal.headers)).toMatchObject({
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      'ratelimit-policy': '"per-address";q=60;w=34560000, "per-key";q=100;w=34560000',
      ratelimit: `"per-address";r=59;t=576000, "per-key";r=0;t=${seconds}`,
    });
    expect(await refusal.json()).toMatchObject({ status: 429, 'violated-policies': ['per-key'] });
    expect((await ask(url, 'another key')).status).toBe(200);
  });

  it('answers what it has begun, then ends, when told to', async () => {
    const { url, process } = await startDemo({ LIMIT: 10, WINDOW: '1m' });
    const stream = await fetch(`${url}/stream`, { headers: { connection: 'close' } });
    const ended = new Promise((resolve) => process.once('exit', resolve));
    process.kill('SIGTERM');
    expect(await stream.text()).toBe('1\n2\n3\n4\n5\n');
    expect(await ended).toBe(0);
  });

  it('goes on limiting after a handler has failed', async () => {
    const { url } = await startDemo({ LIMIT: 10, WINDOW: '1m' });
    const statuses: number[] = [];
    for (let i = 0; i < 61; i += 1) statuses.push((await fetch(`${url}/fails`)).status);
    expect(statuses).toEqual([...Array(60).fill(500), 429]);
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });
});

describe.skipIf(redisProgram === null)('two processes that share a Redis', () => {
  it('admit together exactly one limit', async () => {
    const REDIS_URL = (await RedisServer.up()).url;
    const options = { LIMIT: 500, WINDOW: '400d', REDIS_URL };
    const fleet = await Promise.all([startDemo(options), startDemo(options)]);
    const loads = await Promise.all(
      fleet.map(({ url }) => load(url, { amount: 1_000, connections: 20 })),
    );
    const admitted = loads.map(({ statuses }) => statuses[200] ?? 0);
    const refused = loads.map(({ statuses }) => statuses[429] ?? 0);
    expect(sum(admitted)).toBe(500);
    expect(sum(refused)).toBe(1_500);
    expect(Math.min(...admitted)).toBeGreaterThan(0);
  });

  it('admit together no more than burst + rate x time', async () => {
    const REDIS_URL = (await RedisServer.up()).url;
    // With the default, a process that waits too long for Redis on a busy machine counts alone for a moment.
    const options = { LIMIT: 100, WINDOW: '2s', REDIS_URL, ON_STORE_ERROR: 'deny' };
    const fleet = await Promise.all([startDemo(options), startDemo(options)]);
    const start = performance.now();
    const loads = await Promise.all(fleet.map(({ url }) => load(url, { seconds: 2 })));
    const seconds = (performance.now() - start) / 1000;
    const admitted = sum(loads.map(({ statuses }) => statuses[200] ?? 0));
    expect(admitted).toBeLessThanOrEqual(100 + 50 * seconds);
    // And not much less: the load could use the whole rate for two seconds.
    expect(admitted).toBeGreaterThan(100 + 50 * 1.5);
  });
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
