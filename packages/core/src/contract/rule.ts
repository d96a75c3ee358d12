/**
 * The contract of an algorithm: a rule, which is checked integers that a store in any language can evaluate, the
 * answers to its steps, and the counts in memory.
 */

import type { AnswerBase, Ask, Claim, Receipt } from './ask.js';
import type { BillingPeriod, Calendar } from './calendar.js';
import type { Numbers, Policy } from './decision.js';
import type { LimitRequest } from './request.js';
import type { UpkeepOf } from './upkeep.js';

interface RuleBase {
  /** The implementation of the rule's algorithm. Stores in other languages ignore it. */
  readonly logic: Machine;
  /** Identifies the count of this rule, together with the limiter's name and the key: see {@link countOf}. */
  readonly code: string;
  /**
   * For a limit with `overage`: the rule with the declared limit. The rule that has this property counts and admits
   * units beyond that limit, and its steps never reject. Stores ignore this property.
   */
  readonly soft?: Rule;
  /**
   * The most whole units beyond the limit (for a bucket, the burst) that `record` and {@link Ask.owed} may charge.
   * Omitted if the rule has no debt.
   */
  readonly debt?: number;
}

/** The longest time that a bucket can take to refill: from empty, or from its deepest debt. */
export interface Tolerance {
  /** The time in whole microseconds, rounded down. */
  readonly tolUs: number;
  /** The fraction that `tolUs` omits, as a numerator over `den` of the rule. */
  readonly tolNum: number;
}

/** The numbers of a bucket. One unit takes `windowUs / limit` microseconds to refill: exactly `period / den`. */
export interface BucketNumbers extends Tolerance {
  /** Units refilled per window, 1 to 10^9. */
  readonly limit: number;
  readonly windowUs: number;
  /**
   * The capacity of the bucket in units. It is less than the declared burst only if the tolerance would otherwise
   * exceed 2^51 us.
   */
  readonly burst: number;
  /** Denominator of all fractions of a microsecond in this rule: limit / gcd(limit, windowUs). */
  readonly den: number;
  /** Microseconds per `den` units: windowUs / gcd(limit, windowUs). */
  readonly period: number;
}

/**
 * A token bucket as the generic cell rate algorithm (ITU-T I.371). It stores only one instant: when the bucket will be
 * full again.
 */
export interface BucketRule extends RuleBase, BucketNumbers {
  readonly machine: 'bucket';
  /** Set for a rule with debt: the time to refill a bucket whose burst and debt are both used up. */
  readonly deepest?: Tolerance;
}

/**
 * A bucket with a waiting time: a unit that has not refilled yet can be taken in advance, and its taker waits for it.
 * All such rules of one limiter share one count, so a queue continues when its numbers change.
 */
export interface QueueRule extends RuleBase, BucketNumbers {
  readonly machine: 'queue';
  /** The longest wait of a taker, in microseconds: 0 to 400 days. */
  readonly waitUs: number;
  /**
   * The longest time until the bucket is full: the tolerance plus `waitUs`, rounded up. During a pause, this time is
   * counted from the end of the pause.
   */
  readonly spanUs: number;
  /** The refill time of `burst` - 1 units, in whole microseconds, rounded down. */
  readonly leadUs: number;
  /** The fraction that `leadUs` omits, as a numerator over `den`. */
  readonly leadNum: number;
}

/**
 * A count per window. Windows are aligned to the epoch, but an `anchored` window starts when a key without a running
 * window is charged. A `sliding` count also includes the part of the previous window that is less than one window old.
 */
export interface WindowRule extends RuleBase {
  readonly machine: 'window';
  readonly limit: number;
  readonly windowUs: number;
  readonly kind: 'fixed' | 'anchored' | 'sliding';
}

/** Counts the units of each period. All such rules of one limiter share one count per key, whatever their calendar. */
export interface CalendarRule extends RuleBase {
  readonly machine: 'calendar';
  readonly limit: number;
  /** Finds the period in which a step counts, unless the step has its own {@link Ask.period}. */
  readonly calendar: Calendar;
}

/**
 * A limit with a penalty. It counts units like an anchored {@link WindowRule}. If a binding take is rejected for lack
 * of units, the key is locked. Rules with the same `forgetUs` share a count, so a lock survives a change of the limit
 * or the window.
 */
export interface LockRule extends RuleBase {
  readonly machine: 'lock';
  readonly limit: number;
  readonly windowUs: number;
  /** The lengths of the first, second and further locks, in microseconds; at least one. The last length is repeated. */
  readonly locksUs: readonly number[];
  /** If a key was not locked for this many microseconds, its next lock has the first length again. */
  readonly forgetUs: number;
}

/** A log of each admitted request with its time. It is exact over any interval, but stores an entry per request. */
export interface LogRule extends RuleBase {
  readonly machine: 'log';
  readonly limit: number;
  readonly windowUs: number;
}

/** The distinct items of a key. Each counts for one window from the request that added it. */
export interface DistinctRule extends RuleBase {
  readonly machine: 'distinct';
  /** The most items at once, 1 to 10,000. */
  readonly limit: number;
  readonly windowUs: number;
}

/**
 * Permits for requests in flight. Each is held under a lease, which expires unless it is renewed. Critical holders
 * always get a permit. Another holder gets one if fewer than `limit` permits are held in total, and fewer than `open`
 * of them by holders that are not critical.
 */
export interface LeasesRule extends RuleBase {
  readonly machine: 'leases';
  /** The most permits at once, 1 to 10^9. Critical holders are never rejected, so more may be held. */
  readonly limit: number;
  /** The most permits at once for holders that are not critical, 0 to `limit`. */
  readonly open: number;
  readonly leaseUs: number;
}

/**
 * Claims: each id of a key is claimed by one owner at a time. A running claim ends when its lease expires, unless it is
 * renewed. A done claim stays stored for a while, so its id can't be claimed again.
 */
export interface ClaimsRule extends RuleBase {
  readonly machine: 'claims';
  /** Always 1. */
  readonly limit: number;
  /** Length of a lease in microseconds, 1 s to 24 h. A claim becomes free this long after its last renewal. */
  readonly leaseUs: number;
  /** How long a done claim stays stored, in microseconds, 1 s to 400 days. */
  readonly keepUs: number;
}

/** The rules that a {@link RateAlgorithm} makes. */
export type RateRule = BucketRule | WindowRule | LogRule | DistinctRule;

/** The numbers of a limit as data, for any algorithm. */
export type Rule = RateRule | CalendarRule | LockRule | QueueRule | LeasesRule | ClaimsRule;

/** State of a bucket after the step. The bucket is full from the instant `tatUs + tatNum / den` on. */
export interface BucketAnswer extends AnswerBase {
  readonly tatUs: number;
  readonly tatNum: number;
}

/** State of a shaper's queue after the step. While a job waits, `tatUs` is later than `nowUs` plus the tolerance. */
export interface QueueAnswer extends BucketAnswer {
  /** The end of the running pause, in microseconds since the epoch; 0 if no pause runs. */
  readonly pausedUntilUs: number;
}

/** State of a window after the step. If the clock went back, `startUs` may be later than `nowUs`. */
export interface WindowAnswer extends AnswerBase {
  readonly startUs: number;
  readonly current: number;
  /** Count of the previous window; always 0 unless the rule is sliding. */
  readonly previous: number;
}

/** State of a calendar count after the step. If the clock went back, `startUs` may be later than `nowUs`. */
export interface CalendarAnswer extends AnswerBase {
  readonly startUs: number;
  /** The first instant after the period. */
  readonly endUs: number;
  readonly current: number;
}

/** State of the window and the lock after the step. */
export interface LockAnswer extends AnswerBase {
  /** The first instant after the window; during a lock, after the window in which the lock began. */
  readonly endUs: number;
  readonly current: number;
  /** When the running lock ends; 0 if no lock runs. */
  readonly untilUs: number;
}

/** State of a log, or of distinct items, after the step. */
export interface LogAnswer extends AnswerBase {
  /** Units admitted, or items added, less than one window ago. */
  readonly used: number;
  /**
   * If the step is sent again, it passes one window after this time: then the entry or item that was added at this time
   * expires. -1 if the step would pass at once or can never pass.
   */
  readonly freesUs: number;
  /** Time of the newest entry that counts; 0 if no entry counts. */
  readonly lastUs: number;
}

/** State of the permits after the step. */
export interface LeasesAnswer extends AnswerBase {
  readonly used: number;
  readonly critical: number;
}

/** State of the claim after the step. */
export interface ClaimsAnswer extends AnswerBase {
  /** The state of the claim. `running`: an owner holds it under a lease. `done`: the work is finished. */
  readonly state: 'free' | 'running' | 'done';
  /** The owner of the running or done claim; `''` if it is free. */
  readonly owner: string;
  /** When the lease or the stored claim expires, in microseconds since the epoch; 0 if the claim is free. */
  readonly endsUs: number;
  /** The note that `done` has stored; `''` unless the claim is done. */
  readonly note: string;
}

/** The answer of a store to a step: the state of the count, in the numbers of its algorithm. */
export type Answer =
  | BucketAnswer
  | QueueAnswer
  | WindowAnswer
  | CalendarAnswer
  | LockAnswer
  | LogAnswer
  | LeasesAnswer
  | ClaimsAnswer;

/** The names of the algorithms, as in metrics and the command line. */
export type Algorithm =
  | 'token-bucket'
  | 'fixed-window'
  | 'sliding-window-log'
  | 'sliding-window-counter';

/**
 * When the windows of `fixed-window` start. `epoch`: at multiples of the window since 1970, for all keys at once.
 * `first-request`: at the first charge of each key, and at its first charge after a window has ended.
 */
export type Anchor = 'epoch' | 'first-request';

/** An algorithm for rate limits, as passed to the option `algorithm`. */
export interface RateAlgorithm {
  readonly name: Algorithm | 'distinct';
  /** The highest limit, if it is less than 10^9. */
  readonly maxLimit?: number | undefined;
  /**
   * Makes the rule of a limit. The numbers must have been checked: integers, `limit` and `burst` from 1 to 10^9,
   * `windowUs` from 1 ms to 400 days.
   *
   * @param options all options of the limit
   */
  makeRule(
    limit: number,
    windowUs: number,
    burst: number,
    anchor: Anchor,
    options?: { readonly cost?: unknown },
  ): RateRule;
}

/** A limit on distinct items, as passed to the option `algorithm`. `distinct()` returns it. */
export interface DistinctAlgorithm<Raw = unknown> extends RateAlgorithm {
  readonly name: 'distinct';
  readonly maxLimit: number;
  readonly itemOf?: ((request: LimitRequest<Raw>) => Items | PromiseLike<Items>) | undefined;
}

/** An item that a request touches, such as an id. The type matters: `5` and `'5'` are two items. */
export type Item = string | number | bigint;

/** The items of a request: one, several, or none. */
export type Items = Item | null | undefined | readonly (Item | null | undefined)[];

interface GivenOptions {
  readonly window: unknown;
  readonly algorithm?: unknown;
}

/** Data of a request besides its key. A missing property was not supplied. */
interface Given {
  readonly cost?: unknown;
  readonly period?: unknown;
  readonly item?: unknown;
}

/** A window by calendar, as passed to the option `window`. `calendar()` returns it. */
export interface CalendarWindow<Raw = unknown> {
  readonly calendar: Calendar;
  readonly periodOf?:
    | ((request: LimitRequest<Raw>) => BillingPeriod | PromiseLike<BillingPeriod>)
    | undefined;
  /**
   * Makes the rule of a limit. `options.limit` must have been checked.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID` if `algorithm`, `burst` or `anchor` is given
   */
  makeRule(options: {
    readonly limit: number;
    readonly algorithm?: unknown;
    readonly burst?: unknown;
    readonly anchor?: unknown;
  }): CalendarRule;
  toString(): string;
}

/** The consequence of a rejection, as passed to the option `penalty`. `lockFor()` returns it. */
export interface Penalty {
  /**
   * Makes the rule of a limit. `options.limit` must have been checked.
   *
   * @throws SpillwayError `SPW_WINDOW_INVALID`; `SPW_OPTION_INVALID` for options that can't be combined with `penalty`
   */
  makeRule(options: {
    readonly limit: number;
    readonly window: unknown;
    readonly algorithm?: { readonly name: string } | undefined;
    readonly anchor?: unknown;
    readonly burst?: unknown;
    readonly overage?: unknown;
  }): LockRule;
}

export interface FaultSink {
  readonly notices?:
    | { tell(code: 'SPW_STORE_MISSING', message: string, of: string): void }
    | undefined;
  readonly store?: { readonly hasOurTime: boolean } | undefined;
  fault(fault: { limiter: string; source: 'period' | 'item'; error: unknown }): void;
}

export interface ShelfStep<Rule, Count = unknown> {
  readonly ask: Ask<Rule>;
  readonly nowUs: number;
  /** If false, a `take` charges nothing and answers whether it would pass. */
  readonly charge: boolean;
  /**
   * False if the count is shared, or if the store is full and the shelf {@link Shelf.grows}. The step must then not
   * enlarge the count, unless it is a shared count of distinct items. A log adds new units to its newest entry, and the
   * older units of that entry may then expire too late.
   */
  readonly mayGrow: boolean;
  /** What {@link Shelf.find} returned for this `ask` immediately before the step. */
  readonly count?: Count | undefined;
  /**
   * The key's count on the store's other shelf. If the step creates a count, that count starts as a copy of this one,
   * but without its permits. A step on a shared count always has this property, even with the value undefined.
   */
  readonly other?: Count | undefined;
}

/**
 * The counts of one algorithm, by limiter, `rule.code` and key. A memory store has up to two shelves for each
 * algorithm: one for counts of single keys and, once the store is full, one for counts that several keys share. `Count`
 * is opaque to the store.
 */
export interface Shelf<Rule, Count = unknown> {
  readonly size: number;
  /** Whether the store must prevent steps on an existing count from adding entries while it is full. */
  readonly grows: boolean;
  /** True if keys can't share a count. A full store answers a step on a new count with a `failure`. */
  readonly alone?: boolean;
  /** The count of `ask`, if it is stored. Valid until the next call of any method except {@link step}. */
  find(ask: Ask<Rule>, nowUs: number): Count | undefined;
  /**
   * Does the work of {@link find} and {@link step} in one call, which is faster. Returns undefined if no count is
   * stored. A shelf with {@link holds} doesn't have this method, because the permit of the step may be on the store's
   * other shelf.
   */
  stepStored?(ask: Ask<Rule>, nowUs: number, charge: boolean): Answer | undefined;
  /** Whether `count` holds the permit of `ask`. Only algorithms with permits have this method. */
  holds?(count: Count, ask: Ask<Rule>): boolean;
  step(step: ShelfStep<Rule, Count>): Answer;
  expiresAtUs(rule: Rule, answer: Answer): number;
  reclaim(nowUs: number): void;
}

/**
 * Everything that differs between algorithms. Each rule carries the machine of its algorithm ({@link RuleBase.logic}),
 * so a program contains only the algorithms that it uses. A machine gets only rules and answers of its algorithm.
 */
export interface Machine {
  same(rule: Rule, other: Rule): boolean;
  /** Omitted if it is the limit. */
  capacity?(rule: Rule): number;
  share(rule: Rule, share: number): Rule;
  soften?(rule: Rule): Rule;
  /**
   * Checks a plan.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID` for numbers that must not replace the declared ones
   */
  checkPlan?(plan: { readonly window?: unknown; readonly burst?: unknown }): void;
  chargeDebt?(ask: Ask<Rule>, state: unknown, nowUs: number): void;
  policy(name: string, rule: Rule): Policy;
  declared(rule: Rule): DeclaredNumbers;
  /** Returns how long a count has an effect after its last step, in microseconds. After that, a store can delete it. */
  expiresAfterUs(rule: Rule): number;
  measure(rule: Rule, answer: Answer, cost: number): Numbers;
  receipt(answer: Answer, units: number): Receipt;
  /** For how many microseconds the key stays locked or paused. The fallback counters do the same. */
  heldUs?(answer: Answer): number;
  /** The receipt for what is left of a grant after `given` units. Omitted if only `units` changes. */
  rest?(rule: Rule, receipt: Receipt, given: number): Receipt;
  startTogether?<S extends Ask<Rule> & { readonly binding: boolean }>(
    steps: readonly S[],
    judge: (step: S, place: number) => Answer,
  ): readonly S[];
  /** True for permits and claims. Two steps on one count are then not merged into one. */
  readonly hasIds?: true;
  shelf(): Shelf<Rule>;
  /**
   * True if the algorithm has no fallback counter. If the store can't answer a step, the step then passes only if it is
   * a `take` or `look` whose `onStoreError` is `allow`.
   */
  readonly failsClosed?: boolean;
  /**
   * Checks what types can't express about a step, before a store reads any key.
   *
   * @throws SpillwayError `SPW_GROUP_INVALID`
   */
  readonly checkStep?: (step: Ask<Rule> & { readonly onStoreError?: unknown }) => void;
  /**
   * Adds to a step the data of the request that its rule needs.
   *
   * @param given undefined if there is no callback, or if it failed; the fault was already reported
   * @param limiter the name of the limiter, for faults
   */
  complete?<S extends Ask<Rule>>(
    step: S,
    given: Given | undefined,
    limiter: string,
    sink: FaultSink,
  ): S;
  /**
   * Returns, as `option`, the app's callback that supplies `period` or `item` of {@link Given}; undefined if there is
   * none. `source` is the name of that property, also in faults.
   */
  givenBy?(options: GivenOptions): readonly [source: 'period' | 'item', option: unknown];
  /** Properties to set in the merged step, such as a cost that is not the sum of the two costs. */
  join?(step: Ask<Rule>, other: Ask<Rule>): Partial<Ask<Rule>>;
  /** Reports faults of the request that only the answer shows, such as an ended billing period. */
  examine?(step: Ask<Rule>, answer: Answer, limiter: string, sink: FaultSink): void;
  codeOf?(rule: Rule, claim: Claim): string;
  /** How rejections are cached. Omitted if the algorithm's rejections must not be cached. */
  readonly denials?: DenialMemory;
  readonly upkeep?: UpkeepOf<Ask<Rule>>;
}

/** The declared numbers of a limiter. */
export interface DeclaredNumbers {
  /**
   * The algorithm, in one of these forms. None has spaces, because spaces separate the values announced in Redis.
   *
   * - rate limits: the {@link Algorithm}, with the suffix `:first-request` for that anchor;
   * - `calendar:` and the name of the calendar;
   * - `lock:`, the lock lengths, `:` and `forget`, all in milliseconds;
   * - `distinct`, `shaper`, `concurrency`, or `claims` (idempotency keys).
   */
  readonly algorithm: string;
  /** Units per window, or requests in flight. */
  readonly limit: number;
  readonly windowMs?: number;
  /** Units at once, for a shaper, or for a token bucket whose burst differs from its limit. */
  readonly burst?: number;
  /** The most units beyond the limit that may be charged afterwards. */
  readonly debt?: number;
  /** The maximum of non-critical requests in flight, if it differs from `limit`. */
  readonly open?: number;
  readonly leaseMs?: number;
  /** How long a done claim stays stored. */
  readonly keepMs?: number;
  /** The longest wait for a unit, for a shaper. */
  readonly maxWaitMs?: number;
}

/** How the denial cache stores a rejection as a few numbers, and reads it back without calling the store. */
export interface DenialMemory {
  /** How many milliseconds a rejection of `cost` units may be cached; 0 if it must not be. */
  holdsMs(rule: Rule, numbers: Numbers, cost: number): number;
  /** Whether a rejection says nothing about other costs. */
  readonly isOfOneCost?: true;
  /** Writes the state that the answer contains into `numbers`, from index `at` on: at most five numbers. */
  write(answer: Answer, numbers: Float64Array, at: number): void;
  /** The rejection as the store would return it at `nowUs` of the store's clock. */
  read(rule: Rule, numbers: Float64Array, at: number, nowUs: number): Answer;
}

/**
 * Returns the code that identifies the count of a rule, together with limiter and key. Rules of one limiter share a
 * count only if each can read the other's state unchanged. These do:
 *
 * - buckets with the same tolerance (including debt) and the same denominator,
 * - windows of the same kind and length,
 * - logs with the same window,
 * - limits on distinct items with the same window,
 * - limits with a penalty and the same `forgetUs`,
 * - all calendars, all shaper rules, and all permits.
 *
 * Each claim has a separate count. Its code consists of the rule's code, `:` and the id of the claim, escaped as in
 * `encodeName`.
 */
export function countOf({ rule, claim }: { readonly rule: Rule; readonly claim?: Claim }): string {
  return claim === undefined ? rule.code : (rule.logic.codeOf?.(rule, claim) ?? rule.code);
}

/** Whether all numbers of two rules are equal. Such rules share a count. */
export function sameRule(a: Rule, b: Rule): boolean {
  const same =
    a.machine === b.machine && a.limit === b.limit && a.code === b.code && a.logic.same(a, b);
  return same && a.soft?.limit === b.soft?.limit;
}

/** For `overage`: the rule that also counts units beyond the limit; undefined if the algorithm can't. */
export function softRule(rule: Rule): Rule | undefined {
  const soft = rule.logic.soften?.(rule);
  return soft && { ...soft, soft: rule };
}

/**
 * The most units that the rule can admit at once. A higher cost never passes, except items of a `distinct` rule that
 * already count.
 */
export function capacityOf(rule: Rule): number {
  return rule.logic.capacity?.(rule) ?? rule.limit;
}

/**
 * Returns the rule for one process's share of the limit. On average over time, eight processes with a share of 1/8
 * together admit about as much as the limit allows.
 *
 * - Permits, limits by calendar and limits with a penalty: the limit becomes limit x share, rounded down, but at least
 *   1.
 * - Claims don't change.
 * - All others keep their limit, and the window grows to window / share, rounded up, but at most 71 years: 5 per minute
 *   becomes 5 per 8 minutes.
 */
export function shareOf(rule: Rule, share: number): Rule {
  if (share === 1) return rule;
  return rule.soft ? (softRule(shareOf(rule.soft, share)) as Rule) : rule.logic.share(rule, share);
}
