/**
 * @spillway/express: rate limits and load shedding for Express 4 and 5. All of core, with Express' request as `raw`.
 */

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
import type { Request } from 'express';

export * from '@spillway/core';
export { type SpillwayHandler, type SpillwayOptions, spillway } from './middleware.js';

/**
 * `rateLimit` of core, whose functions are given Express' request as `raw`.
 *
 * @example
 * ```ts
 * import { rateLimit, spillway } from '@spillway/express';
 *
 * app.use(spillway(rateLimit({ limit: 100, window: '1m', key: ({ raw }) => raw.user?.id })));
 * ```
 */
export const rateLimit: (options: RateLimitOptions<Request>) => StoredLimiter<Request> =
  coreRateLimit;

/**
 * `concurrencyLimit` of core, whose functions are given Express' request as `raw`.
 *
 * @example
 * ```ts
 * import { concurrencyLimit, spillway } from '@spillway/express';
 *
 * app.use('/export', spillway(concurrencyLimit({ limit: 2, key: ({ raw }) => raw.user?.id })));
 * ```
 */
export const concurrencyLimit: (
  options: ConcurrencyLimitOptions<Request>,
) => StoredLimiter<Request> = coreConcurrencyLimit;

/**
 * `fleetShedder` of core, whose functions are given Express' request as `raw`.
 *
 * @example
 * ```ts
 * import { fleetShedder, spillway } from '@spillway/express';
 * import { redisStore } from '@spillway/redis';
 *
 * app.use(spillway(fleetShedder({ name: 'fleet', capacity: 1000 }), { store: redisStore(redis) }));
 * ```
 */
export const fleetShedder: (options: FleetShedderOptions<Request>) => StoredLimiter<Request> =
  coreFleetShedder;

/**
 * `workerShedder` of core, whose functions are given Express' request as `raw`.
 *
 * @example
 * ```ts
 * import { eventLoopSignal } from '@spillway/core/node';
 * import { spillway, workerShedder } from '@spillway/express';
 *
 * app.use(spillway(workerShedder({ name: 'workers', signal: eventLoopSignal() })));
 * ```
 */
export const workerShedder: (options: WorkerShedderOptions<Request>) => WorkerShedder<Request> =
  coreWorkerShedder;

/**
 * `idempotency` of core, whose functions are given Express' request as `raw`. In handlers, `claimOf(req)` has the claim.
 *
 * @example
 * ```ts
 * import { claimOf, idempotency, spillway } from '@spillway/express';
 *
 * const once = spillway(idempotency({ scope: ({ raw }) => raw.user?.id }));
 * app.post('/charges', once, (req, res) => res.status(201).json({ by: claimOf(req)?.token }));
 * ```
 */
export const idempotency: (options: IdempotencyOptions<Request>) => StoredLimiter<Request> =
  coreIdempotency;
