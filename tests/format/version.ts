/** A version of the packages, built here or packed earlier, and limiters that can be made with any version. */

import * as core from '@spillway/core';
import * as fetching from '@spillway/core/fetch';
import type { Store } from '@spillway/core/store';
import * as testing from '@spillway/core/testing';
import * as outgoing from '@spillway/outgoing';
import * as redis from '@spillway/redis';
import * as redisTesting from '@spillway/redis/testing';

export interface Version {
  readonly core: typeof core;
  readonly fetch: typeof fetching;
  readonly outgoing: Pick<typeof outgoing, 'createShaper'>;
  readonly redis: typeof redis;
  readonly redisTesting: typeof redisTesting;
  readonly testing: typeof testing;
}

export const here: Version = { core, fetch: fetching, outgoing, redis, redisTesting, testing };

/** A packed version, with the interface of this one. */
export async function packed(format: string): Promise<Version> {
  const release = await import(`./releases/${format}.js`);
  // In the first version, shapers were in core.
  return { ...release, outgoing: release.outgoing ?? release.core };
}

const SETTINGS = { denialCache: false, logger: false, storeTimeout: '20s' } as const;
const FIVE = { limit: 5, window: '10s' } as const;

/** Rate limiters, a shaper, a limit on requests in flight, and idempotency keys on one store, made by a version. */
export class Limiters {
  private readonly rates;
  private readonly shaper: outgoing.Shaper;
  private readonly permits: core.Guard;
  private readonly answers;
  readonly store: Store;

  constructor(version: Version, store: Store) {
    const { createGuard, createLimiter, concurrencyLimit } = version.core;
    const { createShaper } = version.outgoing;
    const { fixedWindow, idempotency, slidingLog, slidingWindow } = version.core;
    this.store = store;
    const limiter = (options: core.LimiterOptions) =>
      createLimiter(options, { ...SETTINGS, store });
    this.rates = {
      bucket: limiter({ name: 'bucket', ...FIVE }),
      burst: limiter({ name: 'burst', limit: 3, window: '7s', burst: 6 }),
      fixed: limiter({ name: 'fixed', ...FIVE, algorithm: fixedWindow }),
      first: limiter({ name: 'first', ...FIVE, algorithm: fixedWindow, anchor: 'first-request' }),
      sliding: limiter({ name: 'sliding', ...FIVE, algorithm: slidingWindow }),
      log: limiter({ name: 'log', ...FIVE, algorithm: slidingLog }),
    };
    const pace = { name: 'pace', limit: 10, window: '1m', burst: 2, maxWait: '1m' } as const;
    this.shaper = createShaper(pace, { store, logger: false, localShare: 1, storeTimeout: '20s' });
    const key = ({ path }: core.LimitRequest) => path;
    const atOnce = concurrencyLimit({ name: 'at-once', limit: 3, lease: '1h', key });
    this.permits = createGuard(atOnce, { ...SETTINGS, store });
    const once = idempotency({ scope: () => 'ada', keep: '20s', keepFirst: true });
    this.answers = version.fetch.fetchGuard<Request>(once, { ...SETTINGS, store });
  }

  /** Calls a rate limiter. Returns the decision that the caller gets. */
  async rate(
    verb: 'consume' | 'peek' | 'record',
    of: Rate,
    key: string,
    cost: number,
  ): Promise<core.Decision> {
    const limiter = this.rates[of];
    if (verb === 'consume') return limiter.consume(key, { cost });
    if (verb === 'peek') return limiter.peek(key, { cost });
    return (await limiter.record(key, { cost })).binding;
  }

  async refund(of: Rate, decision: core.Decision, cost: number): Promise<boolean> {
    return this.rates[of].refund(decision, { cost });
  }

  async reset(of: Rate, key: string): Promise<boolean> {
    return this.rates[of].reset(key);
  }

  /** Takes a permit. The admission can release it. */
  async admit(key: string): Promise<core.Admission> {
    const path = `/${key}`;
    const request = { method: 'GET', path, clientIp: '', header: () => undefined, raw: undefined };
    return this.permits.admit(request);
  }

  async reserve(key: string, cost: number): Promise<outgoing.Reservation | outgoing.Unreserved> {
    return this.shaper.reserve(key, { cost });
  }

  /** The response to a request with an idempotency key, whose handler responds with `body`. */
  async post(key: string, body: string): Promise<string> {
    const charge = this.answers.wrap(async (_request: Request) => new Response(body));
    const init = { method: 'POST', headers: { 'Idempotency-Key': key } };
    const response = await charge(new Request('https://shop.example/charges', init));
    return `${response.status} ${await response.text()}`;
  }

  async close(): Promise<void> {
    await this.answers.close();
    await this.shaper.close();
  }
}

export type Rate = 'bucket' | 'burst' | 'fixed' | 'first' | 'sliding' | 'log';
export const RATES: readonly Rate[] = ['bucket', 'burst', 'fixed', 'first', 'sliding', 'log'];
