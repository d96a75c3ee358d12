/** Starts Redis servers. Plain JavaScript, because the benchmarks run this file in Node without a build. */

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The folder of the servers that tools/servers.sh downloads. */
const CACHE = join(import.meta.dirname, '../../../node_modules/.cache/spillway/servers');

export function findRedis() {
  const told = process.env.SPILLWAY_REDIS_SERVER;
  if (told === undefined) return ['redis-server', 'valkey-server'].find(versionOf) ?? null;
  if (told && versionOf(told)) return told;
  throw new Error(`SPILLWAY_REDIS_SERVER is no server that can be run: "${told}"`);
}

export function findServers() {
  const first = findRedis();
  const others = process.env.SPILLWAY_REDIS_SERVER === undefined ? cached() : [];
  const programs = first === null ? others : [first, ...others];
  const servers = programs.map((program) => ({ name: versionOf(program) ?? program, program }));
  return servers.filter(({ name }, at) => servers.findIndex((it) => it.name === name) === at);
}

/** The name and version, such as `Redis 7.0.15` or `Valkey 8.1.1`; null if the program is no such server. */
function versionOf(program) {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  const said = /^(\w+) server v=(\S+)/.exec(stdout ?? '');
  return said && `${said[1]} ${said[2]}`;
}

function cached() {
  if (!existsSync(CACHE)) return [];
  return readdirSync(CACHE)
    .flatMap((folder) => ['redis-server', 'valkey-server'].map((name) => join(CACHE, folder, name)))
    .filter((program) => existsSync(program));
}

export async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

function isFree(port) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

export async function startRedis(program, { port, args = [] } = {}) {
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const started = await tryStart(program, port ?? (await freePort()), args);
    if (started) return started;
    if (port !== undefined) break;
  }
  throw new Error(`${program} did not start ${port ? `on port ${port}` : 'on any of ten ports'}`);
}

/** Returns undefined if the server did not start, for example because another process took the port. */
async function tryStart(program, port, args) {
  const dir = mkdtempSync(join(tmpdir(), 'spillway-redis-'));
  const where = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', dir];
  const child = spawn(program, [...where, '--save', '', '--appendonly', 'no', ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const remove = () => rmSync(dir, { recursive: true, force: true });
  child.once('exit', remove);
  const isUp = await new Promise((resolve, reject) => {
    child.once('exit', () => resolve(false));
    child.once('error', reject);
    child.stdout.on('data', (text) => {
      if (String(text).includes('Ready to accept')) resolve(true);
    });
  });
  if (!isUp) return undefined;
  const stop = () => {
    child.kill('SIGKILL');
    remove();
  };
  return { port, url: `redis://127.0.0.1:${port}`, child, stop };
}
