/** The command, and a Redis with a password that it must never print. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { makeRule, type Rule } from '@spillway/core/store';
import { redisControl } from '@spillway/redis';
import { Redis } from 'ioredis';
import { type RedisServer, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, beforeEach, expect, vi } from 'vitest';
import { run } from '../src/run.js';

export const COMMAND: string = join(import.meta.dirname, '..', 'dist', 'main.js');

export const PASSWORD = 'do-not-print-me';

/** What every change must say. */
export const because = ['--because', 'a test', '--by', 'ada'];

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/**
 * Redis is empty before each test. With `own`, each command gets a process, as when a user types it. Otherwise it runs
 * in the process of the tests, because starting processes would take most of their time.
 */
export function commandOnRedis(runs: 'here' | 'own' = 'here') {
  let server: RedisServer;
  let redis: Redis;
  let url: string;
  let last: Promise<unknown> = Promise.resolve();

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

  function environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
    // Colours are as a test sets them, whatever the environment of the test run says.
    const { NO_COLOR, FORCE_COLOR, ...outer } = process.env;
    return { ...outer, REDIS_URL: url, ...env };
  }

  function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
    return spawn(process.execPath, [COMMAND, ...args], { env: environment(env), stdio: 'pipe' });
  }

  async function spillway(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
    const ending =
      runs === 'own'
        ? inOwnProcess(start(args, env))
        : last.then(() => runHere(args, environment(env)));
    // Commands of one process would mix what they print, so they run one after another.
    last = ending.catch(() => undefined);
    const ended = await ending;
    expect(ended.out + ended.err).not.toContain(PASSWORD);
    return ended;
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

async function inOwnProcess(child: ChildProcess): Promise<Ended> {
  const texts = { out: '', err: '' };
  child.stdout?.on('data', (text) => {
    texts.out += text;
  });
  child.stderr?.on('data', (text) => {
    texts.err += text;
  });
  const [code] = await once(child, 'close');
  return { code, ...texts };
}

async function runHere(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const outer = process.env;
  const texts = { out: '', err: '' };
  const write = (name: 'out' | 'err') => (text: string | Uint8Array) => {
    texts[name] += text;
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(write('out')),
    vi.spyOn(process.stderr, 'write').mockImplementation(write('err')),
  ];
  process.env = env;
  try {
    return { code: await run(args), ...texts };
  } finally {
    process.env = outer;
    for (const spy of spies) spy.mockRestore();
  }
}
