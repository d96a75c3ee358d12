/** The processes of a fleet: demo services and Redis servers, on free ports, gone when the test is over. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';

export const ROOT: string = join(import.meta.dirname, '..', '..');
const SERVER = join(ROOT, 'apps', 'demo-express', 'server.js');

/** The program of the server; null where there is none. */
export const redisProgram: string | null = inject('redisServer');

/** @throws Error if what a demo imports has not been built. */
export function checkBuilt(adapter: string): void {
  for (const name of ['core', 'redis', adapter]) {
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
  readonly REDIS_URL?: string;
}

export interface Demo {
  readonly url: string;
  readonly process: ChildProcess;
}

/** Starts a demo process behind one proxy, which the load generator plays, and waits until it listens. */
export async function startDemo(options: DemoOptions): Promise<Demo> {
  const own = Object.entries(options).map(([name, value]) => [name, String(value)]);
  const demo = await launch([process.execPath, SERVER], {
    TRUST_PROXY: '1',
    ...Object.fromEntries(own),
  });
  onTestFinished(() => {
    demo.process.kill('SIGKILL');
  });
  return demo;
}

/** Starts a service on a free port and waits until it says which; whoever calls ends it. */
export async function launch(
  [command, ...args]: readonly [string, ...string[]],
  own: Readonly<Record<string, string>>,
): Promise<Demo> {
  // Of the runner's environment nothing that a demo would read.
  const {
    NODE_OPTIONS,
    NODE_ENV,
    LIMIT,
    WINDOW,
    FOUR,
    TRUST_PROXY,
    REDIS_URL,
    PLATFORM,
    ...outer
  } = process.env;
  const env: NodeJS.ProcessEnv = { ...outer, ...own, PORT: '0' };
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const line = await firstLine(child, /port (\d+)/);
  return { url: `http://127.0.0.1:${line[1]}`, process: child };
}

/** A Redis server that can be killed, frozen and started again, always at the same address. */
export class RedisServer {
  private child: ChildProcess | undefined;
  private readonly dir = mkdtempSync(join(tmpdir(), 'spillway-fleet-'));
  readonly port: number;

  private constructor(port: number, whenDone: (end: () => void) => void) {
    this.port = port;
    whenDone(() => {
      this.child?.kill('SIGKILL');
      rmSync(this.dir, { recursive: true, force: true });
    });
  }

  /** Reserves an address; nothing is started. */
  static async down(whenDone: (end: () => void) => void = onTestFinished): Promise<RedisServer> {
    return new RedisServer(await freePort(), whenDone);
  }

  /** `whenDone` is given what ends it, for the end of the test unless told otherwise. */
  static async up(whenDone: (end: () => void) => void = onTestFinished): Promise<RedisServer> {
    const server = await RedisServer.down(whenDone);
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
    let complaints = '';
    child.stdout?.on('data', (chunk) => {
      text += String(chunk);
      const found = pattern.exec(text);
      if (found) resolve(found);
    });
    // Read to the end of the process, so that it is never held up.
    child.stderr?.on('data', (chunk) => {
      complaints = `${complaints}${chunk}`.slice(0, 2_000);
    });
    child.once('exit', (code) =>
      reject(new Error(`ended with ${code} before ${pattern}: ${text}${complaints}`)),
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
