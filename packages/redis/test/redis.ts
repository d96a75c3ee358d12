/// <reference path="../../../tools/redis-global-setup.ts" />
/** Servers for the tests. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Step } from '@spillway/core';
import { makeRule, type Rule } from '@spillway/core/store';
import { inject } from 'vitest';

/** The shared test server; null where there is none. */
export const redisUrl: string | null = inject('redisUrl');

/** The program for servers of one's own; null where there is none. */
export const redisServer: string | null = inject('redisServer');

export interface Server {
  readonly port: number;
  /** As a crash does. */
  kill(): Promise<void>;
  /** Stops it where it is: connections stay open, nothing is answered. */
  freeze(): void;
  thaw(): void;
}

/** A port on which nobody listens, nor on that of a cluster's bus, 10,000 above. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/** An empty server on loopback. */
export async function startServer(port?: number, ...args: string[]): Promise<Server> {
  const at = port ?? (await freePort());
  const dir = mkdtempSync(join(tmpdir(), 'spillway-redis-'));
  const own = [
    '--dir',
    dir,
    '--port',
    `${at}`,
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  const child = spawn(redisServer ?? '', [...own, ...args], { stdio: 'ignore' });
  while (!(await answers(at))) {
    if (child.exitCode === null) await delay(10);
    else if (port === undefined) return startServer(undefined, ...args);
    else throw new Error(`no server on port ${port}`);
  }
  return {
    port: at,
    kill: () => kill(child, dir),
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' });
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

function kill(child: ChildProcess, dir: string): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => {
      rmSync(dir, { recursive: true, force: true });
      resolve();
    });
    child.kill('SIGKILL');
  });
}

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const threePerMinute = makeRule('fixed-window', 3, 60_000_000);

/** The Redis key of what {@link take} counts. */
export function nameOf(key: string, rule: Rule = threePerMinute): string {
  return `spw:{${key}}api}${rule.code}`;
}

/** A step of one unit of 3 a minute, unless told otherwise. */
export function take(key: string, other: Partial<Step> = {}): Step {
  const rule = threePerMinute;
  return { op: 'take', limiter: 'api', key, rule, cost: 1, binding: true, ...other };
}
