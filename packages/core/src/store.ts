/** @spillway/core/store: building blocks for custom stores. */

export { chargeDebt, refillTime, unitsRefilled } from './algorithms/bucket.js';
export {
  machineNamed,
  makeRule,
  type StateText,
  type SteppedText,
  stepText,
} from './algorithms/by-name.js';
export { makeCalendarRule, periodsOf } from './algorithms/calendar.js';
export { calendarNamed } from './algorithms/calendar-periods.js';
export { MAX_KEEP_US, makeClaimsRule } from './algorithms/claims.js';
export { withDebt } from './algorithms/debt.js';
export { measure } from './algorithms/decide.js';
export { makeDistinctRule } from './algorithms/distinct.js';
export {
  groupPasses,
  MAX_STEPS,
  spread,
  startTogether,
  tooLarge,
  type UniqueGroup,
  uniqueGroup,
} from './algorithms/group.js';
export { KnownCounts, MAX_CODES, MAX_LIMITERS } from './algorithms/known-counts.js';
export { MAX_LEASE_US, makeLeasesRule } from './algorithms/leases.js';
export { makeLockRule } from './algorithms/lock.js';
export { delayOf, MAX_HOLD_US, makeShaperRule } from './algorithms/queue.js';
export {
  givenBack,
  receiptFrom,
  receiptOfRest,
  receiptOfStep,
  unitsOf,
} from './algorithms/receipt.js';
export { bytesOfText, textOfBytes } from './base/bytes-text.js';
export { durationBetween, positiveInteger } from './base/checks.js';
export { type Clock, systemClock } from './base/clock.js';
export { type Duration, toMicroseconds } from './base/duration.js';
export { type EncodeNameOptions, encodeName } from './base/encode-name.js';
export { mulDiv, type Quotient } from './base/exact.js';
export { after, afterIdly } from './base/host.js';
export { within } from './base/within.js';
export { isEnd, type Receipt } from './contract/ask.js';
export type { Calendar, Period, Periods } from './contract/calendar.js';
export {
  type Algorithm,
  type Answer,
  type BucketAnswer,
  type BucketNumbers,
  type BucketRule,
  type CalendarAnswer,
  type CalendarRule,
  type ClaimsAnswer,
  type ClaimsRule,
  capacityOf,
  countOf,
  type DeclaredNumbers,
  type DenialMemory,
  type DistinctRule,
  type LeasesAnswer,
  type LeasesRule,
  type LockAnswer,
  type LockRule,
  type LogAnswer,
  type LogRule,
  type Machine,
  type QueueAnswer,
  type QueueRule,
  type RateRule,
  type Rule,
  sameRule,
  type WindowAnswer,
  type WindowRule,
} from './contract/rule.js';
export {
  type ApplyOptions,
  type Claim,
  checkValue,
  type Lease,
  MAX_VALUE_BYTES,
  type Op,
  type Step,
  type Store,
  type StoreErrorPolicy,
  type SyncStore,
  type SyncValues,
  type ValueName,
  type Values,
  valueCode,
} from './contract/store.js';
export type { Linked, LinkedStore, StoreLink, StoreUser } from './contract/store-link.js';
export {
  dropIdempotencyKey,
  type IdempotencyKeyName,
  type IdempotencyKeyState,
  readIdempotencyKey,
} from './once/idempotency-key.js';
export type { Decide, StateBackend, StateChanges } from './state/state-backend.js';
export { stateStore } from './state/state-store.js';
export { withDeadline } from './stores/calls.js';
export { askParts, type Part, partsOf } from './stores/group-parts.js';
export { remoteStore } from './stores/remote-store.js';
