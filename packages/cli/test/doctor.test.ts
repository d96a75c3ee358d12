/** `doctor` against real servers that are set up correctly, and wrongly in each way that it knows. */

import { Redis } from 'ioredis';
import { redisProgram, startCluster, startServer } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { userFromDocs } from '../../redis/test/rights.js';
import { findingsOf } from '../src/doctor/checks.js';
import type { Facts } from '../src/doctor/facts.js';
import type { Finding } from '../src/doctor/finding.js';
import { RIGHTS_SCRIPT } from '../src/doctor/rights.js';
import { commandOnRedis } from './command.js';

const TRIED = [...RIGHTS_SCRIPT.matchAll(/^try\('(\w+)'/gm)].map(([, command = '']) => command);

/** Rights of a client, not of our scripts. `eval` and `evalsha` are tried by running the script. */
const NOT_TRIED = ['evalsha', 'eval', 'ping', 'info', 'client|setname', 'select'];

const byCheck = (findings: readonly Finding[]): Record<string, Finding> =>
  Object.fromEntries(findings.map((one) => [one.check, one]));

it('tries every command of the list in docs/operations.md', () => {
  const listed = userFromDocs().rules.flatMap((rule) => (rule[0] === '+' ? [rule.slice(1)] : []));
  expect([...TRIED].sort()).toEqual(listed.filter((one) => !NOT_TRIED.includes(one)).sort());
});

describe('what a server says', () => {
  const GOOD = {
    redis_version: '8.2.2',
    role: 'master',
    maxmemory_policy: 'noeviction',
    used_memory: '1000000',
    maxmemory: '100000000',
    evicted_keys: '0',
    cluster_enabled: '0',
  };
  function findings(info: Record<string, string>, facts: Partial<Facts> = {}) {
    const server = { address: 'a:1', medianRoundTripMs: 0.3, aheadMs: 0 };
    return byCheck(
      findingsOf({
        isCluster: false,
        servers: [{ ...server, info: new Map(Object.entries({ ...GOOD, ...info })) }],
        prefix: 'spw:',
        rights: { missing: [], isKeyRefused: false },
        limiters: [],
        settingsLost: false,
        ...facts,
      }),
    );
  }

  it.each([
    ['version', { redis_version: '6.0.16' }, 'problem', 'Redis 6.0.16 is too old'],
    ['version', { redis_version: '6.2.19' }, 'warning', 'CVE-2025-49844'],
    ['version', { redis_version: '6.2.20' }, 'ok', 'Redis 6.2.20'],
    ['version', { redis_version: '7.0.15' }, 'warning', 'CVE-2025-49844'],
    ['version', { redis_version: '8.4.0' }, 'ok', 'Redis 8.4.0'],
    ['version', { redis_version: '8.10.0' }, 'ok', 'Redis 8.10.0'],
    ['version', { redis_version: '10.0.0' }, 'ok', 'Redis 10.0.0'],
    ['version', { redis_version: '7.2.4', valkey_version: '8.1.1' }, 'warning', 'Valkey 8.1.1'],
    ['version', { redis_version: '7.2.4', valkey_version: '9.0.0' }, 'ok', 'Valkey 9.0.0'],
    ['role', { role: 'slave' }, 'problem', 'a replica'],
    ['role', { loading: '1' }, 'problem', 'loading'],
    ['eviction', { maxmemory_policy: 'allkeys-lru' }, 'warning', 'maxmemory-policy is allkeys-lru'],
    ['memory', { maxmemory: '0' }, 'warning', 'without a limit'],
    ['memory', { used_memory: '80000000' }, 'warning', '80.0 MB of 100.0 MB used'],
    ['memory', { used_memory: '79999999' }, 'ok', '80.0 MB of 100.0 MB used'],
    ['evicted', { evicted_keys: '7' }, 'warning', '7 keys'],
    ['cluster', { cluster_enabled: '1' }, 'problem', 'a node of a Cluster, but'],
  ])('%s of %j: %s', (check, info, verdict, found) => {
    const finding = findings(info)[check];
    expect(finding).toMatchObject({ verdict, found: expect.stringContaining(found) });
    expect(finding?.todo === undefined).toBe(verdict === 'ok');
  });

  it('finds nothing wrong with a good one, save what it cannot see', () => {
    const wrong = Object.values(findings({})).filter(({ verdict }) => verdict !== 'ok');
    expect(wrong.map(({ check, verdict }) => [check, verdict])).toEqual([
      ['limiters', 'warning'],
      ['clients', 'unknown'],
    ]);
  });

  it.each([
    [['set'], false],
    [['get', 'del'], false],
    [[], true],
  ])('claims no write where a right is missing: %j, keys refused: %j', (missing, isKeyRefused) => {
    expect(findings({}, { rights: { missing, isKeyRefused } })['writes']).toEqual({
      check: 'writes',
      verdict: 'unknown',
      found: 'not tested, because rights are missing',
    });
  });

  it('calls eviction a problem where it would forget a quota', () => {
    const declared = (algorithm: string) => [{ algorithm, limit: 10_000 }];
    const known = { isFollowed: true, untilMs: 0 };
    const rate = { ...known, name: 'requests', declared: declared('token-bucket') };
    const quota = { ...known, name: 'monthly', declared: declared('calendar:month@UTC') };
    const evicts = { maxmemory_policy: 'volatile-lru' };
    expect(findings(evicts, { limiters: [rate] })['eviction']?.verdict).toBe('warning');
    const { eviction } = findings(evicts, { limiters: [rate, quota] });
    expect(eviction).toMatchObject({
      verdict: 'problem',
      found: expect.stringContaining('the quotas of monthly'),
    });
    expect(findings({}, { limiters: [rate, quota] })['eviction']?.verdict).toBe('ok');
  });

  it('tells a server that is far away, and a clock that is wrong', () => {
    const facts = (medianRoundTripMs: number, aheadMs: number): Partial<Facts> => ({
      servers: [{ address: 'a:1', medianRoundTripMs, aheadMs }],
    });
    expect(findings({}, facts(9.9, 999))).toMatchObject({
      connection: { verdict: 'ok' },
      clock: { verdict: 'ok' },
      info: { verdict: 'unknown' },
    });
    expect(findings({}, facts(10, 1_000))).toMatchObject({
      connection: { verdict: 'warning' },
      clock: {
        verdict: 'warning',
        found: 'the clock of Redis is 1.0 s ahead of the clock of this machine',
      },
    });
    expect(findings({}, facts(50, -3_600_000))).toMatchObject({
      connection: { verdict: 'problem' },
      clock: { found: 'the clock of Redis is 3600.0 s behind the clock of this machine' },
    });
  });

  it.each([
    [false, 'ok', 'affects only its own keys'],
    [true, 'warning', 'cluster-require-full-coverage is yes'],
    [undefined, 'unknown', 'may not run CONFIG GET'],
  ])(
    'tells of a node of a Cluster whether one that is gone stops the others: %s',
    (wants, verdict, found) => {
      const server = { address: 'a:1', medianRoundTripMs: 0.3, aheadMs: 0 };
      const node = wants === undefined ? server : { ...server, wantsFullCoverage: wants };
      const facts = { isCluster: true, servers: [node] };
      expect(findings({}, facts)['coverage']).toMatchObject({
        verdict,
        found: expect.stringContaining(found),
      });
      expect(findings({})['coverage']).toBeUndefined();
    },
  );

  it('takes a Cluster none of whose nodes can be reached for a problem', () => {
    const rights = new Error('None of startup nodes is available');
    expect(findings({}, { isCluster: true, servers: [], rights })['connection']).toMatchObject({
      verdict: 'problem',
      found: expect.stringContaining('CLUSTER SLOTS'),
    });
  });

  it('says which of several servers is meant', () => {
    const server = { medianRoundTripMs: 0.3, aheadMs: 0 };
    const servers = [
      { ...server, address: 'a:1', info: new Map(Object.entries(GOOD)) },
      { ...server, address: 'b:2', info: new Map(Object.entries({ ...GOOD, role: 'slave' })) },
    ];
    expect(findings({}, { servers })['role']?.found).toMatch(/^b:2: a replica/);
  });
});

describe.skipIf(redisProgram === null)('spillway doctor', () => {
  const { redis, port, spillway, announce } = commandOnRedis();

  async function look(env: NodeJS.ProcessEnv = {}, ...args: string[]) {
    const { code, out } = await spillway(['doctor', '--json', ...args], env);
    const { findings } = JSON.parse(out) as { findings: Finding[] };
    return { code, found: byCheck(findings) };
  }

  /** The user of docs/operations.md, without some of its rights. */
  async function userWithout(...commands: string[]): Promise<NodeJS.ProcessEnv> {
    const { name, rules, password } = userFromDocs();
    await redis().acl('SETUSER', name, 'reset', ...rules, ...commands.map((one) => `-${one}`));
    return { REDIS_URL: `redis://${name}:${password}@127.0.0.1:${port()}` };
  }

  it('is content with the user of docs/operations.md, and leaves nothing behind', async () => {
    await announce('api');
    await redis().config('SET', 'maxmemory', '100mb');
    onTestFinished(async () => void (await redis().config('SET', 'maxmemory', '0')));
    const before = await redis().keys('*');
    const seen = await look(await userWithout());
    expect(seen.code).toBe(0);
    expect(seen.found).toMatchObject({
      connection: { verdict: 'ok' },
      clock: { verdict: 'ok' },
      role: { verdict: 'ok' },
      eviction: { verdict: 'ok' },
      memory: { verdict: 'ok' },
      cluster: { verdict: 'ok' },
      rights: { verdict: 'ok' },
      writes: { verdict: 'ok' },
      limiters: { verdict: 'ok', found: 'announced by processes: api' },
      clients: { verdict: 'unknown' },
    });
    expect(await redis().keys('*')).toEqual(before);
  });

  it.each([...TRIED, 'evalsha', 'eval'])('names the missing right %s', async (command) => {
    const { code, found } = await look(await userWithout(command));
    expect({ code, verdict: found['rights']?.verdict }).toEqual({ code: 1, verdict: 'problem' });
    expect(found['rights']?.todo).toContain(`+${command}. `);
  });

  it('names a missing INFO', async () => {
    const warn = vi.spyOn(console, 'warn');
    onTestFinished(() => warn.mockRestore());
    const { code, found } = await look(await userWithout('info'));
    expect({ code, verdict: found['info']?.verdict }).toEqual({ code: 0, verdict: 'unknown' });
    expect(warn).not.toHaveBeenCalled();
  });

  it('measures the round trip without PING too', async () => {
    const { code, found } = await look(await userWithout('ping'));
    expect({ code, verdict: found['connection']?.verdict }).toEqual({ code: 0, verdict: 'ok' });
  });

  it('tells that keys with the prefix are refused', async () => {
    const { code, found } = await look(await userWithout(), '--prefix', 'other:');
    expect(code).toBe(1);
    expect(found['rights']?.found).toBe('this user may not use keys that start with other:');
  });

  it('tells that Redis is full, and which eviction it has', async () => {
    await redis().config('SET', 'maxmemory', '1', 'maxmemory-policy', 'volatile-ttl');
    onTestFinished(
      async () =>
        void (await redis().config('SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction')),
    );
    const { code, found } = await look();
    expect(code).toBe(1);
    expect(found['writes']?.found).toMatch(/^Redis rejects writes: .*OOM/);
    expect([found['eviction']?.verdict, found['memory']?.verdict]).toEqual(['warning', 'warning']);
  });

  it('tells a replica', async () => {
    const replica = await startServer();
    onTestFinished(() => replica.kill());
    const client = new Redis(replica.port);
    onTestFinished(() => client.disconnect());
    await client.replicaof('127.0.0.1', port());
    const { code, found } = await look({ REDIS_URL: `redis://127.0.0.1:${replica.port}` });
    expect(code).toBe(1);
    expect(found['role']?.found).toMatch(/^a replica/);
    expect(found['writes']?.found).toMatch(/READONLY/);
  });

  it('tells a server that is still loading its data', async () => {
    const master = await startServer(undefined, '--repl-diskless-sync-delay', '0');
    onTestFinished(() => master.kill());
    // A replica loads the data of its master. Each key takes 5 ms.
    const slow = ['--key-load-delay', '5000', '--loading-process-events-interval-bytes', '1024'];
    const loading = await startServer(undefined, ...slow);
    onTestFinished(() => loading.kill());
    const [source, client] = [new Redis(master.port), new Redis(loading.port)];
    onTestFinished(() => [source, client].forEach((one) => void one.disconnect()));
    const fill = "for i = 1, 20000 do redis.call('SET', i, string.rep('x', 99)) end";
    await source.eval(fill, 0);
    await client.replicaof('127.0.0.1', master.port);
    await vi.waitFor(async () => expect(await client.info()).toContain('loading:1'), 20_000);
    const { code, found } = await look({ REDIS_URL: loading.url });
    expect(code).toBe(1);
    expect(found['role']?.found).toMatch(/^still loading its data/);
  });

  it('looks at each master of a Cluster, and tells who takes one node for a server', async () => {
    const { servers, nodes } = await startCluster();
    onTestFinished(async () => {
      for (const node of nodes) node.disconnect();
      for (const server of servers) await server.kill();
    });
    const env = { REDIS_URL: `redis://127.0.0.1:${servers[0]?.port}` };
    const alone = await look(env);
    expect(alone).toMatchObject({ code: 1, found: { cluster: { verdict: 'problem' } } });

    const { out } = await spillway(['doctor', '--json', '--cluster'], env);
    const { findings } = JSON.parse(out) as { findings: Finding[] };
    const clusters = findings.filter(({ check }) => check === 'cluster');
    expect(clusters.map(({ found }) => found).sort()).toEqual(
      servers.map(({ port: at }) => `127.0.0.1:${at}: a node of a Cluster`).sort(),
    );
    expect(findings.filter(({ verdict }) => verdict === 'problem')).toEqual([]);

    const { name, rules, onCluster, password } = userFromDocs();
    const user = { REDIS_URL: `redis://${name}:${password}@127.0.0.1:${servers[0]?.port}` };
    for (const node of nodes) await node.acl('SETUSER', name, ...rules, ...onCluster);
    expect((await look(user, '--cluster')).found['rights']?.verdict).toBe('ok');
    // Without this right, a client of ioredis is never ready.
    for (const node of nodes) await node.acl('SETUSER', name, '-cluster', '+cluster|slots');
    const { code, found } = await look(user, '--cluster');
    expect({ code, todo: found['rights']?.todo }).toEqual({
      code: 1,
      todo: expect.stringContaining('+cluster|info. '),
    });
  });

  it('prints a line for each check, what to do below it, and how many problems there are', async () => {
    const { code, out, err } = await spillway(['doctor'], await userWithout('zadd', 'hset'));
    expect({ code, err }).toEqual({ code: 1, err: 'error: 1 problem found\n' });
    expect(out).toMatch(/^ok +connection +127\.0\.0\.1:\d+ answers in \d+\.\d ms\n/);
    expect(out).toMatch(
      /PROBLEM {2}rights +this user may not run zadd, hset: .*\n +-> ACL SETUSER <user> \+zadd \+hset\. /,
    );
  });
});
