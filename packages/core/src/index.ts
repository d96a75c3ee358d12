/** @spillway/core: limiters, the guard that runs them, and the store in memory. */

export { type Clock, systemClock } from './clock.js';
export type { Control, KeyRuling, LimiterSettings, LiveLimits } from './control/control.js';
export {
  type MemoryControl,
  type MemoryControlOptions,
  memoryControl,
} from './control/memory-control.js';
export type {
  Change,
  ChangeNote,
  ClearableSetting,
  Override,
  OverrideNote,
  Setting,
} from './control/override.js';
export type { Decision, Numbers, Outcome, Policy, Reason } from './decision.js';
export { type Duration, toMicroseconds } from './duration.js';
export { isSpillwayError, SpillwayError, type SpillwayErrorCode } from './errors.js';
export { mulDiv, type Quotient } from './exact.js';
export { spread, type UniqueGroup, uniqueGroup } from './group.js';
export { MAX_STEPS, tooLarge } from './group-size.js';
export type { Admission } from './guard/admission.js';
export { admissionBefore, admissionsOf, rememberAdmission } from './guard/admissions.js';
export { checkStore } from './guard/check-store.js';
export {
  type DecisionLog,
  type DecisionLogEntry,
  type DecisionLogOptions,
  decisionLog,
} from './guard/decision-log.js';
export { tellFault } from './guard/faults.js';
export { createGuard } from './guard/guard.js';
export { type GuardHandle, showGuard } from './guard/handle.js';
export { Notices } from './guard/notices.js';
export type {
  BreakerEvent,
  DecisionEvent,
  Observer,
  Overflowing,
  StoreCallEvent,
} from './guard/observer.js';
export type { Guard, GuardOptions } from './guard/options.js';
export type { HeaderStyle } from './guard/presenter.js';
export { type Sample, Tally, type Watched } from './guard/tally.js';
export { type Field, mergeFields } from './http/fields.js';
export { KnownCounts, MAX_CODES, MAX_LIMITERS } from './known-counts.js';
export type { StoreErrorOptions } from './limit/callbacks.js';
export { type ConcurrencyLimitOptions, concurrencyLimit } from './limit/concurrency-limit.js';
export type { HintOptions } from './limit/hint.js';
export {
  type CostOptions,
  createLimiter,
  type GroupDecision,
  type KeyedLimiter,
  type KeyedLimiterOptions,
  type LimiterOptions,
  type Timely,
} from './limit/keyed-limiter.js';
export type { LeaseOptions } from './limit/lease-limiter.js';
export type {
  Fault,
  Limiter,
  LocalLimiter,
  Mode,
  OnStoreError,
  RequestOutcome,
  StepContext,
  StoredLimiter,
} from './limit/limiter.js';
export type { RuleOptions } from './limit/options.js';
export { type RateLimitOptions, rateLimit } from './limit/rate-limit.js';
export { receiptFrom } from './limit/receipt.js';
export type { LimitRequest, Per } from './limit/request.js';
export { measure, refillTime } from './measure.js';
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './memory/memory-store.js';
export * from './net/index.js';
export { askParts, type Part, partsOf } from './parts.js';
export { withDeadline } from './resilience/deadline.js';
export { withFallback } from './resilience/fallback.js';
export type { Logger, ResilienceOptions } from './resilience/stack.js';
export {
  type Algorithm,
  type BucketRule,
  capacityOf,
  countOf,
  type LeasesRule,
  type LogRule,
  MAX_LEASE_US,
  MAX_TOLERANCE_US,
  makeLeasesRule,
  makeRule,
  type RateRule,
  type Rule,
  sameRule,
  shareOf,
  type WindowRule,
} from './rule.js';
export { type FleetShedderOptions, fleetShedder } from './shed/fleet-shedder.js';
export type { LoopSignal, WorkerShedderOptions } from './shed/options.js';
export type { Classify, Priority, PriorityOptions } from './shed/priority.js';
export type { Reading, Signal } from './shed/signal.js';
export { type WorkerShedder, workerShedder } from './shed/worker-shedder.js';
export type {
  Answer,
  ApplyOptions,
  BucketAnswer,
  Lease,
  LeasesAnswer,
  LogAnswer,
  Op,
  Receipt,
  Step,
  Store,
  StoreErrorPolicy,
  SyncStore,
  WindowAnswer,
} from './store.js';
