/** The store works as the least privileged user that docs/operations.md sets up, and that user can do nothing else. */

import { storeConformance } from '@spillway/conformance';
import { createLimiter, type Step } from '@spillway/core';
import { type LogAnswer, makeRule, remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5 } from 'ioredis5';
import { Cluster as ValkeyCluster } from 'iovalkey';
import { createCluster } from 'redis';
import {
  describeOnEachServer,
  type RedisServer,
  redisProgram,
  useCluster,
} from 'spillway-testkit/redis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { redisControl, redisReports, redisStore } from '../src/index.js';
import { redisStoreAt } from '../src/testing.js';
import { userFromDocs } from './rights.js';
import { take } from './steps.js';

/** Commands of the list that a client itself needs, not our scripts. */
const OF_CLIENTS = ['ping', 'info', 'client|setname', 'select'];

/** All that a control does. */
async function useControl(client: Redis, prefix?: string): Promise<void> {
  const control = redisControl(client, { prefix });
  const note = { by: 'ada', because: 'a test' };
  try {
    await control.set('api', { mode: 'shadow', share: 0.5 }, note);
    await control.block('api', 'bob', note);
    await control.forget('api', 'ada', note);
    await control.list();
    await control.clearKey('api', 'bob', note);
    await control.clear('api', note);
    await control.history();
    await control.limiters();
    const reports = redisReports(client, { prefix });
    await reports.publish([]);
    await reports.read('api');
  } finally {
    control.close();
  }
}

/** A reset reads the list of limiters; a right that is missing for it is logged, not thrown. */
async function useReset(client: Redis, tell: (failure: unknown) => void): Promise<void> {
  const warn = (line: string) => tell({ kind: line.includes('NOPERM') ? 'noperm' : line });
  const store = redisStore(client, { logger: { warn } });
  const limiter = createLimiter({ name: 'api', limit: 1, window: '1m' }, { store, logger: false });
  await limiter.reset('ada');
}

/** A sliding log of several chunks, most of which is then given back, so that chunks are joined. */
async function useLongLog(client: Redis): Promise<void> {
  const clock = new ManualClock();
  const store = redisStoreAt(client, clock, { logger: false });
  const rule = makeRule('sliding-window-log', 1_000, 3_600_000_000);
  const step = take('long', { rule });
  const grants: LogAnswer[] = [];
  for (let i = 0; i < 300; i += 1) {
    clock.advance(1);
    grants.push((await store.apply([step]))[0] as LogAnswer);
  }
  for (const [i, { lastUs }] of grants.entries()) {
    if (i % 4 === 0) continue;
    await store.apply([{ ...step, op: 'put', receipt: { atUs: lastUs, num: 0, units: 1 } }]);
  }
}

describeOnEachServer('as the user of docs/operations.md', (start) => {
  let server: RedisServer;
  let admin: Redis;
  let redis: Redis;

  beforeAll(async () => {
    server = await start();
    admin = new Redis(server.port);
    const { name, rules, password } = userFromDocs();
    await admin.acl('SETUSER', name, ...rules);
    redis = new Redis({ port: server.port, username: name, password });
  });
  afterAll(async () => {
    admin?.disconnect();
    redis?.disconnect();
    await server?.kill();
  });

  const opener =
    (client: () => Redis, failed = (_: unknown): void => undefined) =>
    async () => {
      await admin.flushall();
      const clock = new ManualClock();
      const store = redisStoreAt(client(), clock, { logger: false });
      const apply = (steps: readonly Step[]) =>
        store.apply(steps).catch((error: unknown) => {
          failed(error);
          throw error;
        });
      const { values } = store;
      return {
        store: remoteStore({ sync: false, apply, values }),
        setTimeUs: (us: number) => clock.setUs(us),
      };
    };
  const open = opener(() => redis);
  for (const { name, run } of storeConformance({ open }, { runs: 3 })) test(name, run);

  it('the control can do all that it does', () => useControl(redis));

  const { rules: listed, password } = userFromDocs();
  const commands = listed.flatMap((rule) => (rule.startsWith('+') ? [rule.slice(1)] : []));
  it.each(commands.filter((command) => !OF_CLIENTS.includes(command)))(
    'but for %s, something fails and says that a right is missing',
    async (command) => {
      await admin.acl('SETUSER', 'lacking', 'reset', ...listed, `-${command}`);
      const lacking = new Redis({ port: server.port, username: 'lacking', password });
      const failures: unknown[] = [];
      const harness = {
        open: opener(
          () => lacking,
          (error) => failures.push(error),
        ),
      };
      // Scripts that Redis does not know are sent in full; otherwise a missing right to EVAL would go unnoticed.
      await admin.flushall();
      await admin.script('FLUSH');
      try {
        await useControl(lacking).catch((error) => failures.push(error));
        await useLongLog(lacking).catch((error) => failures.push(error));
        await useReset(lacking, (failure) => failures.push(failure));
        for (const { run } of storeConformance(harness, { runs: 3 })) {
          if (failures.length > 0) break;
          await run().catch(() => undefined);
        }
      } finally {
        lacking.disconnect();
      }
      expect(failures.length, 'needed by nobody').toBeGreaterThan(0);
      for (const failure of failures) expect(failure).toMatchObject({ kind: 'noperm' });
    },
    20_000,
  );

  it('with another prefix the same rights on its keys are enough, and reach no others', async () => {
    const prefix = 'shop,A-1_limits.2:';
    const rules = listed.map((rule) => (rule === '~spw:*' ? `~${prefix}*` : rule));
    expect(rules).not.toEqual(listed);
    await admin.acl('SETUSER', 'prefixed', 'reset', ...rules);
    const own = new Redis({ port: server.port, username: 'prefixed', password });
    onTestFinished(() => own.disconnect());
    await admin.flushall();
    await useControl(own, prefix);
    const warn = vi.fn();
    const limiter = (options: object) =>
      createLimiter(
        { name: 'api', limit: 1, window: '1m' },
        {
          store: redisStore(own, { logger: { warn }, ...options }),
          logger: false,
          onStoreError: 'deny',
        },
      );
    expect(await limiter({ prefix }).consume('ada')).toMatchObject({ allowed: true });
    await limiter({ prefix }).reset('ada');
    expect(await limiter({ prefix }).consume('ada')).toMatchObject({ allowed: true });
    expect(warn).not.toHaveBeenCalled();
    const others = (await admin.keys('*')).filter((key) => !key.startsWith(prefix));
    expect(others).toEqual([]);
    expect(await limiter({}).consume('ada')).toMatchObject({ outcome: 'error' });
    await expect(useControl(own)).rejects.toMatchObject({ kind: 'noperm' });
  });

  it('the store recovers from SCRIPT FLUSH', async () => {
    const store = redisStore(redis);
    await store.apply([take('ada')]);
    await admin.script('FLUSH');
    expect((await store.apply([take('ada')]))[0]).toMatchObject({ allowed: true });
  });

  it('the store announces its limiters, and the control is written and read', async () => {
    const warn = vi.fn();
    const limiter = createLimiter(
      { name: 'api', limit: 1, window: '1m' },
      { store: redisStore(redis, { logger: { warn } }) },
    );
    await limiter.consume('ada');
    await limiter.reset('ada');
    expect((await limiter.peek('ada')).allowed).toBe(true);
    const control = redisControl(redis);
    onTestFinished(() => control.close());
    await expect.poll(() => control.limiters()).toMatchObject([{ name: 'api' }]);
    const { length } = await control.history();
    await control.set('api', { mode: 'off' }, { by: 'ada', because: 'a test' });
    await control.clear('api', { by: 'ada', because: 'a test' });
    expect((await control.history()).length).toBeGreaterThan(length);
    expect(warn).not.toHaveBeenCalled();
  });

  it.each([
    ['FLUSHALL'],
    ['CONFIG', 'GET', '*'],
    ['KEYS', '*'],
    ['SCRIPT', 'FLUSH'],
    ['GET', 'session:1'],
    ['SET', 'session:1', 'x'],
    ['EVAL', "return redis.call('GET', 'session:1')", '0'],
    ['EVAL', "return redis.call('FLUSHALL')", '0'],
    ['EVAL', "return redis.call('GET', KEYS[1])", '1', 'session:1'],
    ['PUBLISH', 'orders', 'x'],
    ['ACL', 'LIST'],
  ])('%s %s is refused', async (command, ...args) => {
    await expect(redis.call(command, ...args)).rejects.toThrow(
      /NOPERM|permission|can't (run|access)/i,
    );
  });
});

describe.skipIf(redisProgram === null)('as that user on a Cluster', () => {
  const { servers, nodes } = useCluster();
  const { name, rules, onCluster, password } = userFromDocs();
  const redisOptions = { username: name, password };
  const at = () => [{ host: '127.0.0.1', port: servers[0]?.port as number }];

  beforeAll(async () => {
    for (const node of nodes) await node.acl('SETUSER', name, ...rules, ...onCluster);
  });

  it.each([
    ['ioredis 6', () => new Cluster(at(), { redisOptions })],
    ['ioredis 5', () => new Cluster5(at(), { redisOptions })],
    ['iovalkey', () => new ValkeyCluster(at(), { redisOptions })],
  ])('a client of %s is ready, and decides', async (_, connect) => {
    const client = connect() as Cluster;
    client.on('error', () => {});
    onTestFinished(() => client.disconnect());
    const [answer] = await redisStore(client).apply([take('ada', { op: 'look' })]);
    expect(answer).toMatchObject({ allowed: true });
  });

  it('a cluster of node-redis decides', async () => {
    const rootNodes = [{ url: `redis://127.0.0.1:${servers[0]?.port}` }];
    const client = createCluster({ rootNodes, defaults: redisOptions });
    await client.connect();
    onTestFinished(() => client.destroy());
    const [answer] = await redisStore(client).apply([take('ada', { op: 'look' })]);
    expect(answer).toMatchObject({ allowed: true });
  });
});
