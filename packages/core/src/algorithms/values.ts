/**
 * The algorithms for rate limits as values, so a program contains only those that it imports. If programs chose them by
 * name, every bundle would contain all: 5.9 of 33.6 kB.
 */

import type { RateAlgorithm } from '../contract/rule.js';
import { makeBucketRule } from './bucket.js';
import { makeLogRule } from './log/log.js';
import { makeWindowRule } from './window.js';

/**
 * Units refill continuously, and up to `burst` can be used at once. This is the default. Stripe's request rate limiter
 * is a token bucket (P. Tarjan, "Scaling your API with rate limiters", 2017).
 */
export const tokenBucket: RateAlgorithm = { name: 'token-bucket', makeRule: makeBucketRule };

/** Windows that start at multiples of their length since 1970, or with the first request of a key (`anchor`). */
export const fixedWindow: RateAlgorithm = {
  name: 'fixed-window',
  makeRule: (limit, windowUs, _burst, anchor) =>
    makeWindowRule(limit, windowUs, anchor === 'epoch' ? 'fixed' : 'anchored'),
};

/**
 * Admits at most `limit` units per aligned window. The previous window counts too, in proportion to the part of it that
 * is less than one window old.
 */
export const slidingWindow: RateAlgorithm = {
  name: 'sliding-window-counter',
  makeRule: (limit, windowUs) => makeWindowRule(limit, windowUs, 'sliding'),
};

/**
 * Admits at most `limit` units in any interval of the window's length. This is exact, because the time of each request
 * is stored.
 */
export const slidingLog: RateAlgorithm = { name: 'sliding-window-log', makeRule: makeLogRule };
