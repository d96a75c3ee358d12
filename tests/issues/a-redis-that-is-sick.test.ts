/** A Redis that turns from 1 ms to 45 ms: requests do not wait for it, and do again when it is well. */

import { once } from 'node:events';
import net from 'node:net';
import { type BreakerEvent, createGuard, createLimiter, rateLimit } from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { delay } from 'spillway-testkit';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { expect, it, onTestFinished } from 'vitest';

/** Passes bytes on both ways, replies after `ms`. */
async function slowPath(port: number) {
  const path = { ms: 1, port: 0 };
  const server = net.createServer((near) => {
    const far = net.connect(port, '127.0.0.1');
    for (const socket of [near, far]) socket.on('error', () => undefined);
    near.on('data', (bytes) => far.write(bytes));
    far.on('data', (bytes) => setTimeout(() => near.write(bytes), path.ms));
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  path.port = (server.address() as net.AddressInfo).port;
  return path;
}

it.skipIf(redisProgram === null)('is not waited for while it is slow', async () => {
  const server = await RedisServer.up();
  const path = await slowPath(server.port);
  const client = new Redis({ port: path.port, enableOfflineQueue: false });
  await once(client, 'ready');
  onTestFinished(() => client.disconnect());
  const events: BreakerEvent[] = [];
  const lines: string[] = [];
  const settings = {
    store: redisStore(client, { prefix: 'sick' }),
    // Twice what the slow path takes: no call fails.
    storeTimeout: '2s',
    logger: { warn: (line: string) => lines.push(line) },
  } as const;
  createGuard(rateLimit({ name: 'seen', limit: 1, window: '1m' }), {
    ...settings,
    observers: [{ onBreaker: (event) => events.push(event) }],
  });
  const limiter = createLimiter({ name: 'api', limit: 1e6, window: '1h' }, settings);
  const tookMs: number[] = [];
  const ask = async () => {
    const began = performance.now();
    const { outcome } = await limiter.consume('ada');
    tookMs.push(performance.now() - began);
    await delay(5);
    return outcome;
  };
  /** Asks until decisions have an outcome; how many calls that took. */
  const askUntil = async (wanted: string) => {
    for (let calls = 1; calls <= 2_000; calls += 1) if ((await ask()) === wanted) return calls;
    throw new Error(`no decision was ${wanted}`);
  };
  for (let i = 0; i < 100; i += 1) expect(await ask()).toBe('allowed');
  // Far more than any pause of this machine: what it takes is known by what it took before.
  path.ms = 45 + 3 * Math.max(...tookMs);
  expect(await askUntil('error')).toBeLessThan(100);
  tookMs.length = 0;
  for (let i = 0; i < 50; i += 1) expect(await ask()).toBe('error');
  expect(tookMs.sort((one, other) => one - other)[25]).toBeLessThan(path.ms / 2);
  expect(lines[0]).toMatch(/does not decide \(\d+ of \d+ calls were slow in 10 s/);
  path.ms = 1;
  await askUntil('allowed');
  expect(events.map(({ state, cause }) => [state, cause])).toEqual([
    ['open', 'slow'],
    ['closed', undefined],
  ]);
});
