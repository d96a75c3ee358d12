/** What the command prints when it cannot do what was asked. */

import { SpillwayError } from '@spillway/core';
import { redisProgram } from 'spillway-testkit/redis';
import { beforeEach, describe, expect, it } from 'vitest';
import { because, commandOnRedis, PASSWORD } from './command.js';

function hoursFromNow(hours: number): string {
  return `${new Date(Date.now() + hours * 3_600_000).toISOString().slice(0, 16)}Z`;
}

describe.skipIf(redisProgram === null)('spillway', () => {
  const { redis, port, spillway, announce } = commandOnRedis();
  const LIMITERS = 'spw:{%control}limiters';

  beforeEach(() => announce('api', 'per-key', 'logins'));

  describe('ends with 2 and says what to do when', () => {
    it.each<[string, string[], RegExp]>([
      [
        'a mode is unknown',
        ['set', 'api', 'of', ...because],
        /Allowed choices are enforce, shadow, off/,
      ],
      ['nobody says why', ['set', 'api', 'off'], /--because <reason>/],
      [
        'a duration is none',
        ['set', 'api', 'off', '--for', '10', ...because],
        /1s to 30d, or 'forever'/,
      ],
      [
        'an end is no instant',
        ['set', 'api', 'off', '--until', '3d', ...because],
        /--until must be a date and a time such as 2026-11-27T18:00 .*, got 3d\. For a duration, use --for/,
      ],
      [
        'an end is a day that there is not',
        ['set', 'api', 'off', '--until', '2099-02-30T10:00', ...because],
        /--until must be a date and a time .*, got 2099-02-30T10:00/,
      ],
      [
        'an end has passed',
        ['set', 'api', 'off', '--until', '2025-11-27 18:00:00 +02:00', ...because],
        /--until must be in the future, got 2025-11-27T16:00:00\.000Z/,
      ],
      [
        'an end is too far away',
        ['block', 'api', 'ada', '--until', '2099-11-27T18:00Z', ...because],
        /--until must be at most 30 days from now, got 2099-11-27T18:00:00\.000Z; or use --for forever/,
      ],
      [
        'an end is an hour too far away',
        ['set', 'api', 'off', '--until', hoursFromNow(30 * 24 + 1), ...because],
        /--until must be at most 30 days from now/,
      ],
      [
        'an end is given twice',
        ['set', 'api', 'off', '--for', '1h', '--until', '2099-11-27T18:00Z', ...because],
        /'--until <instant>' cannot be used with option '--for <duration>'/,
      ],
      ['a limit is none', ['limits', 'api', '--limit', '0', ...because], /from 1 to 1,000,000,000/],
      [
        'a limit is no number',
        ['limits', 'api', '--limit', '1e3', ...because],
        /--limit must be a number such as 200, got 1e3/,
      ],
      [
        'no limit is given',
        ['limits', 'api', ...because],
        /a limit, a window, a burst or a factor/,
      ],
      ['a factor is none', ['limits', 'api', '--factor', 'two', ...because], /like 2, 0.5 or 150%/],
      ['a factor is 0', ['limits', 'api', '--factor', '0', ...because], /above 0/],
      [
        'a factor stands beside a limit',
        ['limits', 'api', '--factor', '2', '--limit', '5', ...because],
        /without limit, window and burst/,
      ],
      [
        'all plans are meant, and one key',
        ['limits', 'api', '--limit', '5', '--all-plans', '--key', 'a', ...because],
        /--all-plans cannot be combined with a key/,
      ],
      [
        'a factor is to apply to all plans, as it does',
        ['limits', 'api', '--factor', '2', '--all-plans', ...because],
        /allPlans must be left out: a factor applies to all plans, got true/,
      ],
      [
        'a limit is for all limiters',
        ['limits', '*', '--limit', '5', ...because],
        /a factor, or set for one/,
      ],
      [
        'a key is given twice',
        ['limits', 'api', '--limit', '5', '--key', 'a', '--address', '::1', ...because],
        /either <key> or --address/,
      ],
      [
        'a part of a key is unknown',
        ['clear', 'api', '--key', 'a', '--only', 'mode', ...because],
        /ruling, limits/,
      ],
      [
        'the number of changes is no whole number',
        ['status', '--changes', '1.5'],
        /--changes must be a whole number from 0 to 1,000, got 1\.5/,
      ],
      [
        'more changes are asked for than are kept',
        ['status', '--changes', '1001'],
        /from 0 to 1,000, got 1001/,
      ],
      [
        'a prefix of addresses is no number',
        ['reset', 'api', '--address', '::1', '--ipv6-prefix', 'x'],
        /--ipv6-prefix must be a whole number of bits from 32 to 128, got x/,
      ],
      ['a share is above 1', ['share', 'api', '150%', ...because], /from 0 to 1/],
      [
        'no key is given',
        ['block', 'api', ...because],
        /the key is missing .*: write either <key> or --address/,
      ],
      [
        'an address is none',
        ['reset', 'api', '--address', 'ada'],
        /--address must be an IP address, got "ada"/,
      ],
      [
        'parts are no list',
        ['reset', 'api', 'ada', '--parts'],
        /with --parts the key must be like/,
      ],
      ['a part is no text', ['reset', 'api', '["a",1]', '--parts'], /with --parts the key must be/],
      ['a command is unknown', ['stats'], /Did you mean status/],
      ['a share is no number', ['share', 'api', 'half', ...because], /like 0.1 or 10%, got half/],
      ['sentinels have no name', ['status', '--redis', 'redis://a,b'], /--sentinel-master/],
      [
        'a cluster has sentinels',
        ['status', '--cluster', '--sentinel-master', 'main'],
        /--cluster or --sentinel-master/,
      ],
      ['a prefix is none', ['status', '--prefix', 'a{b}'], /prefix must be 1 to 32 of/],
      [
        'a limiter has no such name',
        ['set', 'é', 'off', '--anyway', ...because],
        /printable ASCII/,
      ],
    ])('%s', async (_, args, text) => {
      const { code, out, err } = await spillway(args);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toMatch(text);
      expect(await redis().keys('*')).toEqual([LIMITERS]);
      const inJson = await spillway([...args, '--json']);
      expect(inJson.code).toBe(2);
      const { message } = JSON.parse(inJson.err).error;
      expect(message).toMatch(/./);
      expect(message).not.toMatch(/^error/);
    });

    it('sentinels have no name, and only one of them can be reached', async () => {
      const some = `redis://:${PASSWORD}@127.0.0.1:${port()},127.0.0.1:1`;
      const { code, err } = await spillway(['status'], { REDIS_URL: some });
      expect(code).toBe(2);
      expect(err).toMatch(/--sentinel-master/);
    });

    it('an error of ours leads to its heading in the documentation', async () => {
      const args = ['set', 'é', 'off', '--anyway', ...because];
      const help = new SpillwayError('SPW_NAME_INVALID', '').help;
      expect((await spillway(args)).err).toMatch(new RegExp(`\\nSee ${help}\\n$`));
      expect(JSON.parse((await spillway([...args, '--json'])).err).error).toMatchObject({ help });
    });

    it('nothing says where Redis is', async () => {
      const { code, err } = await spillway(['status'], { REDIS_URL: '' });
      expect(code).toBe(2);
      expect(err).toMatch(/REDIS_URL/);
    });

    it.each([
      `http://:${PASSWORD}@x`,
      `:${PASSWORD}@x:y`,
      `redis://:${PASSWORD}@x:1/db`,
      `redis://:${PASSWORD}%@x`,
      // A URL parser would find a host and a port before the password.
      `redis://default:1#${PASSWORD}@x`,
      `redis://default:1?${PASSWORD}@x`,
      `redis://default:1/${PASSWORD}@x`,
    ])('the address of Redis is none: %s', async (text) => {
      const { code, err } = await spillway(['status', '--redis', text]);
      expect(code).toBe(2);
      expect(err).toMatch(/in the address of Redis must be|the address of Redis must be like/);
    });
  });

  describe('ends with 1 and says why when', () => {
    it('nobody listens', async () => {
      const { code, err } = await spillway([
        'status',
        '--redis',
        `redis://:${PASSWORD}@127.0.0.1:1`,
      ]);
      expect({ code, err }).toEqual({
        code: 1,
        err: 'error: no connection to Redis at 127.0.0.1:1: ECONNREFUSED\n',
      });
    });

    it('nobody listens where TLS is asked for', async () => {
      const { err } = await spillway(['status', '--redis', 'rediss://127.0.0.1:1']);
      expect(err).toBe('error: no connection to Redis at 127.0.0.1:1 with TLS: ECONNREFUSED\n');
    });

    it('nobody listens at --redis, whatever sentinels the environment names', async () => {
      const at = 'redis://127.0.0.1:1';
      const env = { SPILLWAY_SENTINEL_MASTER: 'main' };
      const { err } = await spillway(['status', '--redis', at], env);
      expect(err).toBe('error: no connection to Redis at 127.0.0.1:1: ECONNREFUSED\n');
      expect((await spillway(['status'], { ...env, REDIS_URL: at })).err).toContain(
        'the sentinels at 127.0.0.1:1 call main',
      );
    });

    it('the password is wrong', async () => {
      const at = `redis://:wrong@127.0.0.1:${port()}`;
      const { code, err } = await spillway(['status', '--json', '--redis', at]);
      expect(code).toBe(1);
      expect(JSON.parse(err).error.message).toMatch(/WRONGPASS$/);
      expect(err).not.toContain('wrong@');
    });

    it('there is no such database, and leaves the others alone', async () => {
      const at = `redis://:${PASSWORD}@127.0.0.1:${port()}/99`;
      const { code, err } = await spillway(['set', 'api', 'off', '--redis', at, ...because]);
      expect({ code, err }).toEqual({
        code: 1,
        err: `error: no connection to Redis at 127.0.0.1:${port()}: ERR DB index is out of range\n`,
      });
      expect(await redis().keys('*')).toEqual([LIMITERS]);
    });

    it('the user may not', async () => {
      await redis().call('ACL', 'SETUSER', 'reader', 'on', '>pw', '~spw:*', '+@all', '-hset');
      const at = `redis://reader:pw@127.0.0.1:${port()}`;
      const { code, err } = await spillway(['set', 'api', 'off', '--redis', at, ...because]);
      expect(code).toBe(1);
      expect(err).toMatch(/SPW_STORE_/);
      expect(await redis().keys('*')).toEqual([LIMITERS]);
    });
  });
});
