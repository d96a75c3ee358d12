/** What processes report about their limiters, in Redis: how long it is kept, of how many, and what it costs. */

import type { Mode } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { mergeReports, topCallers } from '@spillway/core/who';
import { redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it } from 'vitest';
import { redisReports } from '../../src/index.js';
import { redisForControls } from './set-up.js';

const REPORTS = 'spw:{%control}reports';
const MINUTE_MS = 60_000;

const denied = {
  limiter: 'api',
  allowed: false,
  outcome: 'denied',
  reason: 'rate',
  cost: 1,
  used: 2,
  remaining: 0,
  retryAfterMs: 1,
  resetMs: 1,
} as const;

describe.skipIf(redisProgram === null)('reports in Redis', () => {
  const { redis } = redisForControls();

  /** Publishes as a process does when it ends. */
  async function publish(
    rejections: Readonly<Record<string, number>>,
    limiter = 'api',
    mode: Mode = 'enforce',
  ) {
    const callers = topCallers({ clock: new ManualClock(), publishTo: redisReports(redis()) });
    for (const [key, count] of Object.entries(rejections)) {
      for (let i = 0; i < count; i += 1) callers.countDecision({ ...denied, limiter }, mode, key);
    }
    await callers.close();
  }

  const read = async (limiter?: string) => {
    const processes = await redisReports(redis()).read(limiter);
    return { processes, merged: mergeReports(processes.flatMap(({ limiters }) => limiters)) };
  };

  /** Makes the last call of every process seem `ms` older. */
  async function age(ms: number): Promise<void> {
    for (const [id, text] of Object.entries(await redis().hgetall(REPORTS))) {
      await redis().hset(REPORTS, id, `1 ${Number(text.slice(2)) - ms}`);
    }
  }

  it('of all processes are read, and add up', async () => {
    await publish({ ada: 5, bob: 2 });
    await publish({ bob: 6 });
    await publish({ eve: 1 }, 'login');
    const { processes, merged } = await read();
    expect(new Set(processes.map(({ process }) => process)).size).toBe(3);
    expect(merged.map(({ limiter }) => limiter)).toEqual(['api', 'login']);
    expect(merged[0]).toMatchObject({
      mode: 'enforce',
      counts: { denied: 13, allowed: 0 },
      rejected: {
        minute: {
          total: 13,
          callers: [
            { caller: 'bob', atLeast: 8, atMost: 8 },
            { caller: 'ada', atLeast: 5 },
          ],
        },
      },
      wouldReject: { minute: { total: 0 } },
    });
  });

  it('of more processes than one call reads add up', async () => {
    for (let i = 0; i < 23; i += 1) await publish({ ada: 5 });
    const { processes, merged } = await read();
    expect(processes).toHaveLength(23);
    expect(merged).toMatchObject([{ rejected: { quarter: { total: 115 } } }]);
  });

  it('of one limiter are read alone', async () => {
    await publish({ ada: 5 });
    await publish({ eve: 1 }, 'login');
    expect((await read('login')).merged).toMatchObject([{ limiter: 'login' }]);
    expect((await read('nothing')).merged).toEqual([]);
  });

  it('of a process that was killed count for a minute in one window, and 15 in the other', async () => {
    await publish({ ada: 5 });
    await age(MINUTE_MS);
    expect((await read()).merged[0]?.rejected).toMatchObject({
      minute: { total: 0 },
      quarter: { total: 5 },
    });
    await age(14 * MINUTE_MS);
    expect((await read()).processes).toEqual([]);
  });

  it('expire in Redis, and the next process removes the entries of those that are gone', async () => {
    await publish({ ada: 5 });
    const keys = await redis().keys('*');
    expect(keys).toHaveLength(2);
    for (const key of keys) {
      expect(await redis().pttl(key)).toBeGreaterThan(890_000);
      expect(await redis().pttl(key)).toBeLessThanOrEqual(900_000);
    }
    await age(15 * MINUTE_MS);
    await publish({ bob: 5 });
    expect(await redis().hlen(REPORTS)).toBe(1);
  });

  it('are stored of a thousand running processes and no more, and the others fail', async () => {
    const ids = Array.from({ length: 1_000 }, (_, i) => [`${i}`, `1 ${Date.now()}`]);
    await redis().hset(REPORTS, ...ids.flat());
    await expect(redisReports(redis()).publish([])).rejects.toMatchObject({
      code: 'SPW_STORE_ERROR',
      message: expect.stringContaining('1000 other processes publish already'),
    });
    expect(await redis().hlen(REPORTS)).toBe(1_000);
    expect((await read()).merged).toEqual([]);
  });

  it('of a new process replace those of the oldest that has ended, if processes keep restarting', async () => {
    const now = Date.now();
    const ids = Array.from({ length: 1_000 }, (_, i) => [`${i}`, `1 ${now - 300_000 + i}`]);
    await redis().hset(REPORTS, ...ids.flat());
    await publish({ ada: 5 });
    const left = await redis().hgetall(REPORTS);
    expect(Object.keys(left)).toHaveLength(1_000);
    expect(left).not.toHaveProperty('0');
    expect((await read()).merged).toMatchObject([{ limiter: 'api' }]);
  });

  it('of processes of another release count, and expire like all others', async () => {
    const now = Date.now();
    const hour = 3_600_000;
    const others = { gone: `2 ${now - hour}`, alive: `2 ${now}`, ahead: `1 ${now + hour}` };
    await redis().hset(REPORTS, { ...others, junk: 'junk' });
    await publish({ ada: 5 });
    expect(Object.keys(await redis().hgetall(REPORTS))).toEqual(['alive', expect.any(String)]);
    expect((await read()).processes).toHaveLength(1);
  });

  it('are read although a key of another type stands where one of them was', async () => {
    await publish({ ada: 5 });
    const [key] = await redis().keys('*report:*');
    await publish({ bob: 5 });
    await redis().set(key ?? '', 'junk');
    for (const limiter of [undefined, 'api']) {
      expect((await read(limiter)).merged).toMatchObject([
        { limiter: 'api', rejected: { minute: { callers: [{ caller: 'bob' }] } } },
      ]);
    }
  });

  it('say the mode that the latest process says', async () => {
    await publish({ ada: 5 }, 'api', 'shadow');
    await age(1_000);
    await publish({ ada: 5 }, 'api', 'enforce');
    await publish({ ada: 5 }, 'other');
    expect((await read('api')).merged).toMatchObject([{ mode: 'enforce' }]);
  });

  it.each([
    ...['2 []', '1 {', '1 [1]', 'junk', '1 ["enforce",1,[1,2],"x"]', '1 [{},1,[1]]'],
    ...['1 ["enforce",1,[-1]]', '1 ["enforce",1,[1e999]]', '1 ["enforce",1,["1"]]'],
    ...['1 ["enforce",1,[],[1,0,[{"toString":1},1,1]]]', '1 ["enforce",1,[0,1],[null,0]]'],
    `1 ["enforce",1,[0,1],[1,0,["${'x'.repeat(5_000)}",1,1]]]`,
  ])('are not read from %.50j', async (text) => {
    await publish({ ada: 5 });
    const [key] = await redis().keys('*report:*');
    await redis().hset(key ?? '', 'other', text);
    expect((await read()).merged).toMatchObject([{ limiter: 'api' }]);
  });

  it('of a flood have at most 4 kB for each limiter', async () => {
    const keys = Array.from({ length: 10_000 }, (_, i) => [`203.0.113.${i}`, 3]);
    await publish(Object.fromEntries(keys));
    const [key] = await redis().keys('*report:*');
    expect(String(await redis().hget(key ?? '', 'api')).length).toBeLessThan(4_000);
  });
});
