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
 * `idempotency` of core, whose functions are given Express' request as `raw`. `claimOf(req)` is for handlers. Mounted
 * before a parser it compares the bytes of bodies; behind one, what the parser has made of them (`req.body`).
 *
 * @example
 * ```ts
 * import { idempotency, rateLimit, spillway } from '@spillway/express';
 *
 * const account = ({ raw }: { raw: Express.Request }) => raw.user?.id;
 * const limit = rateLimit({ name: 'charges', limit: 100, window: '1m', key: account });
 * app.use('/charges', spillway([idempotency({ scope: account }), limit]));
 * ```
 */
export const idempotency: (options: IdempotencyOptions<Request>) => StoredLimiter<Request> =
  coreIdempotency;

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
