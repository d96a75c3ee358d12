/** `refresh('30d')` gave up at once, because a timer of more than 2^31 ms fires immediately. */

import { type RedisClient, redisControl } from '@spillway/redis';
import { fakeTime } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';

describe('a refresh that may take a month', () => {
  fakeTime();

  it('waits for the answer', async () => {
    let answer: (reply: unknown) => void = () => undefined;
    const call = () => new Promise((resolve) => (answer = resolve));
    const client: RedisClient = {
      state: 'ready',
      evalsha: call,
      eval: call,
      onceChanged: () => () => undefined,
    };
    const control = redisControl(client);
    const refreshed = control.refresh('30d');
    await vi.advanceTimersByTimeAsync(1_000);
    answer([`${Date.now() * 1_000}`, '0', '', 0]);
    expect(await refreshed).toBe(true);
    control.close();
  });
});
