import {
  concurrencyLimit,
  createGuard,
  fixedWindow,
  rateLimit,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core';
import { seeded } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { madeUpLog } from '../../../../tests/replay/access-log.js';
import { combined, only, perMinute, replayed, START_MS } from './logs.js';

const algorithms = [tokenBucket, fixedWindow, slidingWindow, slidingLog];
const madeUp = madeUpLog(3_000);
const startUs = madeUp[0]?.timeUs ?? 0;
// Besides callers in bursts, one with 9 requests in a minute, but never within a minute that begins at a full or half
// minute.
const steady = Array.from({ length: 9 }, (_, at) => {
  return { client: '192.0.2.1', timeUs: startUs + 15_000_000 + at * 7_000_000 };
});
const lines = [...madeUp, ...steady]
  .sort((a, b) => a.timeUs - b.timeUs)
  .map(({ client, timeUs }, at) =>
    combined((timeUs - startUs) / 1000, client, at % 5 === 0 ? 404 : 200),
  );

describe('of a limiter', () => {
  it('who was rejected, how often, with which statuses, and how busy they were', async () => {
    const busy = [0, 0, 1_000, 70_000].map((ms) => combined(ms, '192.0.2.1'));
    const log = [
      ...busy.slice(0, 3),
      combined(1_000, '192.0.2.2'),
      combined(2_000, '192.0.2.1', 404),
      ...busy.slice(3),
    ];
    const limiter = only(await replayed(log));
    expect(limiter).toMatchObject({
      requests: 6,
      callers: 2,
      rejected: { low: 2, high: 2 },
      rejectedCallers: { low: 1, high: 1 },
      shareOfFirst: 1,
      statuses: { 200: 1, 404: 1 },
    });
    expect(limiter.top).toEqual([
      {
        caller: '192.0.2.1',
        requests: 5,
        rejected: { low: 2, high: 2 },
        peak: { second: 2, minute: 4, hour: 5 },
      },
      {
        caller: '192.0.2.2',
        requests: 1,
        rejected: { low: 0, high: 0 },
        peak: { second: 1, minute: 1, hour: 1 },
      },
    ]);
    expect(limiter.use.filter(({ callers }) => callers > 0)).toEqual([
      { percent: 50, callers: 1 },
      { percent: 200, callers: 1 },
    ]);
    expect(limiter.timeline).toEqual({
      startMs: START_MS,
      widthMs: 60_000,
      requests: [5, 1],
      rejected: [2, 0],
    });
  });

  it('the table tells what a replay with those numbers would', async () => {
    const { table } = only(await replayed(lines, { policy: perMinute(8) }));
    expect(table).toHaveLength(16);
    for (const { algorithm: name, limit, rejected, rejectedCallers } of table) {
      const algorithm = algorithms.find((one) => one.name === name);
      const policy = rateLimit({ limit, window: '1m', algorithm });
      expect(only(await replayed(lines, { policy }))).toMatchObject({ rejected, rejectedCallers });
    }
  });

  it.each([[tokenBucket], [fixedWindow], [slidingWindow], [slidingLog]])(
    'the smallest limit and burst keep what they promise, and one less does not ($name)',
    async (algorithm) => {
      const bounds = { maxRejected: 0.02, maxCallers: 2 };
      const options = { limit: 8, window: '1m', algorithm } as const;
      const { smallest } = only(await replayed(lines, { policy: rateLimit(options), ...bounds }));
      const replayedWith = async (numbers: object) =>
        only(await replayed(lines, { policy: rateLimit({ ...options, ...numbers }) }));
      const byRejected = smallest?.limitByRejected as number;
      const most = Math.floor(0.02 * lines.length);
      expect((await replayedWith({ limit: byRejected })).rejected.high).toBeLessThanOrEqual(most);
      expect((await replayedWith({ limit: byRejected - 1 })).rejected.high).toBeGreaterThan(most);
      const burst = { algorithm: tokenBucket, burst: smallest?.burstByCallers as number };
      const less = { ...burst, burst: burst.burst - 1 };
      expect((await replayedWith(burst)).rejectedCallers.high).toBeLessThanOrEqual(2);
      expect((await replayedWith(less)).rejectedCallers.high).toBeGreaterThan(2);
    },
  );

  it.each([1, 2, 3, 4])(
    'other numbers are what a replay with them says, whatever requests cost (log %i)',
    async (seed) => {
      const random = seeded(seed);
      const low = (most: number) => Math.floor(most * random.uniform() ** 2);
      const log = Array.from({ length: 300 }, () => ({
        ms: low(400_000),
        client: low(4),
        cost: 1 + low(3),
      }))
        .sort((a, b) => a.ms - b.ms)
        .map(({ ms, client, cost }) =>
          combined(ms, `192.0.2.${client}`).replace('/things', `/${cost}`),
        );
      const policy = (numbers: object) =>
        rateLimit({
          limit: 3 + (seed % 4) * 7,
          window: '1m',
          algorithm: algorithms[seed % 4],
          cost: ({ path }: { path: string }) => Number(path.slice(1)),
          ...numbers,
        });
      const replayedWith = async (numbers: object) =>
        only(await replayed(log, { policy: policy(numbers) }));
      const bounds = { maxRejected: 0.1, maxCallers: seed % 3 };
      const { table, smallest } = only(await replayed(log, { policy: policy({}), ...bounds }));

      for (const { algorithm: name, limit, rejected, rejectedCallers } of table) {
        const numbers = { limit, algorithm: algorithms.find((one) => one.name === name) };
        expect(await replayedWith(numbers)).toMatchObject({ rejected, rejectedCallers });
      }
      for (const [name, value] of Object.entries(smallest ?? {})) {
        if (name in bounds) continue;
        const isKept = async (value: number) => {
          const isBurst = name.startsWith('burst');
          const numbers = isBurst ? { algorithm: tokenBucket, burst: value } : { limit: value };
          const { rejected, rejectedCallers } = await replayedWith(numbers);
          return name.endsWith('ByRejected')
            ? rejected.high <= bounds.maxRejected * log.length
            : rejectedCallers.high <= bounds.maxCallers;
        };
        expect(await isKept(value), name).toBe(true);
        if (value > 1) expect(await isKept(value - 1), name).toBe(false);
      }
    },
  );

  it('a cost counts, and a request without cost is not tried', async () => {
    const cost = ({ path }: { path: string }) => (path === '/free' ? 0 : 3);
    const log = [combined(0), combined(0).replace('/things', '/free'), combined(0)];
    const policy = rateLimit({ limit: 4, window: '1m', cost });
    const limiter = only(await replayed(log, { policy }));
    expect(limiter).toMatchObject({ requests: 3, rejected: { low: 1, high: 1 } });
    expect(limiter.smallest).toMatchObject({ limitByCallers: 6, burstByCallers: 6 });
  });
});

it('keys that differ only in their middle are callers of their own', async () => {
  const key = ({ path }: { path: string }) => `${'a'.repeat(300)}${path}${'b'.repeat(300)}`;
  const log = ['/1', '/1', '/2', '/2'].map((path) => combined(0).replace('/things?page=2', path));
  const limiter = only(await replayed(log, { policy: rateLimit({ limit: 2, window: '1m', key }) }));
  expect(limiter).toMatchObject({ callers: 2, rejected: { high: 0 } });
  expect(limiter.smallest?.limitByCallers).toBe(2);
});

describe('a policy', () => {
  it('may be a guard, whose options count', async () => {
    const guard = createGuard(perMinute(1), { skip: ({ path }) => path === '/health' });
    const log = [combined(0), combined(0), combined(0).replace('/things', '/health')];
    const report = await replayed(log, { policy: guard });
    expect(only(report)).toMatchObject({ requests: 2, rejected: { low: 1, high: 1 } });
  });

  it('may have functions that answer later, or fail', async () => {
    const policy = [
      rateLimit({ name: 'later', limit: 1, window: '1m', key: async () => 'ada' }),
      rateLimit({
        name: 'broken',
        limit: 1,
        window: '1m',
        key: () => {
          throw new Error('no user');
        },
      }),
    ];
    const report = await replayed([combined(0), combined(0), combined(1_000)], { policy });
    expect(report.policy.limiters).toMatchObject([
      { rejected: { low: 2, high: 2 }, top: [{ caller: 'ada' }] },
      { rejected: { low: 2, high: 2 }, top: [{ caller: '203.0.113.7' }] },
    ]);
    expect(report.notes).toEqual(['broken: key failed for 3 requests: Error: no user.']);
  });

  it('may give back by the status of the log; then other numbers are not tried', async () => {
    const refundIf = (_: unknown, { status = 500 }: { status?: number }) => status < 400;
    const policy = rateLimit({ limit: 1, window: '1m', refundIf });
    const log = [combined(0), combined(0), combined(0, '203.0.113.7', 401), combined(0)];
    const report = await replayed(log, { policy });
    expect(only(report)).toMatchObject({
      rejected: { low: 1, high: 1 },
      table: [],
      smallest: null,
    });
    expect(report.notes).toEqual([expect.stringContaining('not tried: it gives units back')]);
  });

  it('may hold permits, or leave other limiters to give back: its rates are tried', async () => {
    const policy = createGuard([
      concurrencyLimit({ limit: 1 }),
      rateLimit({ name: 'gives', limit: 1, window: '1m', refundIf: () => true }),
      rateLimit({ name: 'keeps', limit: 1, window: '1m' }),
    ]);
    const report = await replayed([combined(0), combined(0)], { policy });
    expect(report.policy.limiters).toMatchObject([
      { judged: false },
      { table: [] },
      { smallest: { limitByCallers: 2 } },
    ]);
    expect(report.notes).toEqual([expect.stringContaining('Other numbers of gives')]);
  });

  it('may charge costs of any size', async () => {
    const cost = () => 2 ** 32 + 1;
    const policy = rateLimit({ limit: 10, window: '1m', algorithm: fixedWindow, cost });
    const limiter = only(await replayed([combined(0)], { policy }));
    expect(limiter.rejected.high).toBe(1);
    expect(limiter.table.map(({ rejected }) => rejected.low)).toEqual(limiter.table.map(() => 1));
  });

  it('is compared with another one: who is newly hit', async () => {
    const [a, b, c] = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((ip) => combined(0, ip)) as [
      string,
      string,
      string,
    ];
    const log = [a, a, a, a, b, b, b, c];
    const report = await replayed(log, { policy: perMinute(3), compare: perMinute(1) });
    expect(report.compare).toMatchObject({
      newlyHit: 1,
      noLongerHit: 0,
      top: [{ caller: '192.0.2.2', rejected: 2 }],
      policy: { rejected: { low: 5, high: 5 } },
    });
    const back = await replayed(log, { policy: perMinute(1), compare: perMinute(3) });
    expect(back.compare).toMatchObject({ newlyHit: 0, noLongerHit: 1, top: [] });
  });

  it('is compared with one that skips those it hit: they are no longer hit', async () => {
    const skip = ({ clientIp }: { clientIp?: string | undefined }) => clientIp === '192.0.2.1';
    const compare = createGuard(perMinute(1), { skip });
    const log = [combined(0, '192.0.2.1'), combined(0, '192.0.2.1'), combined(0, '192.0.2.2')];
    const report = await replayed(log, { policy: perMinute(1), compare });
    expect(report.compare).toMatchObject({ newlyHit: 0, noLongerHit: 1, top: [] });
  });

  it('is compared by the caller of its first limiter, unless another one rejects', async () => {
    const at = (ms: number, client: string, path: string) =>
      combined(ms, client).replace('/things', path);
    const log = [
      at(0, '192.0.2.1', '/a'),
      at(10_000, '192.0.2.2', '/b'),
      at(10_000, '192.0.2.2', '/a'), // rejected by `path` if decided at the start of the second
      at(11_000, '192.0.2.2', '/c'),
    ];
    const path = rateLimit({ name: 'path', limit: 1, window: '10500ms', key: (it) => it.path });
    const compare = [rateLimit({ name: 'address', limit: 9, window: '1m' }), path];
    const report = await replayed(log, { policy: perMinute(1), compare });
    expect(report.compare).toMatchObject({ newlyHit: 0, noLongerHit: 1 });
  });

  it('is compared: those newly hit are listed by their rejections, and nobody else is', async () => {
    const hits = [3, 9, 5, 7];
    const log = hits.flatMap((count, at) => new Array(count).fill(combined(0, `192.0.2.${at}`)));
    const options = { policy: perMinute(6), compare: perMinute(2) };
    const { compare } = await replayed(log, options);
    expect(compare).toMatchObject({ newlyHit: 2, noLongerHit: 0 });
    const listed = compare?.top.map(({ caller, rejected }) => `${caller}: ${rejected}`);
    expect(listed).toEqual(['192.0.2.2: 3', '192.0.2.0: 1']);
    expect((await replayed(log, { ...options, top: 1 })).compare?.top).toHaveLength(1);
  });
});
