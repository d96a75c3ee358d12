/// <reference path="../../src/lua.d.ts" />
/** Which processes follow the settings in Redis. */

import { makeRule } from '@spillway/core/store';
import { ada } from 'spillway-testkit/control';
import { redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, vi } from 'vitest';
import type { RedisControlOptions } from '../../src/index.js';
import { userFromDocs } from '../rights.js';
import { redisForControls, soon } from './set-up.js';

const FOLLOWERS = 'spw:{%control}followers';
const rule = makeRule('token-bucket', 100, 60_000_000);

describe.skipIf(redisProgram === null)('the followers of a control in Redis', () => {
  const { redis, connect, port, control } = redisForControls();

  /** As a process whose guards have these limiters; it has read the settings once. */
  async function process(names: string[], options: RedisControlOptions = {}) {
    const made = control({ client: connect(), every: '50ms', ...options });
    for (const name of names) made.register?.(name, rule);
    await made.refresh();
    return made;
  }

  const counted = async (limiter: string) => {
    const all = (await control().followers()).filter(({ limiters }) => limiters.includes(limiter));
    return [all.filter(({ isCurrent }) => isCurrent).length, all.length];
  };

  it('are the processes with limiters, soon after they start', async () => {
    expect(await control().followers()).toEqual([]);
    await process(['api', 'other']);
    await process(['api']);
    await process([]);
    await vi.waitFor(async () => expect(await counted('api')).toEqual([2, 2]), soon);
    expect(await counted('other')).toEqual([1, 1]);
    expect(await counted('none')).toEqual([0, 0]);
    const [one] = await control().followers();
    const leftMs = (one?.untilMs ?? 0) - Date.now();
    expect(leftMs).toBeGreaterThan(300_000);
    expect(leftMs).toBeLessThan(370_000);
  });

  it('follow a change when they have looked, and not before', async () => {
    const [quick, slow] = [await process(['api']), await process(['api'], { every: '1m' })];
    await vi.waitFor(async () => expect(await counted('api')).toEqual([2, 2]), soon);
    await control().set('api', { mode: 'off' }, ada);
    quick.settingsOf('api');
    await vi.waitFor(async () => expect(await counted('api')).toEqual([1, 2]), soon);
    expect(slow.settingsOf('api')).toBeUndefined();
    await slow.refresh();
    await vi.waitFor(async () => expect(await counted('api')).toEqual([2, 2]), soon);
  });

  it('write nothing while nothing changes', async () => {
    const follower = await process(['api']);
    follower.settingsOf('api');
    await vi.waitFor(async () => expect(await counted('api')).toEqual([1, 1]), soon);
    // The announcement, a second after the start, is the last write for five minutes.
    await vi.waitFor(async () => expect(await control().limiters()).toHaveLength(1), soon);
    const written = async () =>
      Number(/cmdstat_hset:calls=(\d+)/.exec(await redis().info('commandstats'))?.[1]);
    const looks = async () =>
      Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis().info('commandstats'))?.[1]);
    const [before, looked] = [await written(), await looks()];
    await vi.waitFor(async () => expect(await looks()).toBeGreaterThan(looked + 5), soon);
    expect(await written()).toBe(before);
  });

  it('that close are gone at once', async () => {
    const [one, other] = [await process(['api']), await process(['api'])];
    await vi.waitFor(async () => expect(await counted('api')).toEqual([2, 2]), soon);
    one.close();
    await vi.waitFor(async () => expect(await counted('api')).toEqual([1, 1]), soon);
    // A closed control still reads when somebody asks it; that does not make it follow again.
    await other.set('api', { mode: 'off' }, ada);
    await one.list();
    await vi.waitFor(async () => expect(await counted('api')).toEqual([1, 1]), soon);
  });

  it('that ended by themselves are not told, and go with the next that starts', async () => {
    await redis().hset(FOLLOWERS, 'dead', '1 1000 5 ["api"]');
    expect(await counted('api')).toEqual([0, 0]);
    await process(['api']);
    await vi.waitFor(async () => expect(await counted('api')).toEqual([1, 1]), soon);
    expect(await redis().hlen(FOLLOWERS)).toBe(1);
  });

  it('are at most a thousand; one that is known goes on', async () => {
    const known = await process(['api']);
    await vi.waitFor(async () => expect(await counted('api')).toEqual([1, 1]), soon);
    const fill = `for i = 1, 999 do redis.call('HSET', KEYS[1], 'p' .. i, '1 9999999999999 0 ["x"]') end`;
    await redis().eval(fill, 1, FOLLOWERS);
    await process(['late']);
    await control().set('api', { mode: 'off' }, ada);
    known.settingsOf('api');
    await vi.waitFor(async () => expect(await counted('api')).toEqual([1, 1]), soon);
    expect(await counted('late')).toEqual([0, 0]);
    expect(await redis().hlen(FOLLOWERS)).toBe(1_000);
  });

  it.each([
    'junk',
    '2 9999999999999 5 ["api"]',
    '1 9999999999999 5 [',
    '1 9999999999999 x ["api"]',
  ])('that nobody can read (%j) are left out', async (text) => {
    await redis().hset(FOLLOWERS, 'odd', text);
    expect(await control().followers()).toEqual([]);
  });

  it('tell of trouble once, and settings are followed all the same', async () => {
    await redis().set(FOLLOWERS, 'junk');
    const faults: unknown[] = [];
    const follower = await process(['api'], { onFault: (fault) => faults.push(fault) });
    await vi.waitFor(() => expect(faults).toHaveLength(1), soon);
    await control().set('api', { mode: 'off' }, ada);
    await vi.waitFor(() => expect(follower.settingsOf('api')).toEqual({ mode: 'off' }), soon);
    expect(faults).toHaveLength(1);
  });

  it('need no more rights than docs/operations.md says', async () => {
    const { name: username, rules, password } = userFromDocs();
    await redis().call('ACL', 'SETUSER', username, ...rules);
    const least = control({ client: connect(port(), { username, password }) });
    least.register?.('api', rule);
    await least.refresh();
    await vi.waitFor(async () => expect(await least.followers()).toHaveLength(1), soon);
    least.close();
    await vi.waitFor(async () => expect(await counted('api')).toEqual([0, 0]), soon);
  });
});
