/** @spillway/core/store: what stores are made of, for those who keep counts elsewhere. */

export { measure, refillTime } from './algorithms/measure.js';
export { receiptFrom } from './algorithms/receipt.js';
export { durationBetween, positiveInteger } from './base/checks.js';
export { type Clock, systemClock } from './base/clock.js';
export { type Duration, toMicroseconds } from './base/duration.js';
export { mulDiv, type Quotient } from './base/exact.js';
export { spread, type UniqueGroup, uniqueGroup } from './contract/group.js';
export { MAX_STEPS, tooLarge } from './contract/group-size.js';
export { KnownCounts, MAX_CODES, MAX_LIMITERS } from './contract/known-counts.js';
export {
  type Algorithm,
  type BucketRule,
  capacityOf,
  countOf,
  type LeasesRule,
  type LogRule,
  MAX_LEASE_US,
  makeLeasesRule,
  makeRule,
  type RateRule,
  type Rule,
  sameRule,
  type WindowRule,
} from './contract/rule.js';
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
} from './contract/store.js';
export { withDeadline } from './stores/deadline.js';
export { askParts, type Part, partsOf } from './stores/parts.js';
