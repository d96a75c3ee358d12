import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGuard, distinct, rateLimit } from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { reportText } from '../../src/replay/report-text.js';
import { combined, linesOf, only, perMinute, replayed, START_MS } from './logs.js';

const folder = mkdtempSync(join(tmpdir(), 'replay-'));
const path = (name: string): string => join(folder, name);
const json = (time: unknown, ip = '203.0.113.7'): string => JSON.stringify({ time, ip });

function file(name: string, text: string): string {
  writeFileSync(path(name), text);
  return path(name);
}

describe('several logs', () => {
  it.skipIf(process.platform === 'win32')(
    'may be pipes, which can be read only once, as of <(zcat access.log.1.gz)',
    async () => {
      execFileSync('mkfifo', [path('pipe')]);
      const log = file('one.log', linesOf(combined(0), combined(0)));
      spawn('sh', ['-c', 'exec cat "$0" > "$1"', log, path('pipe')], { stdio: 'ignore' });
      const report = await replayed([], { logs: [path('pipe'), log] });
      expect(report.logs.map(({ requests }) => requests)).toEqual([2, 2]);
    },
  );

  it.skipIf(process.platform !== 'linux')('are not all open at once', async () => {
    const logs = Array.from({ length: 50 }, (_, at) =>
      file(`many-${at}.log`, linesOf(...new Array(200).fill(combined(at * 60_000)))),
    );
    const before = readdirSync('/proc/self/fd').length;
    let most = 0;
    const onProgress = (): void => {
      most = Math.max(most, readdirSync('/proc/self/fd').length - before);
    };
    await replayed([], { logs, onProgress });
    expect(most).toBeLessThan(10);
  });
});

describe('a log', () => {
  it('may begin with a byte order mark', async () => {
    for (const line of [combined(0), json(START_MS)]) {
      const report = await replayed([`\ufeff${line}`, line, line]);
      expect(report).toMatchObject({ requests: 3, unparsed: 0 });
      expect(only(report)).toMatchObject({ callers: 1, rejected: { low: 1 } });
    }
  });

  it.each([
    '1e999',
    '1e30',
    '-1',
    '"1960-01-01T00:00:00Z"',
    '"9999-12-31T23:59:59Z"',
    '4294967296000',
  ])('may have the stamp %s, which is none', async (time) => {
    const wrong = `{"time":${time},"ip":"203.0.113.7"}`;
    const report = await replayed([json(START_MS), wrong, wrong]);
    expect(report).toMatchObject({ requests: 1, unparsed: 2, toMs: START_MS });
    expect(reportText(report)).toContain('1 requests of 1 log');
  });

  it('may have addresses with ports, as Envoy writes them', async () => {
    const addresses = ['203.0.113.7:1', '203.0.113.7:2', '[2001:db8::1]:1', '2001:db8::2', 'a:1'];
    const lines = addresses.map((address) => json(START_MS, address));
    const callers = only(await replayed(lines)).top.map(({ caller }) => caller);
    expect(callers).toEqual(['203.0.113.7', '2001:db8::/64', 'a:1']);
    const trusting = await replayed(lines.slice(0, 2), { trustProxy: 1 });
    expect(only(trusting).top[0]?.caller).toBe('203.0.113.7');
  });

  it('may be empty: no number of the report is negative', async () => {
    expect(JSON.stringify(await replayed([]))).not.toMatch(/:-/);
  });

  it('with more requests in a second than are held is tried as it is decided', async () => {
    const lines = Buffer.from(linesOf(combined(0)).repeat(150_000));
    const limiter = only(await replayed(lines, { policy: perMinute(50_000) }));
    const own = limiter.table.find(
      ({ limit, algorithm }) => limit === 50_000 && algorithm === 'token-bucket',
    );
    expect(own?.rejected).toEqual(limiter.rejected);
  });

  it('of fine stamps beside one of whole seconds is tried as it is decided', async () => {
    const logs = [
      file('fine.jsonl', linesOf(json(START_MS + 100), json(START_MS + 1_050))),
      file('whole.log', linesOf(combined(0, '192.0.2.1'))),
    ];
    const policy = rateLimit({ limit: 60, burst: 1, window: '1m' });
    const limiter = only(await replayed([], { logs, policy }));
    expect(limiter.rejected).toEqual({ low: 1, high: 1 });
    expect(limiter.table.find(({ limit }) => limit === 60)?.rejected).toEqual(limiter.rejected);
  });

  it('of fine stamps within spread seconds is tried as it is decided', async () => {
    const logs = [
      file('spread.log', linesOf(...new Array(10).fill(combined(0, '192.0.2.1')))),
      file('within.jsonl', linesOf(json(START_MS + 50), json(START_MS + 700))),
    ];
    const policy = rateLimit({ limit: 120, burst: 1, window: '1m' });
    const limiter = only(await replayed([], { logs, policy }));
    expect(limiter.rejected).toEqual({ low: 9, high: 9 });
    expect(limiter.table.find(({ limit }) => limit === 120)?.rejected).toEqual(limiter.rejected);
  });
});

describe('a policy', () => {
  it.each([
    ['plan', rateLimit({ limit: 2, window: '1m', plan: () => ({ limit: 9 }) })],
    ['only a burst', rateLimit({ limit: 2, window: '1m', plan: () => ({ burst: 9 }) })],
    ['overage', rateLimit({ limit: 2, window: '1m', overage: 'allow' })],
  ])(
    'whose callers have other numbers (%s) is not tried with one number for all',
    async (_, policy) => {
      const report = await replayed(new Array(5).fill(combined(0)), { policy });
      expect(only(report)).toMatchObject({ rejected: { high: 0 }, table: [], smallest: null });
      expect(report.notes).toEqual([expect.stringContaining('were not tried')]);
    },
  );

  it('whose plan includes nothing is not tried with its declared numbers', async () => {
    const plan = ({ clientIp }: { clientIp?: string | undefined }) =>
      clientIp === '192.0.2.1' ? { limit: 0 } : null;
    const policy = rateLimit({ limit: 9, window: '1m', plan });
    const report = await replayed([combined(0), combined(0, '192.0.2.1')], { policy });
    expect(only(report)).toMatchObject({ rejected: { low: 1 }, table: [], smallest: null });
    expect(report.notes).toEqual([expect.stringContaining('were not tried')]);
  });

  it('that counts different things is judged by them, without other numbers', async () => {
    const item = ({ raw }: { raw: { path?: string } }) => raw.path;
    const policy = rateLimit({ limit: 2, window: '1m', algorithm: distinct(item as never) });
    const paths = ['/1', '/2', '/1', '/3', '/2', '/4'];
    const log = paths.map((path, at) => combined(at * 1_000).replace(/"GET \S+/, `"GET ${path}`));
    const report = await replayed(log, { policy });
    expect(only(report)).toMatchObject({
      rejected: { low: 2, high: 2 },
      table: [],
      smallest: null,
    });
    expect(report.notes).toEqual([expect.stringContaining('it counts different things')]);
  });

  it('with the longest windows has bursts that a limiter would have', async () => {
    const options = { limit: 1, window: '400d' } as const;
    const log = new Array(100).fill(combined(0));
    const { smallest } = only(await replayed(log, { policy: rateLimit(options) }));
    const policy = rateLimit({ ...options, burst: 1_000_000_000 });
    expect(only(await replayed(log, { policy })).rejected.low).toBeGreaterThan(0);
    expect(smallest).toMatchObject({ burstByCallers: null, burstByRejected: null });
  });

  it('whose limit judges no log of whole seconds rejects nothing', async () => {
    const logs = [
      file('unjudged.jsonl', linesOf(json(START_MS + 1), json(START_MS + 2))),
      file('seconds.log', linesOf(combined(0))),
    ];
    const short = rateLimit({ name: 'short', limit: 1, window: '1s' });
    const policy = [short, rateLimit({ name: 'long', limit: 2, window: '1m' })];
    const { policy: own, compare } = await replayed([], { logs, policy, compare: short });
    expect(own.limiters[0]?.judged).toBe(false);
    expect(own.rejected).toEqual({ low: 1, high: 1 });
    expect(compare).toMatchObject({ newlyHit: 0, noLongerHit: 1, top: [] });
    const back = await replayed([], { logs, policy: short, compare: policy });
    expect(back.compare).toMatchObject({ newlyHit: 1, noLongerHit: 0, top: [{ rejected: 1 }] });
  });

  it('whose functions change their mind is counted by what they said', async () => {
    let calls = 0;
    const skip = () => {
      calls += 1;
      return calls % 2 === 1;
    };
    const policy = createGuard(perMinute(1), { skip });
    const limiter = only(await replayed([json(START_MS + 1), json(START_MS + 2)], { policy }));
    expect(limiter).toMatchObject({
      callers: 1,
      rejected: { low: 0, high: 1 },
      rejectedCallers: { low: 0, high: 1 },
      top: [{ caller: '203.0.113.7', rejected: { low: 0, high: 1 } }],
    });
  });

  it('with what is no limiter is refused with a sentence', async () => {
    const policy = [undefined] as never;
    await expect(replayed([combined(0)], { policy })).rejects.toThrow(
      'must be made by rateLimit()',
    );
  });

  it('whose function throws what has no text is told', async () => {
    const key = () => {
      throw Object.create(null);
    };
    const report = await replayed([combined(0)], {
      policy: rateLimit({ name: 'odd', limit: 2, window: '1m', key }),
    });
    expect(report.notes).toEqual([expect.stringContaining('odd: key failed for 1 requests')]);
  });
});
