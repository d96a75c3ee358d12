import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ROOT } from './index.js';

const SERVER = join(ROOT, 'apps', 'demo-express', 'server.js');

/** @throws Error if a package that a demo imports is not built */
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

/**
 * Starts the demo of Express and waits until it listens. The demo trusts one proxy, whose role the load generator
 * plays.
 */
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

/** Starts a service on a free port, and waits until it prints the port. The caller must end it. */
export async function launch(
  [command, ...args]: readonly [string, ...string[]],
  own: Readonly<Record<string, string>>,
): Promise<Demo> {
  // Drops variables of the runner's environment that a demo would read.
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

function firstLine(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let text = '';
    let complaints = '';
    child.stdout?.on('data', (chunk) => {
      text += String(chunk);
      const found = pattern.exec(text);
      if (found) resolve(found);
    });
    // Read until the process ends, because a full pipe would block it.
    child.stderr?.on('data', (chunk) => {
      complaints = `${complaints}${chunk}`.slice(0, 2_000);
    });
    child.once('exit', (code) =>
      reject(new Error(`ended with ${code} before ${pattern}: ${text}${complaints}`)),
    );
    child.once('error', reject);
  });
}
