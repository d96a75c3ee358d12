/** @spillway/fastify: rate limits and load shedding for Fastify 5. All of core, with Fastify's request as `raw`. */

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
import type { FastifyRequest } from 'fastify';

export * from '@spillway/core';
export type { Limiters, RouteLimits, SpillwayOptions } from './options.js';
export { spillway } from './plugin.js';

/**
 * `rateLimit` of core, whose functions are given Fastify's request as `raw`.
 *
 * @example
 * ```ts
 * import { rateLimit, spillway } from '@spillway/fastify';
 * import Fastify from 'fastify';
 *
 * const perUser = rateLimit({ limit: 100, window: '1m', key: ({ raw }) => raw.user?.id });
 * Fastify().register(spillway, { limiters: perUser, hook: 'preHandler' }); // after authentication
 * ```
 */
export const rateLimit: (
  options: RateLimitOptions<FastifyRequest>,
) => StoredLimiter<FastifyRequest> = coreRateLimit;

/**
 * `concurrencyLimit` of core, whose functions are given Fastify's request as `raw`.
 *
 * @example
 * ```ts
 * import { concurrencyLimit, spillway } from '@spillway/fastify';
 * import Fastify from 'fastify';
 *
 * const exports = concurrencyLimit({ limit: 2, key: ({ raw }) => raw.user?.id });
 * Fastify().register(spillway, { groups: { exports }, hook: 'preHandler' });
 * ```
 */
export const concurrencyLimit: (
  options: ConcurrencyLimitOptions<FastifyRequest>,
) => StoredLimiter<FastifyRequest> = coreConcurrencyLimit;

/**
 * `fleetShedder` of core, whose functions are given Fastify's request as `raw`.
 *
 * @example
 * ```ts
 * import { fleetShedder, spillway } from '@spillway/fastify';
 * import { redisStore } from '@spillway/redis';
 * import Fastify from 'fastify';
 *
 * const limiters = fleetShedder({ name: 'fleet', capacity: 1000 });
 * Fastify().register(spillway, { limiters, store: redisStore(redis) });
 * ```
 */
export const fleetShedder: (
  options: FleetShedderOptions<FastifyRequest>,
) => StoredLimiter<FastifyRequest> = coreFleetShedder;

/**
 * `workerShedder` of core, whose functions are given Fastify's request as `raw`.
 *
 * @example
 * ```ts
 * import { eventLoopSignal } from '@spillway/core/node';
 * import { spillway, workerShedder } from '@spillway/fastify';
 * import Fastify from 'fastify';
 *
 * const limiters = workerShedder({ name: 'workers', signal: eventLoopSignal() });
 * Fastify().register(spillway, { limiters });
 * ```
 */
export const workerShedder: (
  options: WorkerShedderOptions<FastifyRequest>,
) => WorkerShedder<FastifyRequest> = coreWorkerShedder;

/**
 * `idempotency` of core, whose functions are given Fastify's request as `raw`. In handlers, `claimOf(request)` has the
 * claim.
 *
 * @example
 * ```ts
 * import { idempotency, spillway } from '@spillway/fastify';
 * import Fastify from 'fastify';
 *
 * const once = idempotency({ scope: ({ raw }) => raw.user?.id });
 * Fastify().register(spillway, { groups: { once }, hook: 'preHandler' });
 * ```
 */
export const idempotency: (
  options: IdempotencyOptions<FastifyRequest>,
) => StoredLimiter<FastifyRequest> = coreIdempotency;
