/**
 * @spillway/nestjs: rate limits and load shedding for NestJS. Re-exports `@spillway/core`; in callbacks, `raw` is
 * Nest's ExecutionContext.
 */

import type { ExecutionContext } from '@nestjs/common';
import * as core from '@spillway/core';

export * from '@spillway/core';
export { requestOf } from './call.js';
export { ConcurrencyLimit, Idempotent, Priority, RateLimit, SkipRateLimit } from './decorators.js';
export { type RejectionExtensions, SpillwayException } from './exception.js';
export { getLimiterToken, getShaperToken, InjectLimiter, InjectShaper } from './feature.js';
export type {
  FeatureLimiter,
  FeatureLimiters,
  FeatureShaper,
  FeatureShaperSettings,
  FeatureStoreOptions,
  MakeShaper,
  SpillwayFeature,
} from './feature-options.js';
export { SpillwayGuard } from './guard.js';
export { SpillwayInterceptor } from './interceptor.js';
export { priorityOf } from './metadata.js';
export { Metered, meter } from './meter.js';
export { SpillwayModule } from './module.js';
export {
  SPILLWAY_OPTIONS,
  SPILLWAY_STORE,
  type SpillwayAsyncOptions,
  type SpillwayModuleSettings,
  type SpillwayOptions,
} from './module-options.js';

/**
 * {@link core.rateLimit}, whose callbacks get Nest's ExecutionContext as `raw`.
 *
 * @example
 * ```ts
 * import { rateLimit, requestOf, SpillwayModule } from '@spillway/nestjs';
 *
 * SpillwayModule.forRoot({
 *   limiters: [
 *     rateLimit({ limit: 100, window: '1m', key: ({ raw }) => requestOf<{ user?: { id: string } }>(raw).user?.id }),
 *   ],
 * });
 * ```
 */
export const rateLimit: typeof core.rateLimit<ExecutionContext> = core.rateLimit;

/** {@link core.concurrencyLimit}, whose callbacks get Nest's ExecutionContext as `raw`. */
export const concurrencyLimit: typeof core.concurrencyLimit<ExecutionContext> =
  core.concurrencyLimit;

/** {@link core.fleetShedder}, whose callbacks get Nest's ExecutionContext as `raw`. */
export const fleetShedder: typeof core.fleetShedder<ExecutionContext> = core.fleetShedder;

/** {@link core.workerShedder}, whose callbacks get Nest's ExecutionContext as `raw`. */
export const workerShedder: typeof core.workerShedder<ExecutionContext> = core.workerShedder;

/**
 * {@link core.idempotency}, whose callbacks get Nest's ExecutionContext as `raw`. Handlers get the claim from `claimOf`
 * with the platform's request. Only for HTTP routes, because answers to messages and GraphQL can't be recorded.
 */
export const idempotency: typeof core.idempotency<ExecutionContext> = core.idempotency;
