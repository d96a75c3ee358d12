import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { findRedis, findServers, type ServerProgram, startRedis } from './redis-process.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of the Redis that tests share; null if none is available. */
    redisUrl: string | null;
    redisProgram: string | null;
    /** All available servers; the first is that of `redisProgram`. */
    redisServers: readonly ServerProgram[];
  }
}

/**
 * Provides the tests with a real Redis, the first of these that exists:
 *
 * 1. `REDIS_URL`
 * 2. the program of `SPILLWAY_REDIS_SERVER`, or one on PATH, started on a free loopback port
 * 3. a server installed with apt (as root on a Debian-like system, unless `SPILLWAY_NO_INSTALL` is set)
 *
 * If there is none, prints a warning, or throws if `SPILLWAY_REQUIRE_REDIS` is set. Tests that start their own servers
 * use 2, even if `REDIS_URL` is set; with `SPILLWAY_REQUIRE_REDIS`, 3 too.
 */
export default async function setup(project: TestProject): Promise<(() => void) | undefined> {
  const url = process.env['REDIS_URL'];
  const isRequired = Boolean(process.env['SPILLWAY_REQUIRE_REDIS']);
  const program = findRedis() ?? (url && !isRequired ? null : installServer());
  const servers = program === null ? [] : findServers();
  project.provide('redisProgram', program);
  project.provide('redisServers', servers);
  console.info(`Servers: ${servers.map(({ name }) => name).join(', ') || 'none'}`);
  if (url) {
    project.provide('redisUrl', url);
    return undefined;
  }
  if (!program) {
    project.provide('redisUrl', null);
    const message =
      'No Redis: set REDIS_URL, or install redis-server or valkey-server. Tests that need it are skipped.';
    if (isRequired) throw new Error(message);
    console.warn(`\n${'!'.repeat(100)}\n${message}\n${'!'.repeat(100)}\n`);
    return undefined;
  }
  const server = await startRedis(program);
  project.provide('redisUrl', server.url);
  return server.stop;
}

function installServer(): string | null {
  const root = process.getuid?.() === 0;
  if (!root || !existsSync('/usr/bin/apt-get') || process.env['SPILLWAY_NO_INSTALL']) return null;
  console.warn(
    'No redis-server here: installing it with apt-get (SPILLWAY_NO_INSTALL=1 forbids it).',
  );
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  spawnSync('apt-get', ['update', '-qq'], { stdio: 'inherit', env });
  spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'redis-server'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env,
  });
  return findRedis();
}
