import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { calendar, concurrencyLimit, fixedWindow, rateLimit } from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { combined, linesOf, only, perMinute, replayed, START_MS } from './logs.js';

const DAY_MS = 86_400_000;
const json = (afterMs: number, ip = '203.0.113.7'): string =>
  JSON.stringify({ time: START_MS + afterMs, ip });

describe('stamps of whole seconds', () => {
  it('make a number a range: all at the start of the second, and evenly spread over it', async () => {
    // After 7 at once, one comes back every 8.57 s: only the last of three in second 8 may come after that.
    const afterMs = [0, 0, 0, 0, 0, 0, 0, 8_000, 8_000, 8_000];
    const report = await replayed(
      afterMs.map((ms) => combined(ms)),
      { policy: perMinute(7) },
    );
    expect(report.wholeSeconds).toBe(true);
    expect(only(report)).toMatchObject({
      rejected: { low: 2, high: 3 },
      rejectedCallers: { low: 1, high: 1 },
      top: [{ rejected: { low: 2, high: 3 } }],
    });
  });

  it('cannot judge short windows, and say so', async () => {
    const policy = [
      rateLimit({ name: 'short', limit: 1, window: '9s' }),
      rateLimit({ name: 'long', limit: 1, window: '10s' }),
    ];
    const { limiters, rejected } = (await replayed([combined(0), combined(0)], { policy })).policy;
    expect(rejected).toEqual({ low: 1, high: 1 });
    expect(limiters.map(({ judged }) => judged)).toEqual([false, true]);
    expect(limiters[0]).toMatchObject({
      why: expect.stringContaining('cannot judge a window of 9 s'),
    });
  });

  it('are those of the first 100 lines: finer ones judge short windows, without a range', async () => {
    const policy = rateLimit({ limit: 1, window: '1s', algorithm: fixedWindow });
    const report = await replayed([json(100), json(900), json(1_000)], { policy });
    expect(report.wholeSeconds).toBe(false);
    expect(only(report).rejected).toEqual({ low: 1, high: 1 });
  });
});

it('neither a limit of requests in progress, nor by calendar, nor one that is off is judged', async () => {
  const off = rateLimit({ name: 'off', limit: 1, window: '1m', mode: 'off' });
  const monthly = rateLimit({ name: 'monthly', limit: 1, window: calendar('month') });
  const policy = [concurrencyLimit({ limit: 1 }), perMinute(1), off, monthly];
  const { limiters } = (await replayed([combined(0), combined(0)], { policy })).policy;
  expect(limiters).toMatchObject([
    { judged: false, why: 'A log cannot judge it: it limits requests in progress.' },
    { judged: true, rejected: { low: 1 } },
    { judged: false, why: "Its mode is 'off'." },
    { judged: false, why: 'Limits by calendar are not judged.' },
  ]);
});

describe('the order of time', () => {
  it('survives stamps that go back by seconds: the request counts at the latest stamp', async () => {
    const report = await replayed([json(5_100), json(2_200), json(6_300)]);
    expect(report).toMatchObject({ requests: 3, outOfOrder: 1, notReplayed: 0, notes: [] });
    expect(only(report)).toMatchObject({ requests: 3, rejected: { low: 1 } });
  });

  it('of a whole second that goes back to a finer stamp is that stamp', async () => {
    const log = [
      ...new Array(100).fill(json(0)),
      json(5_900),
      json(5_000),
      json(5_000),
      json(6_000),
    ];
    const at: number[] = [];
    const onDecision = (_: unknown, __: unknown, { spreadUs }: { spreadUs: number }) =>
      at.push(spreadUs / 1000 - START_MS);
    const report = await replayed(log, { onDecision });
    expect(report).toMatchObject({ wholeSeconds: true, outOfOrder: 2 });
    expect(at.slice(-4)).toEqual([5_900, 5_900, 5_900, 6_000]);
  });

  it('survives wrong clocks, at the start too', async () => {
    const report = await replayed([
      json(400 * DAY_MS),
      json(100),
      json(150),
      json(-9_000 * DAY_MS),
      json(200),
      json(2_000 * DAY_MS),
      json(300),
    ]);
    expect(report).toMatchObject({ requests: 7, outOfOrder: 3, notReplayed: 3 });
    expect(only(report)).toMatchObject({ requests: 4, rejected: { low: 2 } });
    expect(report).toMatchObject({ fromMs: START_MS + 100, toMs: START_MS + 300 });
    expect(report.notes).toEqual([
      expect.stringContaining('3 requests of stream were not replayed'),
    ]);
  });

  it('takes a gap of days that the next line confirms', async () => {
    const report = await replayed([json(100), json(3 * DAY_MS), json(3 * DAY_MS + 1)]);
    expect(report).toMatchObject({ requests: 3, outOfOrder: 0, toMs: START_MS + 3 * DAY_MS + 1 });
  });

  it('is that of all files together, however they are given', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'replay-'));
    const file = (name: string, ...afterMs: number[]): string => {
      const path = join(folder, name);
      writeFileSync(path, linesOf(...afterMs.map((ms) => combined(ms))));
      return path;
    };
    // Two servers, one of them with a rotated log.
    const logs = [
      file('a.log', 120_000, 150_000),
      file('a.log.1', 0, 30_000),
      file('b.log', 15_000, 135_000),
    ];
    const at: number[] = [];
    const onDecision = (_: unknown, __: unknown, { timeUs }: { timeUs: number }) =>
      at.push(timeUs / 1000 - START_MS);
    const report = await replayed([], { logs, onDecision });
    expect(at).toEqual([0, 15_000, 30_000, 120_000, 135_000, 150_000]);
    expect(report).toMatchObject({ requests: 6, outOfOrder: 0 });
    expect(report.logs.map(({ requests }) => requests)).toEqual([2, 2, 2]);
  });
});
