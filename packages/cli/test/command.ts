/** The real command, and a Redis with a password that it must never print. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { makeRule, type Rule } from '@spillway/core/store';
import { redisControl } from '@spillway/redis';
import { Redis } from 'ioredis';
import { type RedisServer, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, beforeEach, expect, vi } from 'vitest';

export const COMMAND: string = join(import.meta.dirname, '..', 'dist', 'main.js');

export const PASSWORD = 'do-not-print-me';

/** What every change must say. */
export const because = ['--because', 'a test', '--by', 'ada'];

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Redis is empty before each test. */
export function commandOnRedis() {
  let server: RedisServer;
  let redis: Redis;
  let url: string;

  beforeAll(async () => {
    if (!existsSync(COMMAND)) {
      throw new Error('packages/cli is not built: run "npm run build" (npm test does it first)');
    }
    server = await startServer(undefined, '--requirepass', PASSWORD);
    url = `redis://:${PASSWORD}@127.0.0.1:${server.port}`;
    redis = new Redis(url);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.kill();
  });
  beforeEach(async () => void (await redis.flushall()));

  function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
    // Colours are as a test sets them, whatever the environment of the test run says.
    const { NO_COLOR, FORCE_COLOR, ...outer } = process.env;
    const own = { ...outer, REDIS_URL: url, ...env };
    return spawn(process.execPath, [COMMAND, ...args], { env: own, stdio: 'pipe' });
  }

  async function spillway(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
    const child = start(args, env);
    let out = '';
    let err = '';
    child.stdout?.on('data', (text) => {
      out += text;
    });
    child.stderr?.on('data', (text) => {
      err += text;
    });
    const [code] = await once(child, 'close');
    expect(out + err).not.toContain(PASSWORD);
    return { code, out, err };
  }

  /** Like a process with these limiters and a control. */
  const announce = (...names: string[]) =>
    announceRule(makeRule('token-bucket', 100, 60_000_000), ...names);

  async function announceRule(rule: Rule, ...names: string[]): Promise<void> {
    const control = redisControl(redis);
    for (const name of names) control.register?.(name, rule);
    control.settingsOf('');
    await vi.waitFor(async () => expect(await control.limiters()).toHaveLength(names.length), {
      timeout: 10_000,
      interval: 10,
    });
    control.close();
  }

  async function json<Value>(...args: string[]): Promise<Value> {
    const { code, out, err } = await spillway([...args, '--json']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return JSON.parse(out) as Value;
  }

  return {
    redis: () => redis,
    port: () => server.port,
    url: () => url,
    start,
    spillway,
    json,
    announce,
    announceRule,
  };
}
