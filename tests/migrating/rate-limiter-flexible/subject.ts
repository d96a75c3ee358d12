/** rate-limiter-flexible, and the same options with Spillway below. */

import {
  createLimiter,
  createLimiters,
  type Decision,
  fixedWindow,
  memoryStore,
} from '@spillway/core';
import { createShaper } from '@spillway/outgoing';
import * as peer from 'rate-limiter-flexible';
import { brokenStore } from 'spillway-testkit';

export interface Options {
  readonly points: number;
  /** Seconds. */
  readonly duration: number;
  /** Seconds. */
  readonly blockDuration?: number;
  readonly keyPrefix?: string;
}

/** The state of a key, as a limiter reports it. */
export interface Told {
  readonly passes: boolean;
  readonly consumed: number;
  readonly left: number;
  /** Until it passes or, if it passes, until all points are back. */
  readonly waitMs: number;
}

export interface Limiter {
  consume(key: string | number, points?: number, customDuration?: number): Promise<Told>;
  penalty(key: string, points?: number): Promise<void>;
  reward(key: string, points?: number): Promise<void>;
  set(key: string, points: number, seconds: number): Promise<void>;
  block(key: string, seconds: number): Promise<void>;
  get(key: string): Promise<Omit<Told, 'passes'> | null>;
  delete(key: string): Promise<boolean>;
}

/** Several limiters that are used as one. */
export interface Group {
  /** Whether it passes. */
  consume(key: string): Promise<boolean>;
  /** How many points of each are consumed. */
  consumed(key: string): Promise<number[]>;
}

export interface Queue {
  /** Settles when the work may start. */
  start(): Promise<unknown>;
}

export interface Subject {
  limiter(options: Options): Limiter;
  /** The store cannot be reached, so another limiter replaces it. */
  insured(options: Options): Limiter;
  union(...all: readonly Options[]): Group;
  bursty(steady: Options, burst: Options): Group;
  evenly(options: Options): Queue;
  queue(options: Options, maxQueueSize?: number): Queue;
}

type Res = peer.RateLimiterRes;

const told = (passes: boolean, res: Res): Told => ({
  passes,
  consumed: res.consumedPoints,
  left: res.remainingPoints,
  waitMs: res.msBeforeNext,
});

/** The result of a limiter of the package, which rejects its promise for rejected requests and for failures. */
function answer(asked: Promise<Res>): Promise<Told> {
  return asked.then(
    (res) => told(true, res),
    (refused) => {
      if (refused instanceof Error) throw refused;
      return told(false, refused);
    },
  );
}

const passes = (asked: Promise<unknown>): Promise<boolean> =>
  asked.then(
    () => true,
    () => false,
  );

function wrap(limiter: peer.RateLimiterAbstract): Limiter {
  return {
    consume: (key, points, customDuration) =>
      answer(limiter.consume(key, points, customDuration === undefined ? {} : { customDuration })),
    penalty: async (key, points) => void (await limiter.penalty(key, points)),
    reward: async (key, points) => void (await limiter.reward(key, points)),
    set: async (key, points, seconds) => void (await limiter.set(key, points, seconds)),
    block: async (key, seconds) => void (await limiter.block(key, seconds)),
    async get(key) {
      const res = await limiter.get(key);
      if (res === null) return null;
      const { passes: _, ...numbers } = told(true, res);
      return numbers;
    },
    delete: (key) => limiter.delete(key),
  };
}

const consumedOf = (limiters: readonly peer.RateLimiterAbstract[], key: string) =>
  Promise.all(limiters.map(async (one) => (await one.get(key))?.consumedPoints ?? 0));

export const theirs: Subject = {
  limiter: (options) => wrap(new peer.RateLimiterMemory(options)),
  insured: (options) =>
    wrap(
      new peer.RateLimiterRedis({
        ...options,
        storeClient: { status: 'end' },
        rejectIfRedisNotReady: true,
        insuranceLimiter: new peer.RateLimiterMemory(options),
      }),
    ),
  union(...all) {
    const limiters = all.map((options) => new peer.RateLimiterMemory(options));
    const union = new peer.RateLimiterUnion(...limiters);
    return {
      consume: (key) => passes(union.consume(key)),
      consumed: (key) => consumedOf(limiters, key),
    };
  },
  bursty(...pair) {
    const [steady, burst] = pair.map((options) => new peer.RateLimiterMemory(options));
    const limiters = [steady, burst] as [peer.RateLimiterMemory, peer.RateLimiterMemory];
    const bursty = new peer.BurstyRateLimiter(...limiters);
    return {
      consume: (key) => passes(bursty.consume(key)),
      consumed: (key) => consumedOf(limiters, key),
    };
  },
  evenly(options) {
    const limiter = new peer.RateLimiterMemory({ ...options, execEvenly: true });
    return { start: () => limiter.consume('key') };
  },
  queue(options, maxQueueSize) {
    const limiter = new peer.RateLimiterMemory(options);
    const queue = new peer.RateLimiterQueue(
      limiter,
      maxQueueSize === undefined ? {} : { maxQueueSize },
    );
    return { start: () => queue.removeTokens(1) };
  },
};

const ruleOf = ({ points, duration, keyPrefix = 'limit' }: Options) =>
  ({
    name: keyPrefix,
    limit: points,
    window: duration * 1_000,
    algorithm: fixedWindow,
    anchor: 'first-request',
  }) as const;

export const ours: Subject = {
  limiter: (options) => shim(options),
  insured: (options) => shim(options, { ...brokenStore }),
  union(...all) {
    const several = createLimiters(
      Object.fromEntries(
        all.map((options) => {
          const { name, ...rule } = ruleOf(options);
          return [name, rule];
        }),
      ),
    );
    const keys = (key: string) =>
      Object.fromEntries(Object.keys(several.rules).map((name) => [name, key]));
    return {
      consume: async (key) => several.consume(keys(key)).allowed,
      consumed: async (key) =>
        Object.values(several.peek(keys(key)).decisions).map(({ used }) => used),
    };
  },
  bursty(...pair) {
    const limiters = pair.map((options) => createLimiter(ruleOf(options)));
    return {
      consume: async (key) => limiters.some((limiter) => limiter.consume(key).allowed),
      consumed: async (key) => limiters.map((limiter) => limiter.peek(key).used),
    };
  },
  evenly: (options) => shaped(options),
  queue: (options, maxQueueSize) => shaped(options, maxQueueSize),
};

function shaped({ points, duration }: Options, maxQueue?: number): Queue {
  const shaper = createShaper({ limit: points, window: duration * 1_000, maxQueue });
  return { start: () => shaper.schedule('key', () => undefined) };
}

/** The longest block is a day. */
const DAY_SECONDS = 86_400;

function shim(options: Options, store: typeof brokenStore = memoryStore()): Limiter {
  const limiter = createLimiter(ruleOf(options), { store, logger: false });
  // A unit for each second that a key is blocked: one comes back each second.
  const blocks = createLimiter(
    { name: 'blocks', limit: DAY_SECONDS, window: '1d' },
    { store: memoryStore() },
  );
  const charged = new Map<string, Decision[]>();
  const { blockDuration = 0 } = options;

  const block = async (key: string, seconds: number): Promise<void> => {
    await blocks.record(key, { cost: seconds });
  };
  return {
    async consume(key, points = 1) {
      const blocked = blocks.peek(key as string);
      if (blocked.used > 0) {
        return { passes: false, consumed: options.points, left: 0, waitMs: blocked.resetMs };
      }
      const decision = await limiter.consume(key as string, { cost: points });
      const { allowed, used: consumed, remaining: left, resetMs, retryAfterMs } = decision;
      if (allowed) charged.set(String(key), [...(charged.get(String(key)) ?? []), decision]);
      else if (blockDuration > 0) {
        await block(key as string, blockDuration);
        return { passes: false, consumed, left, waitMs: blockDuration * 1_000 };
      }
      return { passes: allowed, consumed, left, waitMs: allowed ? resetMs : retryAfterMs };
    },
    penalty: async (key, points = 1) => void (await limiter.record(key, { cost: points })),
    async reward(key, points = 1) {
      let missing = points;
      for (const decision of charged.get(key) ?? []) {
        const cost = Math.min(missing, decision.cost);
        if (cost > 0) await limiter.refund(decision, { cost });
        missing -= cost;
      }
    },
    async set(key, points) {
      await limiter.reset(key);
      await limiter.record(key, { cost: points });
    },
    block,
    async get(key) {
      const { used: consumed, remaining: left, resetMs: waitMs } = await limiter.peek(key);
      return consumed === 0 ? null : { consumed, left, waitMs };
    },
    delete: async (key) => limiter.reset(key),
  };
}
