/** Replies are checked before they are used: an invalid one is an error of that call, and changes nothing else. */

import { createGuard, createLimiter, rateLimit, type Step } from '@spillway/core';
import { makeClaimsRule, makeLeasesRule, makeRule } from '@spillway/core/store';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Ioredis } from '../src/clients/ioredis.js';
import { type RedisClient, redisStore } from '../src/index.js';
import { take } from './steps.js';

type Change = (reply: unknown[]) => unknown;

/** A way to Redis on which a test can change the replies. */
class Between implements RedisClient {
  readonly state = 'ready';
  change: Change = (reply) => reply;
  /** The deadlines that were sent, by the server's clock. */
  readonly deadlines: number[] = [];
  private readonly redis: Ioredis;

  constructor(redis: Ioredis) {
    this.redis = redis;
  }

  async evalsha(sha: string, keys: string[], args: string[]): Promise<unknown> {
    this.deadlines.push(Number(args[0]));
    return this.change([...((await this.redis.evalsha(sha, keys, args)) as unknown[])]);
  }

  async eval(text: string, keys: string[], args: string[]): Promise<unknown> {
    return this.change([...((await this.redis.eval(text, keys, args)) as unknown[])]);
  }

  onceChanged = () => () => undefined;
}

const group: readonly Step[] = [
  take('window'),
  take('sliding', { rule: makeRule('sliding-window-counter', 3, 60_000_000) }),
  take('bucket', { rule: makeRule('token-bucket', 3, 10_000_000) }),
  take('log', { rule: makeRule('sliding-window-log', 3, 60_000_000) }),
  take('fleet', {
    rule: makeLeasesRule(9, 60_000_000),
    lease: { id: 'a lease', critical: false },
  }),
  take('once', {
    rule: makeClaimsRule(60_000_000, 60_000_000),
    claim: { id: 'an id', owner: 'aaaaaaaaaaaaaaaa' },
  }),
];

/** The same group when its claim is already done. */
const repeated: readonly Step[] = group.map((step) =>
  step.claim ? { ...step, op: 'done' } : step,
);

const JUNK: readonly unknown[] = [
  undefined,
  null,
  '',
  'x',
  '1.5',
  ' 1',
  Number.NaN,
  Infinity,
  1.5,
  2 ** 60,
  '99999999999999999',
  [],
  {},
  true,
];

describe.skipIf(redisProgram === null)('a reply', () => {
  let server: RedisServer;
  let client: Redis;
  beforeAll(async () => {
    server = await startServer();
    client = new Redis(server.port);
  });
  afterAll(async () => {
    client.disconnect();
    await server.kill();
  });
  const open = () => new Between(new Ioredis(client));

  it.each([
    ['in strings', (reply: unknown[]) => reply.map(String)],
    [
      'in bigints',
      (reply: unknown[]) => reply.map((word) => (typeof word === 'number' ? BigInt(word) : word)),
    ],
  ])('is read %s too', async (_, change) => {
    const proxy = Object.assign(open(), { change });
    const answers = await redisStore(proxy).apply(group);
    expect(answers.map(({ allowed }) => allowed)).toEqual(group.map(() => true));
  });

  const texts = ['kaaaaaaaaaaaaaaa', 'kaaaaaaaaaaaaaaaaa', 'kaaaaaaaaaaaaaaaé', 'aaaaaaaaaaaaaaaa'];
  it.each(texts)('in which a claim has no owner is an error: %j', async (text) => {
    const change = (reply: unknown[]) => reply.with(-1, text);
    const store = redisStore(Object.assign(open(), { change }));
    await expect(store.apply(group)).rejects.toMatchObject({ kind: 'reply' });
  });

  it.each([`k${'a'.repeat(16)}${'n'.repeat(257)}`, `k${'a'.repeat(16)}a\nb`])(
    'in which a claim has no note is an error: %j',
    async (text) => {
      const change = (reply: unknown[]) => reply.with(-1, text);
      const store = redisStore(Object.assign(open(), { change }));
      await expect(store.apply(repeated)).rejects.toMatchObject({ kind: 'reply' });
    },
  );

  it('in which a claim has another state is an error', async () => {
    const change = (reply: unknown[]) => reply.with(-3, 7);
    const store = redisStore(Object.assign(open(), { change }));
    await expect(store.apply(group)).rejects.toMatchObject({ kind: 'reply' });
  });

  const change = fc.oneof(
    fc.nat(30).map(
      (at): Change =>
        (reply) =>
          reply.filter((_, i) => i !== at % reply.length),
    ),
    fc.constantFrom(...JUNK, 0, 7).map(
      (word): Change =>
        (reply) => [...reply, word],
    ),
    fc.tuple(fc.nat(30), fc.constantFrom(...JUNK)).map(
      ([at, word]): Change =>
        (reply) =>
          reply.with(at % reply.length, word),
    ),
    fc.constantFrom(...JUNK, 0, -1).map(
      (word): Change =>
        () =>
          word,
    ),
  );

  it('that is changed on its way is an error of that call', async () => {
    const proxy = open();
    const store = redisStore(proxy);
    await fc.assert(
      fc.asyncProperty(change, async (spoil) => {
        proxy.change = spoil;
        await expect(store.apply(group)).rejects.toMatchObject({
          code: 'SPW_STORE_ERROR',
          kind: 'reply',
        });
      }),
      { numRuns: 300 },
    );
    proxy.change = (reply) => reply;
    await expect(store.apply(group)).resolves.toHaveLength(group.length);
  });

  it('that is none teaches nothing of the time', async () => {
    const proxy = open();
    const store = redisStore(proxy);
    const ask = () => store.apply([take('ada')], { deadlineUs: (Date.now() + 60_000) * 1000 });
    await ask();
    for (const word of [Number.NaN, 'x', 1e15, 9_000_000_000_000_000]) {
      proxy.change = (reply) => [word, ...reply.slice(1), 7];
      await ask().catch(() => undefined);
    }
    proxy.change = (reply) => reply;
    await ask();
    const inAMinute = (Date.now() + 60_000) * 1000;
    expect(Math.abs((proxy.deadlines.at(-1) ?? 0) - inAMinute)).toBeLessThan(5_000_000);
  });

  it('that is none ends in onStoreError, for a guard as for a limiter', async () => {
    const proxy = Object.assign(open(), { change: (reply: unknown[]) => reply.slice(0, 1) });
    const options = { store: redisStore(proxy), onStoreError: 'deny', logger: false } as const;
    const outcomes: string[] = [];
    const guard = createGuard(rateLimit({ name: 'api', limit: 5, window: '1m' }), {
      ...options,
      onDecision: ({ outcome }) => outcomes.push(outcome),
    });
    const limiter = createLimiter({ name: 'api', limit: 5, window: '1m' }, options);
    const request = {
      method: 'GET',
      path: '/',
      clientIp: '203.0.113.7',
      header: () => undefined,
      raw: undefined,
    };
    for (let i = 0; i < 8; i += 1) {
      expect(await guard.admit(request)).toMatchObject({ allowed: false, status: 503 });
      expect(await limiter.consume('ada')).toMatchObject({ allowed: false, outcome: 'error' });
    }
    // One error for each request.
    expect(outcomes).toEqual(Array(8).fill('error'));
  });
});
