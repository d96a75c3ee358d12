/**
 * @spillway/express: rate limits and load shedding for Express 4 and 5. Re-exports `@spillway/core`; in callbacks,
 * `raw` is Express' request.
 */

import * as core from '@spillway/core';
import type { Request } from 'express';

export * from '@spillway/core';
export { type SpillwayHandler, type SpillwayOptions, spillway } from './middleware.js';

/**
 * {@link core.rateLimit}, whose callbacks get Express' request as `raw`.
 *
 * @example
 * ```ts
 * import { rateLimit, spillway } from '@spillway/express';
 *
 * app.use(spillway(rateLimit({ limit: 100, window: '1m', key: ({ raw }) => raw.user?.id })));
 * ```
 */
export const rateLimit: typeof core.rateLimit<Request> = core.rateLimit;

/** {@link core.concurrencyLimit}, whose callbacks get Express' request as `raw`. */
export const concurrencyLimit: typeof core.concurrencyLimit<Request> = core.concurrencyLimit;

/** {@link core.fleetShedder}, whose callbacks get Express' request as `raw`. */
export const fleetShedder: typeof core.fleetShedder<Request> = core.fleetShedder;

/** {@link core.workerShedder}, whose callbacks get Express' request as `raw`. */
export const workerShedder: typeof core.workerShedder<Request> = core.workerShedder;

/**
 * {@link core.idempotency}, whose callbacks get Express' request as `raw`. Handlers get the claim from `claimOf(req)`.
 * Mounted before a body parser, it compares the bytes of bodies; mounted after it, the parsed `req.body`.
 */
export const idempotency: typeof core.idempotency<Request> = core.idempotency;

/** {@link core.meter}, whose callbacks get Express' request as `raw`. Its `of(req)` gives handlers the usage. */
export const meter: <Usage = number>(
  options?: core.MeterOptions<Usage, Request>,
) => core.Meter<Usage, Request> = core.meter;
