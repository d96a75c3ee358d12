/**
 * After a restart of Redis, one call carries the script's text, and all others wait for it. When a proxy lost that one
 * call on a connection that lived on, they waited for as long as the connection lived: the store was not used again.
 */

import { createLimiter } from '@spillway/core';
import { type RedisClient, redisStore } from '@spillway/redis';
import { fakeTime } from 'spillway-testkit';
import { expect, it, vi } from 'vitest';

fakeTime();

/** A server that has forgotten its scripts, behind a proxy that loses the first text of each. */
class Server implements RedisClient {
  readonly state = 'ready';
  readonly texts: string[] = [];
  private isKnown = false;

  async evalsha(_sha: string, keys: string[]): Promise<unknown> {
    if (!this.isKnown) throw new Error('NOSCRIPT No matching script. Please use EVAL.');
    return [Date.now() * 1_000, ...keys.map(() => 1)];
  }

  async eval(text: string, keys: string[]): Promise<unknown> {
    this.texts.push(text);
    if (this.texts.indexOf(text) === this.texts.length - 1) return new Promise(() => undefined);
    this.isKnown = true;
    return this.evalsha('', keys);
  }

  onceChanged(): () => void {
    return () => undefined;
  }
}

it('the store is used again within seconds, though the text of its script was lost', async () => {
  const server = new Server();
  const store = redisStore(server, { logger: false });
  const limiter = createLimiter(
    { name: 'mail', limit: 60, window: '1m' },
    { store, logger: false },
  );
  const outcomes: string[] = [];
  const ask = async (): Promise<void> => {
    void limiter.consume('ada').then(({ outcome }) => outcomes.push(outcome));
    await vi.advanceTimersByTimeAsync(100);
  };
  for (let n = 0; n < 5; n += 1) await ask();
  expect(outcomes).toEqual(Array(5).fill('error'));
  for (let n = 0; n < 15; n += 1) await ask();
  expect(outcomes.at(-1)).toBe('allowed');
  expect(server.texts.length).toBeLessThan(5);
});
