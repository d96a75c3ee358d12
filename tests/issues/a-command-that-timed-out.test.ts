/**
 * A client such as ioredis with `commandTimeout` stops waiting for a reply: `Command timed out`. This was taken for an
 * answer, so a dead connection was never found if the timeout was shorter than 2 s. It was also taken for a lost
 * connection, so one slow call opened the breaker.
 */

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createLimiter } from '@spillway/core';
import { type RedisClient, redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { delay, fakeTime } from 'spillway-testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

const timedOut = { code: 'SPW_STORE_TIMEOUT' };

/** Answers after a millisecond, unless it hangs; waits for a reply for at most a second. */
class Server implements RedisClient {
  readonly state = 'ready';
  readonly cure = 'set a timeout';
  hangs = false;
  reconnected = 0;

  async evalsha(_sha: string, keys: string[]): Promise<unknown> {
    await delay(this.hangs ? 1_000 : 1);
    if (this.hangs) throw new Error('Command timed out');
    return [Date.now() * 1_000, ...keys.map(() => 1)];
  }

  eval(_text: string, keys: string[]): Promise<unknown> {
    return this.evalsha('', keys);
  }

  reconnect(): void {
    this.reconnected += 1;
  }

  onceChanged(): () => void {
    return () => undefined;
  }
}

describe('a client that stops waiting', () => {
  fakeTime();

  async function errorsIn10s(reconnect: boolean) {
    const server = new Server();
    const store = redisStore(server, { reconnect, logger: false });
    const errors: unknown[] = [];
    server.hangs = true;
    for (let n = 0; n < 10; n += 1) {
      const read = Promise.resolve(store.values.get({ limiter: 'api', key: 'ada', id: 'a' }));
      read.catch((error) => errors.push(error));
      await vi.advanceTimersByTimeAsync(1_000);
    }
    return { errors, reconnected: server.reconnected };
  }

  it('has a dead connection closed, if the store may', async () => {
    const { errors, reconnected } = await errorsIn10s(true);
    expect(errors.length).toBeGreaterThan(0);
    expect(errors).toEqual(Array(errors.length).fill(expect.objectContaining(timedOut)));
    expect(reconnected).toBe(1);
  });

  it('is given the advice otherwise', async () => {
    const { errors } = await errorsIn10s(false);
    expect(errors).toContainEqual(expect.objectContaining({ kind: 'hung' }));
  });

  it('does not open the breaker with one slow call', async () => {
    const server = new Server();
    const store = redisStore(server, { logger: false });
    const limiter = createLimiter(
      { name: 'mail', limit: 60, window: '1m' },
      { store, storeTimeout: '5s', onStoreError: 'deny', logger: false },
    );
    const consume = async () => {
      const decision = limiter.consume('ada');
      await vi.advanceTimersByTimeAsync(2_000);
      return (await decision).outcome;
    };
    server.hangs = true;
    expect(await consume()).toBe('error');
    server.hangs = false;
    expect(await consume()).toBe('allowed');
  });
});

it('ioredis stops waiting with this error', async () => {
  const silent = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      for (let i = data.toString().split('*').length; i > 1 && !data.includes('evalsha'); i -= 1) {
        socket.write('+OK\r\n');
      }
    });
  }).listen(0);
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const client = new Redis(port, { commandTimeout: 100, enableReadyCheck: false });
  client.on('error', () => undefined);
  onTestFinished(() => {
    client.disconnect();
    silent.close();
  });
  const { values } = redisStore(client, { logger: false });
  await expect(values.get({ limiter: 'api', key: 'ada', id: 'a' })).rejects.toMatchObject(timedOut);
});
