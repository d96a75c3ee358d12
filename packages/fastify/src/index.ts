/**
 * @spillway/fastify: rate limits and load shedding for Fastify 5. Re-exports `@spillway/core`; in callbacks, `raw` is
 * Fastify's request.
 */

import * as core from '@spillway/core';
import type { FastifyRequest } from 'fastify';

export * from '@spillway/core';
export { spillway } from './plugin.js';
export type { Limiters, RouteLimits, SpillwayOptions } from './plugin-options.js';

/**
 * {@link core.rateLimit}, whose callbacks get Fastify's request as `raw`.
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
export const rateLimit: typeof core.rateLimit<FastifyRequest> = core.rateLimit;

/** {@link core.concurrencyLimit}, whose callbacks get Fastify's request as `raw`. */
export const concurrencyLimit: typeof core.concurrencyLimit<FastifyRequest> = core.concurrencyLimit;

/** {@link core.fleetShedder}, whose callbacks get Fastify's request as `raw`. */
export const fleetShedder: typeof core.fleetShedder<FastifyRequest> = core.fleetShedder;

/** {@link core.workerShedder}, whose callbacks get Fastify's request as `raw`. */
export const workerShedder: typeof core.workerShedder<FastifyRequest> = core.workerShedder;

/**
 * {@link core.idempotency}, whose callbacks get Fastify's request as `raw`.
 * Handlers get the claim from `claimOf(request)`.
 */
export const idempotency: typeof core.idempotency<FastifyRequest> = core.idempotency;

/** {@link core.meter}, whose callbacks get Fastify's request as `raw`. Its `of(request)` gives handlers the usage. */
export const meter: <Usage = number>(
  options?: core.MeterOptions<Usage, FastifyRequest>,
) => core.Meter<Usage, FastifyRequest> = core.meter;
