import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the tests find a real Redis; null only where none could be had. */
    redisUrl: string | null;
    /** The server's program, for tests that start and kill servers of their own. */
    redisServer: string | null;
  }
}

/**
 * A real Redis for the tests: REDIS_URL, else a server found on PATH and started on a free loopback
 * port, else one installed with apt (as root on a Debian-like system), else none, loudly.
 */
export default async function setup(project: TestProject): Promise<(() => void) | undefined> {
  const program = findServer() ?? installServer();
  project.provide('redisServer', program);
  if (process.env['REDIS_URL']) {
    project.provide('redisUrl', process.env['REDIS_URL']);
    return undefined;
  }
  if (!program) {
    project.provide('redisUrl', null);
    const message =
      'No Redis: set REDIS_URL, or install redis-server or valkey-server. Tests that need it are skipped.';
    if (process.env['SPILLWAY_REQUIRE_REDIS']) throw new Error(message);
    console.warn(`\n${'!'.repeat(100)}\n${message}\n${'!'.repeat(100)}\n`);
    return undefined;
  }
  const server = await startRedis(program);
  project.provide('redisUrl', server.url);
  return server.stop;
}

function findServer(): string | null {
  for (const name of ['redis-server', 'valkey-server']) {
    if (spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0) return name;
  }
  return null;
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
  return findServer();
}

async function startRedis(program: string): Promise<{ url: string; stop: () => void }> {
  const dir = mkdtempSync(join(tmpdir(), 'spillway-redis-'));
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const port = 20_000 + Math.floor(Math.random() * 20_000);
    const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const child = spawn(program, [...args, '--dir', dir], { stdio: ['ignore', 'pipe', 'ignore'] });
    const up = await new Promise<boolean>((resolve) => {
      child.once('exit', () => resolve(false));
      child.stdout.on('data', (text) => {
        if (String(text).includes('Ready to accept')) resolve(true);
      });
    });
    if (!up) continue; // the port was taken
    const stop = (): void => {
      child.kill('SIGKILL');
      rmSync(dir, { recursive: true, force: true });
    };
    return { url: `redis://127.0.0.1:${port}`, stop };
  }
  throw new Error(`${program} did not start on any of ten ports`);
}
