/** @spillway/core, for apps: limiters, the guard that runs them, and the memory store. */

export { type CalendarOptions, calendar } from './algorithms/calendar.js';
export { distinct } from './algorithms/distinct.js';
export { type LockOptions, lockFor } from './algorithms/lock.js';
export { fixedWindow, slidingLog, slidingWindow, tokenBucket } from './algorithms/values.js';
export type { Clock } from './base/clock.js';
export { type Duration, duration } from './base/duration.js';
export { isSpillwayError, SpillwayError, type SpillwayErrorCode } from './base/errors.js';
export type { HintOptions } from './base/hint.js';
export type { HostSignal, Logger } from './base/host.js';
export type { Admission } from './contract/admission.js';
export type { BillingPeriod } from './contract/calendar.js';
export type {
  Control,
  KeyOverride,
  LimiterSettings,
  LiveLimits,
} from './contract/control.js';
export type {
  Decision,
  Mode,
  Numbers,
  OnStoreError,
  Outcome,
  Policy,
  Reason,
} from './contract/decision.js';
export type {
  Limiter,
  LocalLimiter,
  Question,
  RequestOutcome,
  StepsBack,
  StoredLimiter,
} from './contract/limiter.js';
export type { LimiterTurn, ResponseEnd, StepContext } from './contract/limiter-turn.js';
export type { MeteredCost, Reservation } from './contract/metered-cost.js';
export type {
  BreakerEvent,
  DecisionEvent,
  Fault,
  Notice,
  NoticeCode,
  Observer,
  Overflowing,
  StoreCallEvent,
  UnitsEvent,
  UnitsKind,
  Validate,
} from './contract/observer.js';
export type { StoredResponse } from './contract/recorder.js';
export type {
  Header as Field,
  KeyOption,
  KeyParts,
  LimitRequest,
  Per,
  PerLater,
  Plan,
  PlanOption,
} from './contract/request.js';
export type {
  Algorithm,
  Anchor,
  Answer,
  CalendarWindow,
  DistinctAlgorithm,
  Item,
  Items,
  Penalty,
  RateAlgorithm,
} from './contract/rule.js';
export type { Step, Store, SyncStore } from './contract/store.js';
export {
  type MemoryControl,
  type MemoryControlOptions,
  memoryControl,
} from './control/memory-control.js';
export type {
  Change,
  ChangeNote,
  ClearableOfKey,
  ClearableSetting,
  Override,
  OverrideNote,
  Setting,
} from './control/override.js';
export { createLimiter } from './direct/keyed-limiter.js';
export type {
  CostOptions,
  GroupDecision,
  KeyedLimiter,
  KeyedLimiterOptions,
  LimiterOptions,
  LimitOptions,
  MeteredLimiter,
  MeteredLimiterOptions,
  ReserveOptions,
  Timely,
} from './direct/limiter-options.js';
export { createLimiters } from './direct/limiters.js';
export type {
  AlternativeDecision,
  LimitCosts,
  Limiters,
  LimitersDecision,
  LimitersOptions,
  LimitKeys,
} from './direct/limiters-options.js';
export { createGuard } from './guard/guard.js';
export type { Guard, GuardLimiter, GuardOptions } from './guard/guard-options.js';
export { type RateLimitHeaders, rateLimitHeaders } from './http/rate-limit-headers.js';
export type { HeaderStyle } from './http/response-writer.js';
export { type Cached, type CachedOptions, cached } from './limits/cached.js';
export { type ConcurrencyLimitOptions, concurrencyLimit } from './limits/concurrency-limit.js';
export type { LeaseOptions } from './limits/lease-limiter.js';
export type { StoreErrorOptions } from './limits/limiter-options.js';
export { rateLimit } from './limits/rate-limit.js';
export type { RateLimitOptions } from './limits/rate-limit-options.js';
export type { RuleOptions } from './limits/rule-options.js';
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './memory/memory-store.js';
export {
  type Meter,
  type MeterOptions,
  meter,
  type Partially,
  type PriceOptions,
  partial,
} from './meter/meter.js';
export type { Spent, SpentOnLimit } from './meter/spending.js';
export { canonicalAddress } from './net/address.js';
export type { TrustProxy } from './net/client.js';
export {
  type DecisionLog,
  type DecisionLogEntry,
  type DecisionLogOptions,
  decisionLog,
} from './observe/decision-log.js';
export { type DecisionTableOptions, decisionTable } from './observe/decision-table.js';
export { claimOf, type RequestClaim } from './once/claim-of.js';
export { idempotency } from './once/idempotency.js';
export type {
  FinalResponse,
  IdempotencyOptions,
} from './once/idempotency-options.js';
export type { MarkOptions } from './once/marks.js';
export { restoreFrom, type UsedUnits } from './once/restore-from.js';
export { type Crossed, thresholds } from './once/thresholds.js';
export { admissionsOf } from './passage/gate.js';
export { type FleetShedderOptions, fleetShedder } from './shed/fleet-shedder.js';
export type { Reading, Signal } from './shed/load-signal.js';
export type { Classify, Priority, PriorityOptions } from './shed/priority.js';
export type { LoopSignal, WorkerShedderOptions } from './shed/worker-shedder.js';
export { type WorkerShedder, workerShedder } from './shed/worker-shedder.js';
export type { ResilienceOptions } from './stores/resilience-options.js';
