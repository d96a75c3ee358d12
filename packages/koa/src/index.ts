/**
 * @spillway/koa: rate limits and load shedding for Koa 2 and 3. Re-exports `@spillway/core`; in callbacks, `raw` is
 * Koa's context.
 */

import * as core from '@spillway/core';
import type { Context } from 'koa';

export * from '@spillway/core';
export { type SpillwayMiddleware, type SpillwayOptions, spillway } from './middleware.js';

/**
 * {@link core.rateLimit}, whose callbacks get Koa's context as `raw`.
 *
 * @example
 * ```ts
 * import { rateLimit, spillway } from '@spillway/koa';
 *
 * const perUser = rateLimit({ limit: 100, window: '1m', key: (request) => request.raw.state.userId });
 * const guard = spillway(perUser);
 * ```
 */
export const rateLimit: typeof core.rateLimit<Context> = core.rateLimit;

/** {@link core.concurrencyLimit}, whose callbacks get Koa's context as `raw`. */
export const concurrencyLimit: typeof core.concurrencyLimit<Context> = core.concurrencyLimit;

/** {@link core.fleetShedder}, whose callbacks get Koa's context as `raw`. */
export const fleetShedder: typeof core.fleetShedder<Context> = core.fleetShedder;

/** {@link core.workerShedder}, whose callbacks get Koa's context as `raw`. */
export const workerShedder: typeof core.workerShedder<Context> = core.workerShedder;

/** {@link core.idempotency}, whose callbacks get Koa's context as `raw`. Handlers get the claim from `claimOf(ctx)`. */
export const idempotency: typeof core.idempotency<Context> = core.idempotency;

/** {@link core.meter}, whose callbacks get Koa's context as `raw`. Its `of(ctx)` gives handlers the usage. */
export const meter: <Usage = number>(
  options?: core.MeterOptions<Usage, Context>,
) => core.Meter<Usage, Context> = core.meter;
