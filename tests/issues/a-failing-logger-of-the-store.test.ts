/**
 * The store warns when Redis cannot store or read the list of limiters. A logger that failed then ended the process,
 * because the list is sent in the background. A reset that had cleared the count was reported as failed.
 */

import { createLimiter, type Logger } from '@spillway/core';
import { type RedisClient, redisStore } from '@spillway/redis';
import { fakeTime } from 'spillway-testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

/** Counts as usual, but can't store the list of limiters, or can't read it. */
function clientThatFailsTo(what: 'store' | 'read'): RedisClient {
  const client: RedisClient = {
    state: 'ready',
    async evalsha(_sha, keys, args) {
      const isList = keys[0]?.endsWith('limiters');
      // Only a read names nothing but the limiter.
      if (isList && (args.join() === 'mail') === (what === 'read')) throw new Error('WRONGTYPE');
      return isList ? [] : [Date.now() * 1_000, ...keys.map(() => 1)];
    },
    eval: (_text, keys, args) => client.evalsha('', keys, args),
    onceChanged: () => () => undefined,
  };
  return client;
}

const fails: readonly [string, () => unknown][] = [
  [
    'throws',
    () => {
      throw new Error('the log is full');
    },
  ],
  ['rejects', async () => Promise.reject(new Error('the log is full'))],
];

describe.each(fails)('a logger that %s', (_, fail) => {
  fakeTime();

  function limiterThatFailsTo(what: 'store' | 'read') {
    const lines: string[] = [];
    const logger = {
      warn: (line: string) => {
        lines.push(line);
        return fail();
      },
    } as Logger;
    const store = redisStore(clientThatFailsTo(what), { logger });
    const options = { name: 'mail', limit: 5, window: '1m' } as const;
    return { limiter: createLimiter(options, { store, logger: false }), lines };
  }

  it('does not end the process', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => void process.off('unhandledRejection', unhandled));
    const { limiter, lines } = limiterThatFailsTo('store');
    await limiter.consume('ada');
    await vi.advanceTimersByTimeAsync(1_000);
    vi.useRealTimers();
    await new Promise(setImmediate);
    expect(lines).toEqual([expect.stringMatching(/^Spillway: Redis could not store or read/)]);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('fails no reset', async () => {
    const { limiter, lines } = limiterThatFailsTo('read');
    expect(await limiter.reset('ada')).toBe(true);
    expect(lines).toHaveLength(1);
  });
});
