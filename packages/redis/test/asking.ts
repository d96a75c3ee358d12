/** Calls to a store as a guard makes them, and a slow network. */

import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { withDeadline } from '@spillway/core/store';
import { delay, runningMs } from 'spillway-testkit';
import { freePort } from 'spillway-testkit/redis';
import { onTestFinished } from 'vitest';
import type { RedisStore } from '../src/index.js';
import { take } from './steps.js';

/**
 * The result of a request with a deadline of 50 ms, and how long it took. Like a guard, it stops waiting by itself,
 * because the client may keep a call that is under way when Redis dies until Redis is back.
 */
export async function ask(
  store: RedisStore,
  key = 'ada',
): Promise<{ result: string; tookMs: number }> {
  let result = '';
  const tookMs = await runningMs(async () => {
    result = await Promise.resolve(withDeadline(store, 50_000).apply([take(key)])).then(
      ([answer]) => (answer?.allowed ? 'allowed' : 'refused'),
      (error) => String(error.code),
    );
  });
  return { result, tookMs };
}

/** Asks every 20 ms until Redis decides again; returns how long that took. */
export function untilDecided(store: RedisStore, key = 'ada'): Promise<number> {
  return runningMs(async () => {
    while (!['allowed', 'refused'].includes((await ask(store, key)).result)) await delay(20);
  });
}

/** A port that holds back each new connection for `ms`, then leads to Redis. */
export function slowProxy(port: number, ms: number): Promise<number> {
  const proxy = createServer(async (socket) => {
    socket.on('error', () => {});
    await delay(ms);
    const redis = createConnection({ port, host: '127.0.0.1' });
    redis.on('error', () => {});
    socket.pipe(redis).pipe(socket);
  });
  onTestFinished(() => void proxy.close());
  return new Promise((resolve) => {
    proxy.listen(0, '127.0.0.1', () => resolve((proxy.address() as AddressInfo).port));
  });
}

/** A way to Redis that can be cut; no connection is accepted until it is mended. */
export class Bridge {
  readonly port: number;
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((socket) => {
    const redis = createConnection({ port: this.redisPort, host: '127.0.0.1' });
    for (const each of [socket, redis]) {
      this.sockets.add(each);
      each.on('error', () => {});
      each.on('close', () => this.sockets.delete(each));
    }
    socket.pipe(redis).pipe(socket);
  });
  private readonly redisPort: number;

  private constructor(redisPort: number, port: number) {
    this.redisPort = redisPort;
    this.port = port;
  }

  /** Until the test is finished. */
  static async to(redisPort: number): Promise<Bridge> {
    const bridge = new Bridge(redisPort, await freePort());
    onTestFinished(() => bridge.cut());
    await bridge.mend();
    return bridge;
  }

  async cut(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async mend(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
  }
}
