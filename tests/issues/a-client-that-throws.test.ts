/**
 * The getter `state` of a custom client may throw, such as one that has lost its connection pool. Work that nobody
 * awaits then ended the process: a batch of decisions, the list of limiters, a poll for live settings.
 */

import { createLimiter } from '@spillway/core';
import { type RedisClient, redisControl, redisStore } from '@spillway/redis';
import { fakeTime } from 'spillway-testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

class Client implements RedisClient {
  isBroken = false;

  get state(): string {
    if (this.isBroken) throw new Error('the pool is gone');
    return 'ready';
  }

  async evalsha(_sha: string, keys: string[]): Promise<unknown> {
    return [Date.now() * 1_000, ...keys.map(() => 1)];
  }

  eval(_text: string, keys: string[]): Promise<unknown> {
    return this.evalsha('', keys);
  }

  onceChanged(): () => void {
    return () => undefined;
  }
}

describe('a client whose state throws', () => {
  fakeTime();

  it('fails decisions, but not the process', async () => {
    const failures = vi.fn();
    for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
      process.on(event, failures);
      onTestFinished(() => void process.off(event, failures));
    }
    const client = new Client();
    const store = redisStore(client, { logger: false });
    const control = redisControl(client, { onFault: () => undefined });
    const options = { store, control, onStoreError: 'deny', logger: false } as const;
    const limiter = createLimiter({ name: 'mail', limit: 60, window: '1m' }, options);
    const outcomes = async () => {
      const decisions = Promise.all([limiter.consume('ada'), limiter.consume('eve')]);
      await vi.advanceTimersByTimeAsync(10_000);
      return (await decisions).map(({ outcome }) => outcome);
    };
    expect(await outcomes()).toEqual(['allowed', 'allowed']);
    client.isBroken = true;
    expect(await outcomes()).toEqual(['error', 'error']);
    await vi.advanceTimersByTimeAsync(60_000);
    client.isBroken = false;
    await outcomes(); // probes
    expect(await outcomes()).toEqual(['allowed', 'allowed']);
    control.close();
    vi.useRealTimers();
    await new Promise(setImmediate);
    expect(failures).not.toHaveBeenCalled();
  });
});
