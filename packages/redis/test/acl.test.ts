/** The store works as the least privileged user that docs/operations.md tells to make, and that user can do nothing else. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { storeConformance } from '@spillway/conformance';
import { createLimiter } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { redisControl, redisStore } from '../src/index.js';
import { redisStoreAt } from '../src/testing.js';
import { redisServer, type Server, startServer, take } from './redis.js';

const OPERATIONS = join(import.meta.dirname, '..', '..', '..', 'docs', 'operations.md');

/** The arguments of the one `ACL SETUSER` in the page. */
function userFromDocs(): string[] {
  const [, text = ''] = /ACL SETUSER ([^`]*?)\n```/.exec(readFileSync(OPERATIONS, 'utf8')) ?? [];
  return text.replace(/\\\n/g, ' ').trim().split(/\s+/);
}

describe.skipIf(redisServer === null)('as the user of docs/operations.md', () => {
  let server: Server;
  let admin: Redis;
  let redis: Redis;

  beforeAll(async () => {
    server = await startServer();
    admin = new Redis(server.port);
    const [name = '', ...rules] = userFromDocs();
    const password = rules.find((rule) => rule.startsWith('>'))?.slice(1) ?? '';
    await admin.acl('SETUSER', name, ...rules);
    redis = new Redis({ port: server.port, username: name, password });
  });
  afterAll(async () => {
    admin?.disconnect();
    redis?.disconnect();
    await server?.kill();
  });

  const open = async () => {
    await admin.flushall();
    const clock = new ManualClock();
    return { store: redisStoreAt(redis, clock), setTimeUs: (us: number) => clock.setUs(us) };
  };
  for (const { name, run } of storeConformance({ open }, { runs: 3 })) test(name, run);

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
    await vi.waitFor(async () => expect(await control.limiters()).toMatchObject([{ name: 'api' }]));
    await control.set('api', { mode: 'off' }, { by: 'ada', because: 'a test' });
    await control.clear('api', { by: 'ada', because: 'a test' });
    expect(await control.history()).toHaveLength(2);
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
