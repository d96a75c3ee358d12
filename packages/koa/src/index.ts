/** @spillway/koa: rate limits and load shedding for Koa 2 and 3. All of core, with Koa's context as `raw`. */

import {
  type ConcurrencyLimitOptions,
  concurrencyLimit as coreConcurrencyLimit,
  fleetShedder as coreFleetShedder,
  idempotency as coreIdempotency,
  rateLimit as coreRateLimit,
  workerShedder as coreWorkerShedder,
  type FleetShedderOptions,
  type IdempotencyOptions,
  type RateLimitOptions,
  type StoredLimiter,
  type WorkerShedder,
  type WorkerShedderOptions,
} from '@spillway/core';
import type { Context } from 'koa';

export * from '@spillway/core';
export { type SpillwayMiddleware, type SpillwayOptions, spillway } from './middleware.js';

/**
 * `rateLimit` of core, whose functions are given Koa's context as `raw`.
 *
 * @example
 * ```ts
 * import { rateLimit, spillway } from '@spillway/koa';
 *
 * const perUser = rateLimit({ limit: 100, window: '1m', key: (request) => request.raw.state.userId });
 * const guard = spillway(perUser);
 * ```
 */
export const rateLimit: (options: RateLimitOptions<Context>) => StoredLimiter<Context> =
  coreRateLimit;

/**
 * `concurrencyLimit` of core, whose functions are given Koa's context as `raw`.
 *
 * @example
 * ```ts
 * import { concurrencyLimit, spillway } from '@spillway/koa';
 *
 * const exports = concurrencyLimit({ limit: 2, key: (request) => request.raw.state.userId });
 * const guard = spillway(exports);
 * ```
 */
export const concurrencyLimit: (
  options: ConcurrencyLimitOptions<Context>,
) => StoredLimiter<Context> = coreConcurrencyLimit;

/**
 * `fleetShedder` of core, whose functions are given Koa's context as `raw`.
 *
 * @example
 * ```ts
 * import { fleetShedder, spillway } from '@spillway/koa';
 * import { redisStore } from '@spillway/redis';
 *
 * const fleet = fleetShedder({ name: 'fleet', capacity: 1000 });
 * const guard = spillway(fleet, { store: redisStore(redis) });
 * ```
 */
export const fleetShedder: (options: FleetShedderOptions<Context>) => StoredLimiter<Context> =
  coreFleetShedder;

/**
 * `workerShedder` of core, whose functions are given Koa's context as `raw`.
 *
 * @example
 * ```ts
 * import { eventLoopSignal } from '@spillway/core/node';
 * import { spillway, workerShedder } from '@spillway/koa';
 *
 * const guard = spillway(workerShedder({ name: 'workers', signal: eventLoopSignal() }));
 * ```
 */
export const workerShedder: (options: WorkerShedderOptions<Context>) => WorkerShedder<Context> =
  coreWorkerShedder;

/**
 * `idempotency` of core, whose functions are given Koa's context as `raw`. In handlers, `claimOf(ctx)` has the claim.
 *
 * @example
 * ```ts
 * import { idempotency, spillway } from '@spillway/koa';
 * import Koa from 'koa';
 *
 * const once = spillway(idempotency({ scope: ({ raw }) => raw.state.userId }));
 * new Koa().use(once);
 * ```
 */
export const idempotency: (options: IdempotencyOptions<Context>) => StoredLimiter<Context> =
  coreIdempotency;
