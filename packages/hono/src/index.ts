/**
 * @spillway/hono: rate limits and load shedding for Hono, on any runtime. All of core, with Hono's context as `raw`.
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
import type { Context } from 'hono';

export * from '@spillway/core';
export type { OnRejected } from './exchange.js';
export {
  type SpillwayHandler,
  type SpillwayOptions,
  type SpillwayVariables,
  spillway,
} from './middleware.js';

/**
 * `rateLimit` of core, whose functions are given Hono's context as `raw`.
 *
 * @example
 * ```ts
 * import { getConnInfo } from '@hono/node-server/conninfo'; // each runtime has its own
 * import { rateLimit, spillway } from '@spillway/hono';
 * import { Hono } from 'hono';
 *
 * const app = new Hono();
 * const perUser = rateLimit({ limit: 100, window: '1m', key: ({ raw }) => raw.get('jwtPayload')?.sub });
 * app.use(spillway(perUser, { clientIp: (c) => getConnInfo(c).remote.address })); // counts who has no account
 * ```
 */
export const rateLimit: (options: RateLimitOptions<Context>) => StoredLimiter<Context> =
  coreRateLimit;

/**
 * `concurrencyLimit` of core, whose functions are given Hono's context as `raw`.
 *
 * @example
 * ```ts
 * import { getConnInfo } from '@hono/node-server/conninfo'; // each runtime has its own
 * import { concurrencyLimit, spillway } from '@spillway/hono';
 * import { type Context, Hono } from 'hono';
 *
 * const app = new Hono();
 * const perUser = concurrencyLimit({ limit: 2, key: ({ raw }) => raw.get('jwtPayload')?.sub });
 * const clientIp = (c: Context) => getConnInfo(c).remote.address; // counts who has no account
 * app.use('/export', spillway(perUser, { clientIp }));
 * ```
 */
export const concurrencyLimit: (
  options: ConcurrencyLimitOptions<Context>,
) => StoredLimiter<Context> = coreConcurrencyLimit;

/**
 * `fleetShedder` of core, whose functions are given Hono's context as `raw`.
 *
 * @example
 * ```ts
 * import { fleetShedder, spillway } from '@spillway/hono';
 * import { redisStore } from '@spillway/redis';
 * import { Hono } from 'hono';
 *
 * const app = new Hono();
 * app.use(spillway(fleetShedder({ name: 'fleet', capacity: 1000 }), { store: redisStore(redis) }));
 * ```
 */
export const fleetShedder: (options: FleetShedderOptions<Context>) => StoredLimiter<Context> =
  coreFleetShedder;

/**
 * `workerShedder` of core, whose functions are given Hono's context as `raw`.
 *
 * @example
 * ```ts
 * import { eventLoopSignal } from '@spillway/core/node';
 * import { spillway, workerShedder } from '@spillway/hono';
 * import { Hono } from 'hono';
 *
 * const app = new Hono();
 * app.use(spillway(workerShedder({ name: 'workers', signal: eventLoopSignal() })));
 * ```
 */
export const workerShedder: (options: WorkerShedderOptions<Context>) => WorkerShedder<Context> =
  coreWorkerShedder;

/**
 * `idempotency` of core, whose functions are given Hono's context as `raw`. In handlers, `claimOf(c)` has the claim.
 *
 * @example
 * ```ts
 * import { claimOf, idempotency, spillway } from '@spillway/hono';
 * import { Hono } from 'hono';
 *
 * const once = spillway(idempotency({ scope: ({ raw }) => raw.get('userId') }));
 * new Hono().post('/charges', once, (c) => c.json({ by: claimOf(c)?.token }, 201));
 * ```
 */
export const idempotency: (options: IdempotencyOptions<Context>) => StoredLimiter<Context> =
  coreIdempotency;
