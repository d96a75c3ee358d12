/**
 * The store has ioredis connect when the first request comes, and early after an outage. The connection was opened in
 * the async context of that request. It kept the context in memory, and the client emitted its events there.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { redisStore } from '@spillway/redis';
import { expect, it } from 'vitest';

const contexts = new AsyncLocalStorage<string>();

class StubOfIoredis extends EventEmitter {
  readonly options = {};
  readonly connected: unknown[] = [];
  readonly reconnectTimeout = setTimeout(() => undefined, 0);
  status: string;

  constructor(status: string) {
    super();
    this.status = status;
  }

  async connect(): Promise<void> {
    this.connected.push(contexts.getStore());
    this.status = 'ready';
  }

  async call(): Promise<unknown> {
    return null; // no such value
  }

  evalsha(): Promise<unknown> {
    return this.call();
  }
}

it.each(['wait', 'reconnecting'])('with the status %s', async (status) => {
  const client = new StubOfIoredis(status);
  const { values } = redisStore(client, { logger: false });
  const name = { limiter: 'api', key: 'ada', id: 'a' };
  await contexts.run('the request', async () => values.get(name));
  expect(client.connected).toEqual([undefined]);
});
