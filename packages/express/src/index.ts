/** @spillway/express: rate limits for Express 4 and 5. */

import {
  rateLimit as coreRateLimit,
  workerShedder as coreWorkerShedder,
  type RateLimitOptions,
  type StoredLimiter,
  type WorkerShedder,
  type WorkerShedderOptions,
} from '@spillway/core';
import type { Request } from 'express';

export {
  type Admission,
  type Algorithm,
  type Clock,
  type CostOptions,
  createGuard,
  createLimiter,
  type Decision,
  type DecisionEvent,
  type Duration,
  type Fault,
  type Field,
  type GroupDecision,
  type Guard,
  type GuardOptions,
  type HeaderStyle,
  isSpillwayError,
  type KeyedLimiter,
  type KeyedLimiterOptions,
  type Limiter,
  type LimiterOptions,
  type LimitRequest,
  type LocalLimiter,
  type MemoryStore,
  type MemoryStoreOptions,
  type Mode,
  memoryStore,
  type OnStoreError,
  type Outcome,
  type Per,
  type Policy,
  type Priority,
  type RateLimitOptions,
  type Reason,
  type RequestOutcome,
  type Signal,
  SpillwayError,
  type SpillwayErrorCode,
  type Store,
  type StoredLimiter,
  type TrustProxy,
  type WorkerShedder,
  type WorkerShedderOptions,
} from '@spillway/core';
export { admissionsOf } from './admissions.js';
export { type SpillwayOptions, spillway } from './middleware.js';

/**
 * `rateLimit` of core, whose functions are given Express' request as `raw`.
 *
 * @example
 * ```ts
 * import { rateLimit, spillway } from '@spillway/express';
 *
 * app.use(spillway(rateLimit({ limit: 100, window: '1m', key: (request) => request.raw.get('x-api-key') })));
 * ```
 */
export const rateLimit: (options: RateLimitOptions<Request>) => StoredLimiter<Request> =
  coreRateLimit;

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
