/**
 * @spillway/hono: rate limits and load shedding for Hono, on any runtime. Re-exports `@spillway/core`; in callbacks,
 * `raw` is Hono's context.
 */

import * as core from '@spillway/core';
import type { Context } from 'hono';

export * from '@spillway/core';
export type { OnRejected } from './hono-exchange.js';
export {
  type SpillwayHandler,
  type SpillwayOptions,
  type SpillwayVariables,
  spillway,
} from './middleware.js';

/**
 * {@link core.rateLimit}, whose callbacks get Hono's context as `raw`.
 *
 * @example
 * ```ts
 * import { getConnInfo } from '@hono/node-server/conninfo'; // each runtime has its own
 * import { rateLimit, spillway } from '@spillway/hono';
 * import { Hono } from 'hono';
 *
 * const app = new Hono();
 * const perUser = rateLimit({ limit: 100, window: '1m', key: ({ raw }) => raw.get('jwtPayload')?.sub });
 * app.use(spillway(perUser, { clientIp: (c) => getConnInfo(c).remote.address })); // for callers without an account
 * ```
 */
export const rateLimit: typeof core.rateLimit<Context> = core.rateLimit;

/** {@link core.concurrencyLimit}, whose callbacks get Hono's context as `raw`. */
export const concurrencyLimit: typeof core.concurrencyLimit<Context> = core.concurrencyLimit;

/** {@link core.fleetShedder}, whose callbacks get Hono's context as `raw`. */
export const fleetShedder: typeof core.fleetShedder<Context> = core.fleetShedder;

/** {@link core.workerShedder}, whose callbacks get Hono's context as `raw`. */
export const workerShedder: typeof core.workerShedder<Context> = core.workerShedder;

/** {@link core.idempotency}, whose callbacks get Hono's context as `raw`. Handlers get the claim from `claimOf(c)`. */
export const idempotency: typeof core.idempotency<Context> = core.idempotency;

/** {@link core.meter}, whose callbacks get Hono's context as `raw`. Its `of(c)` gives handlers the usage. */
export const meter: <Usage = number>(
  options?: core.MeterOptions<Usage, Context>,
) => core.Meter<Usage, Context> = core.meter;
