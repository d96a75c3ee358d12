/// <reference path="../../src/lua.d.ts" />
import { Redis as Upstash } from '@upstash/redis';
import { createClient } from 'redis';
import { ada, behavesAsControl } from 'spillway-testkit/control';
import { redisProgram } from 'spillway-testkit/redis';
import { UpstashServer } from 'spillway-testkit/upstash';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { fromUpstash, type RedisControl, redisControl, redisStore } from '../../src/index.js';
import { userFromDocs } from '../rights.js';
import { take } from '../steps.js';
import { redisForControls, SETTINGS, soon } from './set-up.js';

describe.skipIf(redisProgram === null)('the control in Redis', () => {
  const { redis, port, connect, control } = redisForControls();

  describe('over ioredis', () => behavesAsControl(() => control()));

  describe('over other clients', () => {
    it.each(['node-redis', 'Upstash'])('%s works the same', async (name) => {
      let client = {} as Parameters<typeof redisControl>[0];
      if (name === 'Upstash') {
        const upstash = await UpstashServer.start(redis());
        onTestFinished(() => upstash.stop());
        client = fromUpstash(new Upstash({ url: upstash.url, token: upstash.token }));
      } else {
        const own = createClient({ socket: { port: port() } });
        await own.connect();
        onTestFinished(() => own.destroy());
        client = own;
      }
      const other = redisControl(client);
      onTestFinished(() => other.close());
      await other.set('api', { mode: 'off', share: 0.5 }, ada);
      await other.set('42', { limits: { limit: 7 } }, { ...ada, for: 'forever' });
      await other.block('api', '{"a":1}', ada);
      await other.clear('api', ada, ['share']);
      const ours = control();
      expect(await ours.list()).toEqual(await other.list());
      expect(await ours.history()).toEqual(await other.history());
      expect(await ours.history()).toHaveLength(5);
      expect(ours.settingsOf('api')).toEqual({ mode: 'off' });
      expect(ours.settingsOf('42')).toEqual({ limits: { limit: 7 } });
      expect(ours.overrideOf('api', '{"a":1}')?.verdict).toBe('block');
    });
  });

  describe('another process', () => {
    it('follows within its interval, from its first use on', async () => {
      const [writer, reader] = [control(), control({ client: connect() })];
      expect(reader.settingsOf('api')).toBeUndefined();
      await writer.set('api', { mode: 'off' }, ada);
      await vi.waitFor(() => expect(reader.settingsOf('api')?.mode).toBe('off'), soon);
      await writer.clear('api', ada);
      await vi.waitFor(() => expect(reader.settingsOf('api')).toBeUndefined(), soon);
    });

    it('knows at its start what is set, if it looks first', async () => {
      await control().set('api', { mode: 'off' }, ada);
      const reader = control({ client: connect() });
      expect(await reader.refresh()).toBe(true);
      expect(reader.settingsOf('api')).toEqual({ mode: 'off' });
    });

    it('sees overrides end by the clock of Redis, between two looks too', async () => {
      const writer = control();
      const reader = control({ client: connect(), every: '1m' });
      await writer.set('api', { mode: 'off' }, { ...ada, for: '1s' });
      await writer.set('*', { share: 0.5 }, { ...ada, for: 'forever' });
      await reader.refresh();
      const ends = (await writer.list()).find(({ untilMs }) => untilMs !== null)?.untilMs ?? 0;
      expect(reader.settingsOf('api')?.mode).toBe('off');
      await vi.waitFor(() => expect(reader.settingsOf('api')).toEqual({ share: 0.5 }), soon);
      const [seconds, micros] = (await redis().time()).map(Number) as [number, number];
      expect(seconds * 1000 + micros / 1000).toBeGreaterThanOrEqual(ends);
      expect(seconds * 1000 + micros / 1000).toBeLessThan(ends + 250);
    });

    it('keeps what has not changed as the same object', async () => {
      const [writer, reader] = [control(), control({ client: connect() })];
      await writer.set('api', { limits: { limit: 3 } }, ada);
      await reader.refresh();
      const before = reader.settingsOf('api');
      await writer.set('other', { mode: 'off' }, ada);
      await reader.refresh();
      expect(reader.settingsOf('other')).toEqual({ mode: 'off' });
      expect(reader.settingsOf('api')).toBe(before);
    });

    it('asks no more once it is closed, and keeps what is set', async () => {
      const [writer, reader] = [control(), control({ client: connect(), every: '50ms' })];
      await writer.set('api', { mode: 'off' }, ada);
      await reader.refresh();
      reader.close();
      expect(reader.settingsOf('api')).toEqual({ mode: 'off' });
      const calls = async () =>
        Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis().info('commandstats'))?.[1]);
      const before = await calls();
      const watching = control({ every: '50ms' });
      watching.settingsOf('api');
      await vi.waitFor(async () => expect(await calls()).toBeGreaterThan(before + 4), soon);
      reader.settingsOf('api');
      watching.close();
      expect(reader.settingsOf('api')).toEqual({ mode: 'off' });
    });
  });

  it('loses no change of two writers at once', async () => {
    const writers = [control(), control({ client: connect() }), control({ client: connect() })];
    await Promise.all(
      Array.from({ length: 60 }, (_, number) => {
        const writer = writers[number % 3] as RedisControl;
        const what = (['mode', 'share', 'limits'] as const)[number % 3] ?? 'mode';
        const value = { mode: 'off', share: 0.5, limits: { limit: 3 } }[what];
        return writer.set(`limiter-${Math.floor(number / 3)}`, { [what]: value }, ada);
      }),
    );
    const reader = control();
    expect(await reader.list()).toHaveLength(60);
    expect(await reader.history()).toHaveLength(60);
    for (let i = 0; i < 20; i += 1) {
      expect(reader.settingsOf(`limiter-${i}`)).toEqual({
        mode: 'off',
        share: 0.5,
        limits: { limit: 3 },
      });
    }
  });

  it('removes from Redis, with the next change, what has ended', async () => {
    const writer = control();
    await writer.block('api', 'eve', { ...ada, for: '1s' });
    await vi.waitFor(async () => expect(await writer.list()).toEqual([]), soon);
    expect(await redis().hlen(SETTINGS)).toBe(1);
    await writer.set('api', { mode: 'off' }, ada);
    expect(await redis().hlen(SETTINGS)).toBe(1);
  });

  it('holds ten thousand overrides and no more', async () => {
    const writer = control();
    const fill = `for i = 1, 10000 do redis.call('HSET', KEYS[1], 'key ["api","k' .. i .. '"]', '1 1 0 {}') end`;
    await redis().eval(fill, 1, SETTINGS);
    await expect(writer.set('api', { mode: 'off' }, ada)).rejects.toThrow('SPW_OPTION_INVALID');
    await writer.clearKey('api', 'k7', ada);
    await writer.set('api', { mode: 'off' }, ada);
    expect(await redis().hlen(SETTINGS)).toBe(10_000);
  });

  it('never meets a count of the store', async () => {
    const store = redisStore(redis());
    for (const key of ['%control', '{%control}', 'control']) {
      await store.apply([take(key, { limiter: 'settings' })]);
    }
    expect(await redis().exists(SETTINGS)).toBe(0);
  });

  describe('with hashKeys', () => {
    it('stores no key, and finds it all the same', async () => {
      const hidden = control({ hashKeys: 'secret' });
      await hidden.block('api', 'ada@example.com', ada);
      await hidden.allow('*', 'bob@example.com', ada);
      expect(hidden.overrideOf('api', 'ada@example.com')?.verdict).toBe('block');
      expect(hidden.overrideOf('api', 'bob@example.com')?.verdict).toBe('allow');
      expect(hidden.overrideOf('api', 'eve@example.com')).toBeUndefined();
      await hidden.limitKey('api', 'zoe@example.com', { factor: 2 }, { ...ada, for: '1d' });
      expect(hidden.limitsOf?.('api', 'zoe@example.com')).toEqual({ factor: 2 });
      expect(hidden.limitsOf?.('api', 'eve@example.com')).toBeUndefined();
      expect(hidden.overrideOf('api', 'ada@example.com')?.verdict).toBe('block');
      const keys = await redis().keys('*');
      expect(keys).toHaveLength(4);
      const stored = JSON.stringify([
        await redis().hgetall(SETTINGS),
        await redis().lrange('spw:{%control}history', 0, -1),
      ]);
      expect(stored).not.toContain('example.com');
      expect((await hidden.list()).map((one) => 'key' in one && one.key)).toEqual([
        expect.stringMatching(/^#[0-9a-f]{64}$/),
        expect.stringMatching(/^#[0-9a-f]{64}$/),
        expect.stringMatching(/^#[0-9a-f]{64}$/),
      ]);
    });
  });

  it('needs no more rights than docs/operations.md says', async () => {
    const { name: username, rules, password } = userFromDocs();
    await redis().call('ACL', 'SETUSER', username, ...rules);
    const least = control({ client: connect(port(), { username, password }) });
    await least.set('api', { mode: 'off', share: 0.5 }, { ...ada, for: '1s' });
    await least.clear('api', ada, ['share']);
    expect(await least.history()).toHaveLength(3);
    await vi.waitFor(async () => expect(await least.list()).toEqual([]), soon);
    await least.block('api', 'eve', ada); // removes what has ended
    least.register?.('api');
    await vi.waitFor(async () => expect(await least.limiters()).toHaveLength(1), soon);
    expect(least.overrideOf('api', 'eve')?.verdict).toBe('block');
  });

  it('refuses intervals that are none', () => {
    for (const every of ['10ms', '2m', 'x'] as const) {
      expect(() => redisControl(redis(), { every: every as '1m' })).toThrow('SPW_OPTION_INVALID');
    }
    expect(() => redisControl(redis(), { hashKeys: '' })).toThrow('SPW_OPTION_INVALID');
  });
});
