import type { Algorithm } from '@spillway/core';
import { makeRule } from '@spillway/core/store';
import { Redis as Upstash } from '@upstash/redis';
import { Redis } from 'ioredis';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { UpstashServer } from 'spillway-testkit/upstash';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fromUpstash, redisStore } from '../src/index.js';
import { ask } from './asking.js';
import { nameOf, take } from './steps.js';

const ALGORITHMS: readonly Algorithm[] = [
  'token-bucket',
  'fixed-window',
  'sliding-window-counter',
  'sliding-window-log',
];

describe.skipIf(redisProgram === null)('the Redis store over HTTP', () => {
  let server: RedisServer;
  let redis: Redis;
  let http: UpstashServer;

  beforeEach(async () => {
    server = await startServer();
    redis = new Redis(server.port);
    http = await UpstashServer.start(redis);
  });
  afterEach(async () => {
    await http.stop();
    redis.disconnect();
    await server.kill();
  });

  function connect(options: object = {}): Upstash {
    const { url, token } = http;
    return new Upstash({ url, token, retry: { retries: 0 }, enableTelemetry: false, ...options });
  }

  it('decides by any algorithm, however the client is set to send and to read', async () => {
    for (const options of [
      {},
      { automaticDeserialization: false },
      { responseEncoding: false },
      { enableAutoPipelining: false },
    ]) {
      const store = redisStore(fromUpstash(connect(options)));
      for (const algorithm of ALGORITHMS) {
        const rule = makeRule(algorithm, 3, 60_000_000);
        const step = take(JSON.stringify(options), { rule, limiter: algorithm, cost: 2 });
        const allowed = [await store.apply([step]), await store.apply([step])];
        expect(allowed.map(([answer]) => answer?.allowed)).toEqual([true, false]);
        expect(Object.values(allowed[0]?.[0] ?? {}).map((value) => typeof value)).not.toContain(
          'string',
        );
      }
    }
  });

  it('has no connection that could be ended', () => {
    const client = fromUpstash(connect());
    expect(() => redisStore(client, { reconnect: true })).toThrow('SPW_OPTION_INVALID');
  });

  it('gives every decision a request of its own, so that no promise is shared', async () => {
    const store = redisStore(fromUpstash(connect()));
    await store.apply([take('bob')]); // Redis knows the script
    http.requests.length = 0;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => store.apply([take('ada'), take('eve')])),
    );
    expect(answers.filter((all) => all.every(({ allowed }) => allowed))).toHaveLength(3);
    expect(http.requests).toEqual(Array(20).fill(1));
  });

  it('sends a decision in the very call that asks for it, with no timer or other request in between', async () => {
    const sent: string[] = [];
    const upstash = connect();
    const pipeline = () => {
      sent.push('asked');
      return upstash.pipeline();
    };
    const asked = redisStore(fromUpstash({ pipeline })).apply([take('ada')]);
    expect(sent).toEqual(['asked']);
    await asked;
  });

  it('coalesces where it is told to', async () => {
    const store = redisStore(fromUpstash(connect()), { coalesce: true });
    await store.apply([take('bob')]);
    http.requests.length = 0;
    await Promise.all(Array.from({ length: 20 }, () => store.apply([take('ada')])));
    expect(http.requests).toEqual([1]);
  });

  it('goes on when Redis has forgotten the script', async () => {
    const store = redisStore(fromUpstash(connect()));
    for (let i = 0; i < 3; i += 1) {
      await redis.script('FLUSH');
      expect((await store.apply([take('ada')]))[0]?.allowed).toBe(true);
    }
    expect((await store.apply([take('ada')]))[0]?.allowed).toBe(false);
    expect(http.requests).toEqual([1, 1, 1, 1, 1, 1, 1]);
  });

  it('fails only the group of a key that is not its own', async () => {
    await redis.hset(nameOf('bob'), 'not', 'ours');
    const store = redisStore(fromUpstash(connect()), { coalesce: true });
    const [ada, bob] = await Promise.allSettled(
      ['ada', 'bob'].map((key) => store.apply([take(key)])),
    );
    expect(ada?.status).toBe('fulfilled');
    expect(bob).toMatchObject({ reason: { code: 'SPW_STORE_ERROR' } });
  });

  it('fails with a code and without keys, addresses or tokens', async () => {
    const store = redisStore(fromUpstash(connect()));
    http.fault = 'status-500';
    const failed = await store.apply([take('ada')]).catch((error: Error) => error);
    expect(failed).toMatchObject({ code: 'SPW_STORE_UNAVAILABLE' });
    http.fault = 'none';
    const stranger = redisStore(fromUpstash(connect({ token: 'guessed' })));
    const refused = await stranger.apply([take('ada')]).catch((error: Error) => error);
    expect(refused).toMatchObject({ code: 'SPW_STORE_UNAVAILABLE' });
    for (const error of [failed, refused]) {
      expect((error as Error).message).not.toMatch(/ada|127|secret|guessed/);
    }
    expect(await redis.exists(nameOf('ada'))).toBe(0);
  });

  it('is not waited for beyond the deadline', async () => {
    const store = redisStore(fromUpstash(connect()));
    await store.apply([take('bob')]);
    http.fault = 'hang';
    const { result, tookMs } = await ask(store);
    expect(result).toBe('SPW_STORE_TIMEOUT');
    expect(tookMs).toBeLessThan(150);
    http.fault = 'none';
    await store.apply([take('ada')]);
  });

  it('charges nothing for a request that Redis comes to after its deadline', async () => {
    const store = redisStore(fromUpstash(connect()));
    await store.apply([take('bob')]); // now the store knows the difference of the clocks
    await redis.client('PAUSE', 200);
    expect((await ask(store)).result).toBe('SPW_STORE_TIMEOUT');
    expect(await redis.exists(nameOf('ada'))).toBe(0); // answered after the pause, and so after the late call
  });

  it('fails while nobody listens, and works as soon as somebody does', async () => {
    const store = redisStore(fromUpstash(connect()));
    const { url } = http;
    await http.stop();
    await expect(store.apply([take('ada')])).rejects.toMatchObject({
      code: 'SPW_STORE_UNAVAILABLE',
    });
    http = await UpstashServer.start(redis, Number(new URL(url).port));
    await store.apply([take('ada')]);
  });
});
