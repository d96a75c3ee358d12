/** Penalties in Redis: what is stored and for how long, and that a refund in one process ends a lock in another. */

import { createLimiter, fixedWindow, lockFor } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { Redis } from 'ioredis';
import { redisUrl } from 'spillway-testkit/redis';
import { afterAll, describe, expect, it } from 'vitest';
import { redisStore } from '../src/index.js';
import { redisStoreAt } from '../src/testing.js';

const redis = redisUrl === null ? null : new Redis(redisUrl);
afterAll(() => redis?.disconnect());

const LOGINS = {
  limit: 3,
  window: '10m',
  penalty: lockFor(['15m', '1h'], { forget: '1d' }),
} as const;

describe.skipIf(redis === null)('a limit with a penalty', () => {
  const client = redis as Redis;
  const textOf = (name: string, key: string) =>
    client.get(`spw:1{${key}}${name}}x${(86_400_000_000).toString(36)}`);
  const nameOf = (what: string) => `${what}-${Math.random().toString(36).slice(2)}`;

  it('is stored until its window, its lock, and then its level have ended', async () => {
    const name = nameOf('expiry');
    const limiter = createLimiter(
      { ...LOGINS, name },
      { store: redisStore(client), storeTimeout: '10s' },
    );
    const ttl = () => client.pttl(`spw:1{ada}${name}}x${(86_400_000_000).toString(36)}`);
    const near = async (ms: number) => expect(Math.abs((await ttl()) - ms)).toBeLessThan(5_000);
    const [right] = [await limiter.consume('ada'), await limiter.consume('ada')];
    await near(600_000);
    await limiter.consume('ada');
    expect((await limiter.consume('ada')).allowed).toBe(false);
    await near(900_000 + 86_400_000);
    await limiter.refund(right as NonNullable<typeof right>);
    await near(600_000);
    await limiter.reset('ada');
    expect(await textOf(name, 'ada')).toBeNull();
  });

  it('writes with the rejection that starts a lock, and with no other', async () => {
    const name = nameOf('writes');
    const clock = new ManualClock();
    const limiter = createLimiter(
      { ...LOGINS, name },
      { store: redisStoreAt(client, clock), storeTimeout: '10s', denialCache: false },
    );
    for (let i = 0; i < 3; i += 1) await limiter.consume('ada');
    const full = await textOf(name, 'ada');
    await limiter.peek('ada');
    expect(await textOf(name, 'ada')).toBe(full);
    await limiter.consume('ada');
    const locked = await textOf(name, 'ada');
    expect(locked).not.toBe(full);
    clock.advance('1m');
    await limiter.consume('ada');
    await limiter.record('ada');
    expect(await textOf(name, 'ada')).toBe(locked);
  });

  it('locks for no longer than at its start if the clock goes back', async () => {
    const name = nameOf('back');
    const clock = new ManualClock();
    const limiter = createLimiter(
      { ...LOGINS, name },
      { store: redisStoreAt(client, clock), storeTimeout: '10s', denialCache: false },
    );
    const lock = async () => {
      for (let i = 0; i < 3; i += 1) await limiter.consume('ada');
      return (await limiter.consume('ada')).retryAfterMs;
    };
    for (const waitMs of [900_000, 3_600_000]) {
      expect(await lock()).toBe(waitMs);
      clock.setUs(clock.nowUs() - 1_800_000_000);
      expect(await limiter.consume('ada')).toMatchObject({ retryAfterMs: waitMs });
      clock.advance(waitMs);
    }
  });

  it('deletes a count whose last unit is refunded, and keeps the level of a locked one', async () => {
    const name = nameOf('refunds');
    const clock = new ManualClock();
    const limiter = createLimiter(
      { ...LOGINS, name },
      { store: redisStoreAt(client, clock), storeTimeout: '10s' },
    );
    await limiter.refund(await limiter.consume('ada'));
    expect(await textOf(name, 'ada')).toBeNull();
    for (let i = 0; i < 4; i += 1) await limiter.consume('ada');
    clock.advance('15m');
    await limiter.refund(await limiter.consume('ada'));
    expect((await textOf(name, 'ada'))?.split(':').slice(1, 3)).toEqual(['0', '1']);
  });

  it('is refunded in one process while another has cached the lock', async () => {
    const name = nameOf('refund');
    const clock = new ManualClock();
    const [one, other] = [1, 2].map(() =>
      createLimiter(
        { ...LOGINS, name },
        { store: redisStoreAt(client, clock), storeTimeout: '10s', clock },
      ),
    ) as [ReturnType<typeof createLimiter>, ReturnType<typeof createLimiter>];
    const attempts = await Promise.all([1, 2, 3].map(() => one.consume('ada')));
    expect((await other.consume('ada')).retryAfterMs).toBe(900_000);
    for (const attempt of attempts) expect(await one.refund(attempt)).toBe(true);
    expect((await one.consume('ada')).used).toBe(1);
    expect((await other.consume('ada')).allowed).toBe(false);
    clock.advance('1s');
    expect((await other.consume('ada')).used).toBe(2);
  });

  it('rejects a stored text of another form', async () => {
    const name = nameOf('foreign');
    const limiter = createLimiter(
      { ...LOGINS, name },
      { store: redisStore(client), storeTimeout: '10s', onStoreError: 'deny', logger: false },
    );
    const stored = `spw:1{ada}${name}}x${(86_400_000_000).toString(36)}`;
    await client.set(stored, '1:2:3');
    expect((await limiter.consume('ada')).reason).toBe('store-error');
    await limiter.reset('ada');
    expect((await limiter.consume('ada')).allowed).toBe(true);
  });

  it('takes 152 bytes for a mail address, little more than an anchored window', async () => {
    const key = 'user-123456@example.com';
    const settings = { store: redisStoreAt(client, new ManualClock()), storeTimeout: '10s' };
    const { penalty, ...numbers } = LOGINS;
    const plain = { algorithm: fixedWindow, anchor: 'first-request' } as const;
    const bytes = [];
    for (const [name, own] of [
      ['logins', { penalty }],
      ['window', plain],
    ] as const) {
      const limiter = createLimiter({ ...numbers, ...own, name }, settings);
      await limiter.reset(key);
      for (let i = 0; i < 4; i += 1) await limiter.consume(key);
      bytes.push(await client.memory('USAGE', `spw:1{${key}}${name}}${limiter.rule.code}`));
    }
    expect(bytes[0]).toBeLessThanOrEqual(152);
  });
});
