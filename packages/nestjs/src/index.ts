/** @spillway/nestjs: rate limits and load shedding for NestJS. All of core, with Nest's ExecutionContext as `raw`. */

import type { ExecutionContext } from '@nestjs/common';
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
export { SpillwayModule } from './module.js';
export {
  SPILLWAY_OPTIONS,
  SPILLWAY_STORE,
  type SpillwayAsyncOptions,
  type SpillwayModuleSettings,
  type SpillwayOptions,
} from './options.js';

/**
 * `rateLimit` of core, whose functions are given Nest's ExecutionContext as `raw`.
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
export const rateLimit: (
  options: RateLimitOptions<ExecutionContext>,
) => StoredLimiter<ExecutionContext> = coreRateLimit;

/**
 * `concurrencyLimit` of core, whose functions are given Nest's ExecutionContext as `raw`.
 *
 * @example
 * ```ts
 * import { concurrencyLimit, SpillwayModule } from '@spillway/nestjs';
 *
 * SpillwayModule.forRoot({ limiters: [concurrencyLimit({ limit: 20 })] });
 * ```
 */
export const concurrencyLimit: (
  options: ConcurrencyLimitOptions<ExecutionContext>,
) => StoredLimiter<ExecutionContext> = coreConcurrencyLimit;

/**
 * `fleetShedder` of core, whose functions are given Nest's ExecutionContext as `raw`.
 *
 * @example
 * ```ts
 * import { fleetShedder, priorityOf, SpillwayModule } from '@spillway/nestjs';
 * import { redisStore } from '@spillway/redis';
 *
 * SpillwayModule.forRoot({
 *   store: redisStore(redis),
 *   limiters: [fleetShedder({ name: 'fleet', capacity: 1000, priority: priorityOf })],
 * });
 * ```
 */
export const fleetShedder: (
  options: FleetShedderOptions<ExecutionContext>,
) => StoredLimiter<ExecutionContext> = coreFleetShedder;

/**
 * `workerShedder` of core, whose functions are given Nest's ExecutionContext as `raw`.
 *
 * @example
 * ```ts
 * import { eventLoopSignal } from '@spillway/core/node';
 * import { priorityOf, SpillwayModule, workerShedder } from '@spillway/nestjs';
 *
 * SpillwayModule.forRoot({
 *   limiters: [workerShedder({ name: 'workers', signal: eventLoopSignal(), priority: priorityOf })],
 * });
 * ```
 */
export const workerShedder: (
  options: WorkerShedderOptions<ExecutionContext>,
) => WorkerShedder<ExecutionContext> = coreWorkerShedder;

/**
 * `idempotency` of core, whose functions are given Nest's ExecutionContext as `raw`. In handlers, `claimOf` of the
 * platform's request has the claim. It concerns HTTP requests only: messages and GraphQL operations have no field of
 * their own.
 *
 * @example
 * ```ts
 * import { idempotency, requestOf, SpillwayModule } from '@spillway/nestjs';
 *
 * SpillwayModule.forRoot({
 *   limiters: [idempotency({ scope: ({ raw }) => requestOf<{ user?: { id: string } }>(raw).user?.id })],
 * });
 * ```
 */
export const idempotency: (
  options: IdempotencyOptions<ExecutionContext>,
) => StoredLimiter<ExecutionContext> = coreIdempotency;
