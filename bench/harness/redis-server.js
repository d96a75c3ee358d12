/** A redis-server of the benchmark's own, on a free loopback port, that keeps nothing on disk. */

import { spawn, spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { pin } from './child.js';

/** The first of these that can be run. */
export function findRedis() {
  const runs = (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0;
  return ['redis-server', 'valkey-server'].find(runs);
}

function start(program, port) {
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const child = spawn(program, [...args, '--dir', tmpdir()], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return new Promise((resolve) => {
    child.once('exit', () => resolve(undefined));
    child.stdout.on('data', (text) => {
      if (String(text).includes('Ready to accept')) resolve(child);
    });
  });
}

/** Its port, and how to end it. */
export async function startRedis(program, core) {
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const port = 20_000 + Math.floor(Math.random() * 20_000);
    const child = await start(program, port);
    if (!child) continue; // the port was taken
    pin(child.pid, core);
    const stop = () => child.kill('SIGKILL');
    process.once('exit', stop);
    return { port, stop };
  }
  throw new Error(`${program} did not start on any of ten ports`);
}
