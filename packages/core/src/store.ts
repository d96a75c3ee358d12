/** @spillway/core/store: building blocks for custom stores. */

export { chargeDebt } from './algorithms/bucket/bucket-debt.js';
export { refillTime, unitsRefilled } from './algorithms/bucket/bucket-rule.js';
export { makeCalendarRule } from './algorithms/calendar/calendar-rule.js';
export { periodsOf } from './algorithms/calendar/calendar-step.js';
export { calendarNamed } from './algorithms/calendar/periods.js';
export { makeClaimsRule } from './algorithms/claims/claim-rule.js';
export { MAX_KEEP_US } from './algorithms/claims/claim-step.js';
export { withDebt } from './algorithms/debt.js';
export { measure } from './algorithms/decide.js';
export { makeDistinctRule } from './algorithms/distinct/distinct-rule.js';
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
export { makeLeasesRule } from './algorithms/leases/lease-rule.js';
export { MAX_LEASE_US } from './algorithms/leases/lease-step.js';
export { makeLockRule } from './algorithms/lock/lock-rule.js';
export { delayOf, makeShaperRule } from './algorithms/queue/queue-rule.js';
export { MAX_HOLD_US } from './algorithms/queue/queue-step.js';
export {
  givenBack,
  receiptFrom,
  receiptOfRest,
  receiptOfStep,
  unitsOf,
} from './algorithms/receipt.js';
export { makeRule } from './algorithms/rules.js';
export { type StateText, type SteppedText, stepText } from './algorithms/texts.js';
export { bytesOfText, textOfBytes } from './base/bytes-text.js';
export { durationBetween, positiveInteger } from './base/checks.js';
export { type Clock, systemClock } from './base/clock.js';
export { type Duration, toMicroseconds } from './base/duration.js';
export { type EncodeNameOptions, encodeName } from './base/encode-name.js';
export { mulDiv, type Quotient } from './base/exact.js';
export { after, afterIdly } from './base/host.js';
export { within } from './base/within.js';
export {
  type Answer,
  type BucketAnswer,
  type CalendarAnswer,
  type ClaimsAnswer,
  isEnd,
  type LeasesAnswer,
  type LockAnswer,
  type LogAnswer,
  type QueueAnswer,
  type Receipt,
  type WindowAnswer,
} from './contract/ask.js';
export type { Calendar, Period, Periods } from './contract/calendar.js';
export {
  type Algorithm,
  type BucketNumbers,
  type BucketRule,
  type CalendarRule,
  type ClaimsRule,
  capacityOf,
  countOf,
  type DeclaredNumbers,
  type DenialMemory,
  type DistinctRule,
  type LeasesRule,
  type LockRule,
  type LogRule,
  type Machine,
  type QueueRule,
  type RateRule,
  type Rule,
  sameRule,
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
export { withDeadline } from './stores/deadline.js';
export { askParts, type Part, partsOf } from './stores/group-parts.js';
export { remoteStore } from './stores/remote-store.js';
