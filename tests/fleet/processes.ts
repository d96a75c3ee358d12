/** The processes of a fleet: demo services and Redis servers, on free ports, gone when the test is over. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');
const SERVER = join(ROOT, 'apps', 'demo-express', 'server.js');

/** The program of the server; null where there is none. */
export const redisProgram: string | null = inject('redisServer');

/** @throws Error if what the demo imports has not been built. */
export function checkBuilt(): void {
  for (const name of ['core', 'express', 'redis']) {
    if (!existsSync(join(ROOT, 'packages', name, 'dist', 'index.js'))) {
      throw new Error(
        `packages/${name} is not built: run "npm run build" (npm test does it first)`,
      );
    }
  }
}

export interface DemoOptions {
  readonly LIMIT: number;
  readonly WINDOW: string;
  readonly BURST?: number;
  readonly REDIS_URL?: string;
}

export interface Demo {
  readonly url: string;
  readonly process: ChildProcess;
}

/** Starts a demo process and waits until it listens. */
export async function startDemo(options: DemoOptions): Promise<Demo> {
  // Of the runner's environment nothing that a demo would read.
  const { NODE_OPTIONS, NODE_ENV, LIMIT, WINDOW, BURST, REDIS_URL, ...outer } = process.env;
  const own = Object.entries(options).map(([name, value]) => [name, String(value)]);
  const env: NodeJS.ProcessEnv = { ...outer, ...Object.fromEntries(own), PORT: '0' };
  const child = spawn(process.execPath, [SERVER], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const line = await firstLine(child, /port (\d+)/);
  return { url: `http://127.0.0.1:${line[1]}`, process: child };
}

/** A Redis server that can be killed, frozen and started again, always at the same address. */
export class RedisServer {
  private child: ChildProcess | undefined;
  private readonly dir = mkdtempSync(join(tmpdir(), 'spillway-fleet-'));

  private constructor(readonly port: number) {
    onTestFinished(() => {
      this.child?.kill('SIGKILL');
      rmSync(this.dir, { recursive: true, force: true });
    });
  }

  /** Reserves an address; nothing is started. */
  static async down(): Promise<RedisServer> {
    return new RedisServer(await freePort());
  }

  static async up(): Promise<RedisServer> {
    const server = await RedisServer.down();
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const args = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--save', '', '--dir', this.dir];
    const child = spawn(redisProgram ?? '', args, { stdio: ['ignore', 'pipe', 'ignore'] });
    this.child = child;
    await firstLine(child, /Ready to accept/);
  }

  /** Ends it without a word to its clients (`SIGKILL`), or in good order (`SIGTERM`). */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { child } = this;
    if (!child) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }

  /** Stops it where it is: connections stay open, nothing is answered. */
  freeze(): void {
    this.child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.child?.kill('SIGCONT');
  }
}

/** Waits until a process prints a line that matches. */
function firstLine(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk) => {
      text += String(chunk);
      const found = pattern.exec(text);
      if (found) resolve(found);
    });
    child.once('exit', (code) =>
      reject(new Error(`ended with ${code} before ${pattern}: ${text}`)),
    );
    child.once('error', reject);
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
