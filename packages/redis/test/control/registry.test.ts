/** The registry in Redis: which limiters exist, and all the counts that a reset must find. */

import {
  createGuard,
  createLimiter,
  fixedWindow,
  type Limiter,
  memoryStore,
  rateLimit,
} from '@spillway/core';
import { capacityOf } from '@spillway/core/store';
import { request } from 'spillway-testkit';
import { ada } from 'spillway-testkit/control';
import { redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, vi } from 'vitest';
import { redisStore } from '../../src/index.js';
import { take } from '../steps.js';
import { redisForControls, soon } from './set-up.js';

const LIMITERS = 'spw:{%control}limiters';
const api = { name: 'api', limit: 2, window: '1h' } as const;

describe.skipIf(redisProgram === null)('the registry in Redis', () => {
  const { redis, port, connect, control } = redisForControls();

  const known = () => control().limiters();
  const knows = (limiters: object[]) =>
    vi.waitFor(async () => expect(await known()).toMatchObject(limiters), soon);

  describe('knows', () => {
    it('a limiter from the first call of its store on, with the numbers that it was declared with', async () => {
      const limiter = createLimiter({ ...api, burst: 5 }, { store: redisStore(redis()) });
      await limiter.consume('ada');
      await knows([
        {
          name: 'api',
          declared: [{ algorithm: 'token-bucket', limit: 2, windowMs: 3_600_000, burst: 5 }],
          isFollowed: false,
        },
      ]);
    });

    it('limiters of a process that nobody has asked yet, also those without a count', async () => {
      const shedder: Limiter = {
        kind: 'local',
        name: 'workers',
        mode: 'off',
        decide: () => expect.unreachable(),
      };
      createGuard([rateLimit(api), shedder], { store: memoryStore(), control: control() });
      await knows([
        { name: 'api', declared: [{ limit: 2 }], isFollowed: true },
        { name: 'workers', declared: [], isFollowed: true },
      ]);
    });

    it('the numbers of two releases that run side by side', async () => {
      for (const limit of [2, 3]) {
        const store = redisStore(connect());
        await createLimiter({ ...api, limit }, { store }).consume('ada');
      }
      await vi.waitFor(async () => {
        const [one] = await known();
        expect(one?.declared.map(({ limit }) => limit).sort()).toEqual([2, 3]);
      }, soon);
    });

    it('what a fixed window is anchored at', async () => {
      const fixed = { ...api, algorithm: fixedWindow } as const;
      for (const anchor of ['epoch', 'first-request'] as const) {
        await createLimiter({ ...fixed, anchor }, { store: redisStore(connect()) }).consume('ada');
      }
      await vi.waitFor(async () => {
        const [one] = await known();
        const algorithms = one?.declared.map(({ algorithm }) => algorithm).sort();
        expect(algorithms).toEqual(['fixed-window', 'fixed-window:first-request']);
      }, soon);
    });

    it('a limiter until its counts have come to rest, and ten minutes longer', async () => {
      const fromMs = Date.now();
      await createLimiter(api, { store: redisStore(redis()) }).consume('ada');
      await knows([{ name: 'api' }]);
      const [one] = await known();
      expect(one?.untilMs).toBeGreaterThan(fromMs + 4_200_000 - 1_000);
      expect(one?.untilMs).toBeLessThan(Date.now() + 4_200_000 + 1_000);
    });

    it('none that has ended, and removes it with the next announcement', async () => {
      await redis().hset(LIMITERS, 'old', `1 b1 ${Date.now() - 1} !followed ${Date.now() - 1}`);
      expect(await known()).toEqual([]);
      await createLimiter(api, { store: redisStore(redis()) }).consume('ada');
      await knows([{ name: 'api' }]);
      expect(await redis().hkeys(LIMITERS)).toEqual(['api']);
    });

    it('at most 64 codes of a limiter, those that hold longest', async () => {
      const untilMs = Date.now() + 1_000_000_000;
      const codes = Array.from({ length: 64 }, (_, i) => `x${i} ${untilMs + i}`);
      await redis().hset(LIMITERS, 'api', `1 ${codes.join(' ')}`);
      const store = redisStore(redis());
      await createLimiter({ ...api, window: '1d' }, { store }).consume('ada');
      await knows([{ name: 'api', declared: [{ windowMs: 86_400_000 }] }]);
      const stored = String(await redis().hget(LIMITERS, 'api'));
      expect(stored.match(/ x\d+ /g)).toHaveLength(64);
      expect(stored).not.toMatch(/ b\w+ /);
    });
  });

  describe('a reset', () => {
    it('frees a key that another release counted under another burst and another window', async () => {
      const releases = [
        { ...api, burst: 1 },
        { ...api, window: '1d' as const, burst: 1 },
        { ...api, burst: 3 },
      ].map((rule) => createLimiter(rule, { store: redisStore(connect()), denialCache: false }));
      for (const release of releases) await release.consume('ada', { cost: 1 });
      await knows([{ name: 'api', declared: [{}, {}, {}] }]);
      for (const release of releases) await release.record('ada', { cost: 10 });
      const newest = createLimiter({ ...api, window: '2d' }, { store: redisStore(connect()) });
      await newest.reset('ada');
      for (const release of releases) {
        expect((await release.peek('ada')).remaining).toBe(capacityOf(release.rule));
      }
    });

    it('frees a key that this process remembers as refused under limits that were set live', async () => {
      const store = redisStore(redis());
      const live = control();
      const key = () => 'ada';
      const guard = createGuard(rateLimit({ ...api, key }), { store, control: live });
      const admit = async () => (await guard.admit(request())).allowed;
      await live.set('api', { limits: { burst: 1 } }, ada);
      expect([await admit(), await admit(), await admit()]).toEqual([true, false, false]);
      await createLimiter(api, { store }).reset('ada');
      expect([await admit(), await admit()]).toEqual([true, false]);
    });

    it('resets what this process counts under when the registry cannot be read, and tells it once', async () => {
      const lines: string[] = [];
      const logger = { warn: (line: string) => void lines.push(line) };
      await redis().set(LIMITERS, 'junk');
      const limiter = createLimiter(api, { store: redisStore(redis(), { logger }) });
      await limiter.record('ada', { cost: 2 });
      for (let i = 0; i < 3; i += 1) await limiter.reset('ada');
      expect((await limiter.peek('ada')).remaining).toBe(2);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(
        /^Spillway: Redis could not store or read the list of limiters .*WRONGTYPE/,
      );
      expect(lines[0]).toMatch(/ See https:.*docs\/errors\.md#spw_store_error$/);
    });
  });

  it('that the user may not write fails nothing', async () => {
    const lines: string[] = [];
    const logger = { warn: (line: string) => void lines.push(line) };
    const rules = ['reset', 'on', '>pw', '+@all', '-hset', '-hget', '-hgetall', '~spw:*'];
    await redis().call('ACL', 'SETUSER', 'poor', ...rules);
    const poor = connect(port(), { username: 'poor', password: 'pw' });
    const limiter = createLimiter(api, { store: redisStore(poor, { logger }) });
    for (let i = 0; i < 3; i += 1) await limiter.consume('ada');
    expect((await limiter.consume('ada')).outcome).toBe('denied');
    await limiter.reset('ada');
    expect((await limiter.consume('ada')).remaining).toBe(1);
    await vi.waitFor(() => expect(lines).toHaveLength(1), soon);
  });

  it('leaves texts of a later format alone', async () => {
    await redis().hset(LIMITERS, 'api', '2 later');
    const logger = { warn: vi.fn() };
    const store = redisStore(redis(), { logger });
    await createLimiter(api, { store }).consume('ada');
    await vi.waitFor(() => expect(logger.warn).toHaveBeenCalledTimes(1), soon);
    expect(await redis().hget(LIMITERS, 'api')).toBe('2 later');
    expect(await known()).toEqual([]);
  });

  it('is not asked by a store that is given steps and no limiters', async () => {
    await redisStore(redis()).apply([take('ada')]);
    expect(await redis().keys('*')).toEqual([expect.stringMatching(/^spw:1\{ada\}api/)]);
  });
});
