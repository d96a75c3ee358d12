/** The real command against a real Redis. */

import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Change, createGuard, decisionLog, type Override, rateLimit } from '@spillway/core';
import { redisControl, redisStore } from '@spillway/redis';
import { redisProgram, startCluster } from 'spillway-testkit/redis';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { because, commandOnRedis } from './command.js';

describe.skipIf(redisProgram === null)('spillway', () => {
  const { redis, start, spillway, json, announce } = commandOnRedis('own');

  beforeEach(() => announce('api', 'other'));

  /** A service's view of the same Redis. */
  function service() {
    const control = redisControl(redis());
    onTestFinished(() => control.close());
    const limiter = rateLimit({
      name: 'api',
      limit: 1,
      window: '1h',
      key: (of) =>
        of.header('x-user') ? [of.header('x-key'), of.header('x-user')] : of.header('x-key'),
    });
    const guard = createGuard(limiter, { store: redisStore(redis()), storeTimeout: '5s', control });
    const admit = async (headers: Record<string, string> = {}, clientIp = '203.0.113.7') =>
      (
        await guard.admit({
          method: 'GET',
          path: '/',
          clientIp,
          header: (name) => headers[name],
          raw: undefined,
        })
      ).allowed;
    return { control, admit };
  }

  it('works on the keys of the service that has its prefix, and on no others', async () => {
    const shop = redisControl(redis(), { prefix: 'shop:' });
    onTestFinished(() => shop.close());
    const at = ['--prefix', 'shop:', '--anyway'];
    await spillway(['set', 'api', 'shadow', ...at, ...because]);
    await spillway(['block', 'api', 'eve', ...at, ...because]);
    expect((await spillway(['reset', 'api', 'eve', ...at])).code).toBe(0);
    expect(await shop.history()).toHaveLength(3);
    const seen = await json<{ overrides: Override[] }>('status', '--prefix', 'shop:');
    expect(seen.overrides).toHaveLength(2);
    expect((await json<{ overrides: Override[] }>('status')).overrides).toEqual([]);
    expect(await redis().keys('spw:*')).toEqual(['spw:{%control}limiters']);
  });

  it('switches a limiter, which a service then obeys, and back', async () => {
    const { control, admit } = service();
    expect([await admit(), await admit()]).toEqual([true, false]);
    const { code, out } = await spillway(['set', 'api', 'off', '--for', '10m', ...because]);
    expect(code).toBe(0);
    expect(out).toMatch(
      /api +mode +off +ada +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d \((10m 0s|9m 5\ds)\) +a test/,
    );
    await control.refresh();
    expect(await admit()).toBe(true);
    expect((await spillway(['clear', 'api', ...because])).out).toContain('as declared');
    await control.refresh();
    expect(await admit()).toBe(false);
  });

  it.each([
    ['in UTC', 0, (text: string) => `${text}Z`],
    ['in another zone', 2, (text: string) => `${text}+02:00`],
    ['in the zone of the machine', 9, (text: string) => text],
    ['as status prints it', -5, (text: string) => `${text.replace('T', ' ')} -05:00`],
  ])('ends a change at an instant, %s', async (_, hoursEast, written) => {
    const untilMs = Math.ceil(Date.now() / 1000 + 86_400) * 1000;
    const there = new Date(untilMs + hoursEast * 3_600_000).toISOString().slice(0, 19);
    const { code, out, err } = await spillway(
      ['set', 'api', 'off', '--until', written(there), '--json', ...because],
      { TZ: 'Asia/Tokyo' },
    );
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const [override] = (JSON.parse(out) as { overrides: Override[] }).overrides;
    // Its length is calculated before Redis sets it, which may take a while.
    expect((override?.untilMs ?? 0) - untilMs).toBeGreaterThanOrEqual(0);
    expect((override?.untilMs ?? 0) - untilMs).toBeLessThan(60_000);
  });

  it('changes limits and share', async () => {
    type Set = { overrides: Override[] };
    const { overrides } = await json<Set>(
      'limits',
      'api',
      '--limit',
      '200',
      '--window',
      '1m',
      ...because,
    );
    expect(overrides).toMatchObject([{ what: 'limits', value: { limit: 200, window: '1m' } }]);
    const after = await json<Set>('share', 'api', '10%', '--for', 'forever', ...because);
    expect(after.overrides).toMatchObject([
      { what: 'share', value: 0.1, untilMs: null },
      { what: 'limits' },
    ]);
    const rest = await json<Set>(
      'clear',
      'api',
      '--only',
      'limits',
      '--because',
      'x',
      '--by',
      'ada',
    );
    expect(rest.overrides).toMatchObject([{ what: 'share' }]);
  });

  it.each(['203.0.113.9', '@203.0.113.9', '2001:db8::1'])(
    'warns of an address that is given as a key: %s',
    async (key) => {
      const { code, err } = await spillway(['block', 'api', key, ...because]);
      expect(code).toBe(0);
      expect(err).toContain(`write --address ${key.replace('@', '')}`);
    },
  );

  it('blocks and allows an address as limiters count it, and a key as it is', async () => {
    const { control, admit } = service();
    await spillway(['block', 'api', '--address', '::ffff:203.0.113.9', ...because]);
    await spillway(['block', 'api', '@ada', ...because]);
    await spillway(['allow', 'api', 'bob', ...because]);
    await control.refresh();
    expect(await admit({}, '203.0.113.9')).toBe(false);
    expect(await admit({ 'x-key': '@ada' })).toBe(false);
    const bob = [await admit({ 'x-key': 'bob' }), await admit({ 'x-key': 'bob' })];
    expect(bob).toEqual([true, true]);
    await spillway(['unblock', 'api', '--address', '203.0.113.9', ...because]);
    await control.refresh();
    expect(await admit({}, '203.0.113.9')).toBe(true);
  });

  it('names a key of several parts, which no text is', async () => {
    const { control, admit } = service();
    const list = '["acme","ada"]';
    const { code } = await spillway(['block', 'api', list, '--parts', ...because]);
    expect(code).toBe(0);
    await control.refresh();
    expect(await admit({ 'x-key': 'acme', 'x-user': 'ada' })).toBe(false);
    expect(await admit({ 'x-key': 'acme', 'x-user': 'bob' })).toBe(true);
    for (const text of [list, `@${list}`]) expect(await admit({ 'x-key': text })).toBe(true);
    await spillway(['unblock', 'api', list, '--parts', ...because]);
    await control.refresh();
    expect(await admit({ 'x-key': 'acme', 'x-user': 'ada' })).toBe(true);
  });

  it('resets the count of a key, also where processes remember that it was refused', async () => {
    const { control, admit } = service();
    expect([await admit(), await admit(), await admit()]).toEqual([true, false, false]);
    const { code, out } = await spillway(['reset', 'api', '--address', '203.0.113.7']);
    expect({ code, out }).toEqual({ code: 0, out: 'Done: the key counts from zero.\n' });
    await control.refresh();
    expect([await admit(), await admit()]).toEqual([true, false]);
    expect((await control.history())[0]).toMatchObject({ what: 'reset', key: '@203.0.113.7' });
  });

  it('lets a key in at once that gets a higher limit, if told to reset what it has used', async () => {
    const { control, admit } = service();
    expect([await admit(), await admit()]).toEqual([true, false]);
    const raised = ['limits', 'api', '--address', '203.0.113.7', '--limit', '3', ...because];
    expect((await spillway([...raised, '--window', '1h'])).out).toContain('add --reset');
    const { code, out, err } = await spillway([...raised, '--reset']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('Done: the key counts from zero.');
    await control.refresh();
    expect([await admit(), await admit(), await admit(), await admit()]).toEqual([
      true,
      true,
      true,
      false,
    ]);
    const all = await spillway(['limits', 'api', '--limit', '3', '--reset', ...because]);
    expect(all).toMatchObject({
      code: 2,
      err: expect.stringContaining('--reset needs a key'),
    });
  });

  it('resets a key of a full Redis, and says who may not hear of it', async () => {
    const { admit } = service();
    expect([await admit(), await admit()]).toEqual([true, false]);
    await redis().config('SET', 'maxmemory', '1');
    onTestFinished(async () => void (await redis().config('SET', 'maxmemory', '0')));
    const { code, out, err } = await spillway(['reset', 'api', '--address', '203.0.113.7']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^Its counts are deleted\. But Redis is full/);
    await redis().config('SET', 'maxmemory', '0');
    expect(await redis().keys('spw:1{*203*')).toEqual([]);
  });

  it('ends a change at an instant in milliseconds, as programs print it', async () => {
    const until = new Date(Date.now() + 3_600_123).toISOString();
    const { code, err } = await spillway(['set', 'api', 'off', '--until', until, ...because]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });

  it('tells the hash of a key in the log of decisions, with the secret of that log', async () => {
    const secret = 'a secret of the log of decisions';
    const log = decisionLog({ write: () => {}, secret });
    const env = { SPILLWAY_LOG_SECRET: secret };
    expect(await spillway(['hash', 'acme'], env)).toEqual({
      code: 0,
      out: `${log.hashOf('acme')}\n`,
      err: '',
    });
    const { out } = await spillway(['hash', '--address', '::ffff:203.0.113.7', '--json'], env);
    expect(JSON.parse(out)).toEqual({
      key: '@203.0.113.7',
      keyHash: log.hashOf('@203.0.113.7'),
    });
    const file = join(mkdtempSync(join(tmpdir(), 'spw-')), 'secret');
    writeFileSync(file, `${secret}\n`);
    expect((await spillway(['hash', 'acme', '--secret-file', file])).out).toBe(
      `${log.hashOf('acme')}\n`,
    );
    expect(await spillway(['hash', 'acme'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('SPILLWAY_LOG_SECRET'),
    });
  });

  it('shows what is set and what was changed', async () => {
    expect((await spillway(['status'])).out).toMatch(
      /^No live settings: every limiter is as declared\.\n\nLimiters:\n/,
    );
    await spillway(['set', 'api', 'shadow', ...because]);
    await spillway(['set', 'other', 'off', '--for', 'forever', ...because]);
    await spillway(['clear', 'api', ...because]);
    const { out } = await spillway(['status']);
    expect(out).toMatch(
      /^LIMITER +WHAT +VALUE +BY +UNTIL +BECAUSE\nother +mode +off +ada +forever +a test\n/,
    );
    expect(out).toMatch(
      /shadow -> as declared +ada +a test\n.* as declared -> off .*\n.* as declared -> shadow /,
    );
    const { overrides, changes } = await json<{ overrides: Override[]; changes: Change[] }>(
      'status',
      'api',
    );
    expect(overrides).toEqual([]);
    expect(changes).toHaveLength(2);
  });

  it('watches changes as they come, and ends when told to', async () => {
    await spillway(['set', 'api', 'shadow', '--because', 'before', '--by', 'ada']);
    const child = start(['watch', '--json']);
    let out = '';
    let err = '';
    child.stdout?.on('data', (text) => {
      out += text;
    });
    child.stderr?.on('data', (text) => {
      err += text;
    });
    const within = { timeout: 10_000, interval: 20 };
    await vi.waitFor(() => expect(err).toContain('Watching'), within);
    await spillway(['set', 'api', 'off', ...because]);
    await spillway(['block', 'api', 'eve', ...because]);
    await vi.waitFor(() => expect(out.trim().split('\n')).toHaveLength(2), within);
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { limiter: 'api', what: 'mode', before: 'shadow', after: 'off' },
      { what: 'key', key: 'eve', after: 'block' },
    ]);
    const gone = once(child, 'close');
    child.kill('SIGINT');
    expect(await gone).toEqual([0, null]);
  });

  it('takes the author from the system', async () => {
    await spillway(['set', 'api', 'off', '--because', 'a test']);
    const { overrides } = await json<{ overrides: Override[] }>('status');
    expect(overrides[0]?.by).not.toBe('');
  });

  it('hides keys under the secret of the store', async () => {
    const env = { SPILLWAY_HASH_KEYS: 'secret' };
    expect((await spillway(['block', 'api', 'ada@example.com', ...because], env)).code).toBe(0);
    expect((await spillway(['status'])).out).not.toContain('example.com');
    const control = redisControl(redis(), { hashKeys: 'secret' });
    await control.refresh();
    expect(control.overrideOf('api', 'ada@example.com')?.verdict).toBe('block');
    control.close();
  });

  it('finds a Redis Cluster by one of its nodes', async () => {
    const { servers, nodes } = await startCluster();
    onTestFinished(async () => {
      for (const node of nodes) node.disconnect();
      for (const server of servers) await server.kill();
    });
    const at = ['--cluster', '--redis', `redis://127.0.0.1:${servers[2]?.port}`];
    const anyway = [...at, '--anyway'];
    expect(await spillway(['set', 'api', 'off', ...because, ...anyway])).toMatchObject({
      code: 0,
      err: '',
    });
    expect(await spillway(['reset', 'api', 'ada', ...anyway])).toMatchObject({ code: 0, err: '' });
    expect((await spillway(['status', ...at])).out).toMatch(/api +mode +off/);
    const rights = ['~spw:*', '+@all', '-info', '-cluster', '+cluster|slots'];
    for (const node of nodes) await node.acl('SETUSER', 'limited', 'on', '>pw', ...rights);
    const limited = ['--cluster', '--redis', `redis://limited:pw@127.0.0.1:${servers[0]?.port}`];
    expect(await spillway(['status', ...limited])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/api +mode +off/),
      err: '',
    });
    // The settings are in one slot: two of the three nodes do not have it.
    const alone = servers.map(({ port }) =>
      spillway([
        'set',
        'api',
        'off',
        ...because,
        '--anyway',
        '--redis',
        `redis://127.0.0.1:${port}`,
      ]),
    );
    const told = (await Promise.all(alone)).filter(({ code }) => code !== 0);
    expect(told).toHaveLength(2);
    for (const one of told) {
      expect(one).toMatchObject({
        code: 2,
        err: expect.stringContaining('this Redis is a node of a Cluster: add --cluster'),
      });
    }
  });

  it('ends after a replay, although the policy keeps a timer', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'replay-'));
    const core = join(import.meta.dirname, '../../core/dist/index.js');
    writeFileSync(
      join(folder, 'policy.mjs'),
      `import { rateLimit } from ${JSON.stringify(core)};
      setInterval(() => {}, 1_000_000);
      export default rateLimit({ limit: 1, window: '1m' });`,
    );
    writeFileSync(join(folder, 'access.log'), 'no request\n'.repeat(3));
    const args = ['replay', join(folder, 'access.log'), '--policy', join(folder, 'policy.mjs')];
    expect(await spillway(args)).toMatchObject({
      code: 0,
      out: expect.stringContaining('0 requests of 1 log'),
    });
  });

  it('lets nobody write to the terminal through Redis', async () => {
    const note = JSON.stringify({ value: 'off', by: '\u001b[2Jeve', because: '\u202ex\ny' });
    await redis().set('spw:{%control}revision', '1');
    await redis().hset('spw:{%control}settings', 'mode ["api\\u001b[31m"]', `1 1 0 ${note}`);
    const { out } = await spillway(['status']);
    expect(out).toContain('\\u{1b}[2Jeve');
    expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    const key = '\u009bJ\u202e\u{e0001}';
    await spillway(['block', 'api', key, ...because]);
    const { out: json } = await spillway(['status', '--json']);
    expect(json.trim()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(JSON.parse(json).changes[0]).toMatchObject({ key });
  });
});
