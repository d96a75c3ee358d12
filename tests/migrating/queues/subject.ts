/** bottleneck, p-queue, p-throttle and limiter, and their options with Spillway's shaper below. */

import { createLimiter } from '@spillway/core';
import {
  createShaper,
  type OnePaceOptions,
  type ShaperOptions,
  type ShaperStats,
} from '@spillway/outgoing';
import Bottleneck from 'bottleneck';
import { RateLimiter } from 'limiter';
import PQueue from 'p-queue';
import pThrottle from 'p-throttle';

export interface JobOptions {
  /** As the package means it. */
  readonly priority?: number;
  readonly weight?: number;
  readonly signal?: AbortSignal;
  readonly key?: string;
}

export interface Queue {
  /** Does the work when it is its turn; settles as the work does, or rejects if there is no turn. */
  run(work: () => unknown, options?: JobOptions): Promise<unknown>;
  /** How much waits. */
  waiting(): number;
  /** How much runs. */
  running(): number;
  /** Resolves when nothing waits or runs. */
  idle(): Promise<unknown>;
  /** Ends the queue: waiting work is rejected. */
  stop(): Promise<unknown>;
  /** Ends the queue: waiting work runs first. */
  drain(): Promise<unknown>;
}

/** Tokens that are taken at once, or not at all. */
export interface Tokens {
  take(count: number): boolean;
  left(): number;
  wait(count: number): Promise<unknown>;
}

export interface Subject {
  bottleneck(options: Bottleneck.ConstructorOptions): Queue;
  pQueue(options: { intervalCap?: number; interval?: number; concurrency?: number }): Queue;
  pThrottle(options: { limit: number; interval: number; strict?: boolean }): Queue;
  limiter(tokensPerInterval: number, interval: number): Tokens;
}

export const theirs: Subject = {
  bottleneck(options) {
    const group = new Bottleneck.Group(options);
    const one = group.key('key');
    return {
      run: (work, { key = 'key', priority, weight } = {}) =>
        group.key(key).schedule(
          {
            ...(priority !== undefined && { priority }),
            ...(weight !== undefined && { weight }),
          },
          async () => work(),
        ),
      waiting: () => one.queued(),
      running: () => one.counts().EXECUTING,
      idle: () => new Promise<void>((resolve) => one.once('idle' as never, () => resolve())),
      stop: () => one.stop(),
      drain: () => one.stop({ dropWaitingJobs: false }),
    };
  },
  pQueue(options) {
    const queue = new PQueue(options);
    return {
      run: (work, { priority, signal } = {}) =>
        queue.add(async () => work(), {
          ...(priority !== undefined && { priority }),
          ...(signal && { signal }),
        }),
      waiting: () => queue.size,
      running: () => queue.pending,
      idle: () => queue.onIdle(),
      stop: async () => queue.clear(),
      drain: () => queue.onIdle(),
    };
  },
  pThrottle(options) {
    const ends = new AbortController();
    const weight = (_work: () => unknown, units: number) => units;
    const throttle = pThrottle({ ...options, signal: ends.signal, weight });
    const run = throttle(async (work: () => unknown, _units: number) => work());
    return {
      run: (work, { weight: units = 1 } = {}) => run(work, units),
      waiting: () => run.queueSize,
      running: () => 0,
      idle: async () => undefined,
      stop: async () => ends.abort(),
      drain: async () => undefined,
    };
  },
  limiter(tokensPerInterval, interval) {
    const limiter = new RateLimiter({ tokensPerInterval, interval });
    return {
      take: (count) => limiter.tryRemoveTokens(count),
      left: () => Math.floor(limiter.getTokensRemaining()),
      wait: (count) => limiter.removeTokens(count),
    };
  },
};

export const ours: Subject = {
  bottleneck({ minTime, maxConcurrent, reservoir, reservoirRefreshInterval, highWater }) {
    // The next to start is not in bottleneck's queue any more, but it waits.
    const maxQueue = highWater == null ? undefined : highWater + 1;
    const queue = { maxQueue, maxConcurrent: maxConcurrent ?? undefined };
    if (reservoir && reservoirRefreshInterval) {
      const pace = { limit: reservoir, window: reservoirRefreshInterval, burst: reservoir };
      return shaped({ ...queue, ...pace }, -1);
    }
    if (minTime) return shaped({ ...queue, limit: 1, window: minTime }, -1);
    return shaped({ ...queue, maxConcurrent: maxConcurrent as number }, -1);
  },
  pQueue: ({ intervalCap = 1, interval, concurrency }) =>
    interval === undefined
      ? shaped({ maxConcurrent: concurrency as number })
      : shaped({ limit: intervalCap, window: interval, maxConcurrent: concurrency }),
  pThrottle: ({ limit, interval }) => shaped({ limit, window: interval, burst: limit }),
  limiter(limit, window) {
    const limiter = createLimiter({ limit, window });
    const shaper = createShaper({ limit, window, burst: limit });
    return {
      take: (cost) => limiter.consume('key', { cost }).allowed,
      left: () => limiter.peek('key').remaining,
      wait: (cost) => shaper.schedule('key', () => undefined, { cost }),
    };
  },
};

/** @param sign -1 where the package's first priority is the smallest */
function shaped(options: ShaperOptions, sign: 1 | -1 = 1): Queue {
  const shaper = createShaper(options as OnePaceOptions);
  return {
    run: (work, { key = 'key', priority = 0, weight, signal } = {}) =>
      shaper.schedule(key, work, {
        priority: sign * priority,
        ...(weight && { cost: weight }),
        ...(signal && { signal }),
      }),
    waiting: () => shaper.queueLength('key'),
    running: () => (shaper.stats('key') as ShaperStats).running,
    idle: () => shaper.onIdle(),
    stop: () => shaper.close(),
    drain: () => shaper.drain('1m'),
  };
}
