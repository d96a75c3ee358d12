/** A rule as data: checked integers that a store in any language can evaluate. */

import type { Answer, Ask, Claim, Receipt } from './ask.js';
import type { BillingPeriod, Calendar } from './calendar.js';
import type { Numbers, Policy } from './decision.js';
import type { LimitRequest } from './request.js';
import type { Shelf } from './shelf.js';
import type { UpkeepOf } from './upkeep.js';

interface RuleBase {
  /** The implementation of the rule's algorithm. Stores in other languages ignore it. */
  readonly logic: Machine;
  /** Identifies the count of this rule, together with the limiter's name and the key: see {@link countOf}. */
  readonly code: string;
  /**
   * The limit as it was declared, if units beyond it are counted and admitted: then the rule's own limit is the most
   * that is counted. Stores ignore it; steps under such a rule are not binding.
   */
  readonly soft?: Rule;
  /**
   * Whole units beyond the limit that may be charged after the fact: by `record`, and by {@link Ask.owed}. Omitted if
   * the rule has no debt.
   */
  readonly debt?: number;
}

/** How far the instant of a bucket may be ahead of now. */
export interface Tolerance {
  /** The time in whole microseconds, rounded down. */
  readonly tolUs: number;
  /** Its fraction, a numerator over the denominator of the rule. */
  readonly tolNum: number;
}

/** The numbers of a bucket. One unit takes `windowUs / limit` microseconds to refill: exactly `period / den`. */
export interface BucketNumbers extends Tolerance {
  /** Units refilled per window, 1 to 10^9. */
  readonly limit: number;
  /** Window in microseconds. */
  readonly windowUs: number;
  /**
   * Units at once: the capacity of the bucket. Less than the declared burst only if the tolerance would exceed 2^51 us.
   */
  readonly burst: number;
  /** Denominator of all fractions of a microsecond in this rule: limit / gcd(limit, windowUs). */
  readonly den: number;
  /** Microseconds per `den` units: windowUs / gcd(limit, windowUs). */
  readonly period: number;
  /** The tolerance: burst x window / limit. */
  readonly tolUs: number;
  readonly tolNum: number;
}

/**
 * The token bucket, stored as one instant (the generic cell rate algorithm, ITU-T I.371): the instant at which the
 * bucket will be full again.
 */
export interface BucketRule extends RuleBase, BucketNumbers {
  readonly machine: 'bucket';
  /** With debt: the tolerance and the debt as a time. The instant is never further ahead of now. */
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
   * The tolerance plus `waitUs`, rounded up. The bucket's instant is never further ahead of now, or of the end of a
   * pause.
   */
  readonly spanUs: number;
  /** The refill time of `burst` - 1 units, in whole microseconds, rounded down. */
  readonly leadUs: number;
  /** The fraction of that time, a numerator over `den`. */
  readonly leadNum: number;
}

/**
 * A count per window. Windows are aligned to the epoch, except `anchored` ones, which start when a key without units is
 * charged. With `sliding`, the part of the previous window that is less than one window ago also counts.
 */
export interface WindowRule extends RuleBase {
  readonly machine: 'window';
  readonly limit: number;
  readonly windowUs: number;
  readonly kind: 'fixed' | 'anchored' | 'sliding';
}

/** A count per period of a calendar. One count for each limiter and key, whatever the calendar. */
export interface CalendarRule extends RuleBase {
  readonly machine: 'calendar';
  readonly limit: number;
  /** Finds the period of an instant of the store's clock, unless the step has its own {@link Ask.period}. */
  readonly calendar: Calendar;
}

/**
 * A count per window of a key, as in anchored windows. The first binding take that is rejected for lack of units locks
 * the key. Rules with the same `forgetUs` share a count, so a lock survives a change of the limit or the window.
 */
export interface LockRule extends RuleBase {
  readonly machine: 'lock';
  readonly limit: number;
  readonly windowUs: number;
  /** Microseconds of the first and each further lock, at least one. Those after the last are as long as it. */
  readonly locksUs: readonly number[];
  /** After this many microseconds since the end of the last lock, the next one is the first again. */
  readonly forgetUs: number;
}

/** Every admitted request with its time. Exact over any interval, but stores an entry for each request. */
export interface LogRule extends RuleBase {
  readonly machine: 'log';
  readonly limit: number;
  readonly windowUs: number;
}

/** The different things of a key, each counted for one window from the request that added it. */
export interface DistinctRule extends RuleBase {
  readonly machine: 'distinct';
  /** Different things at once, 1 to 10,000. */
  readonly limit: number;
  readonly windowUs: number;
}

/**
 * Permits for requests in flight. Each is held under a lease, which expires unless it is renewed. At most `limit` are
 * held at once, and at most `open` of them by holders that are not critical.
 */
export interface LeasesRule extends RuleBase {
  readonly machine: 'leases';
  /** Permits at once, 1 to 10^9. Critical holders are never rejected, so more may be held. */
  readonly limit: number;
  /** Permits at once for holders that are not critical, 0 to `limit`. */
  readonly open: number;
  /** Length of a lease in microseconds. */
  readonly leaseUs: number;
}

/**
 * Claims: each id of a key is claimed by one owner at a time. A running claim ends with its lease unless it is renewed.
 * A claim that is done stays stored, so the id can't be claimed again.
 */
export interface ClaimsRule extends RuleBase {
  readonly machine: 'claims';
  /** Always 1. */
  readonly limit: number;
  /** Length of a lease in microseconds, 1 s to 24 h: how long after the last renewal a claim becomes free. */
  readonly leaseUs: number;
  /** How long a claim that is done stays stored, in microseconds, 1 s to 400 days. */
  readonly keepUs: number;
}

/** The rule of a rate limit that an algorithm makes. */
export type RateRule = BucketRule | WindowRule | LogRule | DistinctRule;

/** The numbers of a limit as data, for any algorithm. */
export type Rule = RateRule | CalendarRule | LockRule | QueueRule | LeasesRule | ClaimsRule;

/** The names of the algorithms in metrics, the registry and the command line. */
export type Algorithm =
  | 'token-bucket'
  | 'fixed-window'
  | 'sliding-window-log'
  | 'sliding-window-counter';

/**
 * When the windows of `fixed-window` start. `epoch`: at multiples of the window since 1970, for all keys at once.
 * `first-request`: for each key with its first charge, and again with the first charge after the window has ended.
 */
export type Anchor = 'epoch' | 'first-request';

/** An algorithm for rate limits, as passed to the option `algorithm`. */
export interface RateAlgorithm {
  readonly name: Algorithm | 'distinct';
  /**
   * Makes the rule of a limit. The numbers must have been checked: integers, `limit` and `burst` from 1 to 10^9,
   * `windowUs` from 1,000 to 400 days.
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

/** A limit on different things, as passed to the option `algorithm`; what `distinct()` returns. */
export interface DistinctAlgorithm<Raw = unknown> extends RateAlgorithm {
  readonly name: 'distinct';
  /** Finds the things of a request. */
  readonly itemOf?: ((request: LimitRequest<Raw>) => Items | PromiseLike<Items>) | undefined;
}

/** A thing that a request touches, such as an id: its type counts, so `5` and `'5'` are two. */
export type Item = string | number | bigint;

/** The things of a request: one, several, or none. */
export type Items = Item | null | undefined | readonly (Item | null | undefined)[];

/** The options of a limiter in which a callback may be that finds {@link Given}. */
interface GivenOptions {
  readonly window: unknown;
  readonly algorithm?: unknown;
}

/** What an app said about a request beside its key. A part that is undefined could not be found out. */
interface Given {
  readonly cost?: unknown;
  readonly period?: unknown;
  readonly item?: unknown;
}

/** A window by calendar, as passed to the option `window`; what `calendar()` returns. */
export interface CalendarWindow<Raw = unknown> {
  readonly calendar: Calendar;
  /** Looks up the billing period of a request. */
  readonly periodOf?:
    | ((request: LimitRequest<Raw>) => BillingPeriod | PromiseLike<BillingPeriod>)
    | undefined;
  /**
   * Makes the rule of a limit, whose `limit` must have been checked.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID` if `algorithm`, `burst` or `anchor` is given
   */
  makeRule(options: {
    readonly limit: number;
    readonly algorithm?: unknown;
    readonly burst?: unknown;
    readonly anchor?: unknown;
  }): CalendarRule;
  /** The name of the calendar. */
  toString(): string;
}

/** What follows a rejection, as passed to the option `penalty`; what `lockFor()` returns. */
export interface Penalty {
  /**
   * Makes the rule of a limit, whose `limit` must have been checked.
   *
   * @throws SpillwayError `SPW_WINDOW_INVALID`; `SPW_OPTION_INVALID` for options that can't stand beside `penalty`
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

/** Where a machine reports what is wrong with a request. */
interface FaultSink {
  fault(fault: { limiter: string; source: 'period' | 'item'; error: unknown }): void;
}

/**
 * Everything that differs between algorithms. Each rule carries the machine of its algorithm ({@link RuleBase.logic}),
 * so a program contains only the algorithms that it uses, and the compiler finds missing members. A machine gets only
 * rules and answers of its algorithm.
 */
export interface Machine {
  /** Whether two rules with the same limit and code are also equal in all other numbers. */
  same(rule: Rule, other: Rule): boolean;
  /** The most units that the rule can admit at once. A higher cost never passes. */
  capacity(rule: Rule): number;
  /** The rule for a share of the limit; see `shareOf`. */
  share(rule: Rule, share: number): Rule;
  /** The rule that counts beyond the limit, without {@link RuleBase.soft}. Omitted if the algorithm can't. */
  soften?(rule: Rule): Rule;
  /**
   * Throws if the numbers of a plan must not replace those declared. Omitted if any may.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID`
   */
  checkPlan?(plan: { readonly window?: unknown; readonly burst?: unknown }): void;
  /** For buckets with debt: charges to the state of the count what a step that is granted, or recorded, charges. */
  chargeDebt?(ask: Ask<Rule>, state: unknown, nowUs: number): void;
  /** The numbers of the rule as clients see them. */
  policy(name: string, rule: Rule): Policy;
  /** The numbers of the rule as operators see them. */
  declared(rule: Rule): DeclaredNumbers;
  /** After this many microseconds without a step, a count has expired: it decides like that of an unused key. */
  expiresAfterUs(rule: Rule): number;
  /** The numbers of a decision, from the store's answer to a step of `cost` units. */
  measure(rule: Rule, answer: Answer, cost: number): Numbers;
  /** The receipt with which a later `put` gives back a grant of `units`. */
  receipt(answer: Answer, units: number): Receipt;
  /**
   * For how many microseconds the key of a rejected take is locked. Fallback counters lock it, too. Omitted if nothing
   * locks.
   */
  heldUs?(answer: Answer): number;
  /** The receipt of the rest after `given` units were given back. Omitted if only the number of units changes. */
  rest?(rule: Rule, receipt: Receipt, given: number): Receipt;
  /**
   * Sets the common start of the takes that start {@link Ask.together}: see `startTogether`. Omitted: there are none.
   */
  startTogether?<S extends Ask<Rule> & { readonly binding: boolean }>(
    steps: readonly S[],
    judge: (step: S, place: number) => Answer,
  ): readonly S[];
  /**
   * Whether two steps on the same count are merged into one with the summed cost. Not for permits and claims, which
   * have ids.
   */
  readonly merges: boolean;
  /** An empty table for the memory store. */
  shelf(): Shelf<Rule>;
  /**
   * If true, a step that the store can't answer is rejected unless its `onStoreError` is `allow`, and no fallback
   * counter is used. Omitted: `onStoreError` decides.
   */
  readonly failsClosed?: boolean;
  /**
   * Checks what types can't express about a step, before a store reads any key. Omitted if there is nothing to check.
   *
   * @throws SpillwayError `SPW_GROUP_INVALID`
   */
  readonly checkStep?: (step: Ask<Rule> & { readonly onStoreError?: unknown }) => void;
  /**
   * Adds to a step what the rule needs of its request. Omitted if it needs nothing.
   *
   * @param limiter the name of the limiter, for faults
   */
  complete?<S extends Ask<Rule>>(step: S, given: Given, limiter: string, sink: FaultSink): S;
  /** The option of a limiter that finds {@link Given} in a request, and its name in faults. Omitted if it has none. */
  givenBy?(options: GivenOptions): readonly [source: 'period' | 'item', option: unknown];
  /** What a step has that two steps on one count are merged into, besides the sum of their costs. */
  join?(step: Ask<Rule>, other: Ask<Rule>): Partial<Ask<Rule>>;
  /** Reports what the answer shows to be wrong with the request. Omitted if nothing can be. */
  examine?(step: Ask<Rule>, answer: Answer, limiter: string, sink: FaultSink): void;
  /** The code of the count of one claim. Omitted if rules have no claims. */
  codeOf?(rule: Rule, claim: Claim): string;
  /** The numbers of the rule in words, if they are not a limit per window. */
  described?(rule: Rule): string;
  /** How a rejection is cached. Omitted if its cause may end at any moment. */
  readonly denials?: DenialMemory;
  /** Renews permits and claims. Omitted if requests hold nothing. */
  readonly upkeep?: UpkeepOf<Ask<Rule>>;
}

/** The declared numbers of a limiter. */
export interface DeclaredNumbers {
  /**
   * The algorithm as users write it, with the suffix `:first-request` for that anchor; `calendar:` and the name of the
   * calendar; `lock:`, the milliseconds of the locks, `:` and those of `forget`; `concurrency` for concurrency limits;
   * `claims` for idempotency keys. Contains no spaces, because the registry separates its entries with them.
   */
  readonly algorithm: string;
  /** Units per window, or requests in flight. */
  readonly limit: number;
  readonly windowMs?: number;
  /** Units at once, for a token bucket whose burst differs from its limit. */
  readonly burst?: number;
  /** Units beyond the limit that may be charged after the fact. */
  readonly debt?: number;
  /** The most requests in flight that are not critical. */
  readonly open?: number;
  readonly leaseMs?: number;
  /** How long a claim that is done stays stored. */
  readonly keepMs?: number;
  /** The longest wait for a unit, for a shaper. */
  readonly maxWaitMs?: number;
}

/** How a rejection is stored in the denial cache as a few numbers, and repeated without the store. */
export interface DenialMemory {
  /** For how many milliseconds a rejection of `cost` units certainly stays valid; 0 if it can't be cached. */
  holdsMs(rule: Rule, numbers: Numbers, cost: number): number;
  /** Whether a cached rejection of `kept` units also applies to `cost` units. */
  covers(cost: number, kept: number): boolean;
  /** Writes the state in the answer as at most five numbers, starting at index `at`. */
  write(answer: Answer, numbers: Float64Array, at: number): void;
  /** The rejection as the store would return it at `nowUs` of the store's clock. */
  read(rule: Rule, numbers: Float64Array, at: number, nowUs: number): Answer;
}

/**
 * The code that identifies the count of a rule, together with limiter and key. Rules of one limiter share a count only
 * if each can read the other's state unchanged:
 *
 * - buckets with the same tolerance in time, debt included, and the same denominator,
 * - windows and logs with the same window,
 * - limits with a penalty with the same `forgetUs`,
 * - all calendars, all shaper rules, and all permits.
 *
 * A step with a claim uses the count of that id alone: its code is the rule's code, `:` and the id, escaped as in
 * `encodeName`.
 */
export function countOf({ rule, claim }: { readonly rule: Rule; readonly claim?: Claim }): string {
  return claim === undefined ? rule.code : (rule.logic.codeOf?.(rule, claim) ?? rule.code);
}

/** Whether all numbers of two rules are equal. Then they also share a count. */
export function sameRule(a: Rule, b: Rule): boolean {
  const same =
    a.machine === b.machine && a.limit === b.limit && a.code === b.code && a.logic.same(a, b);
  return same && a.soft?.limit === b.soft?.limit;
}

/** The rule that counts and admits what exceeds `rule`; undefined if its algorithm can't. */
export function softRule(rule: Rule): Rule | undefined {
  const soft = rule.logic.soften?.(rule);
  return soft && { ...soft, soft: rule };
}

/** The most units that the rule can admit at once. A higher cost never passes. */
export function capacityOf(rule: Rule): number {
  return rule.logic.capacity(rule);
}

/**
 * The rule for a share of the limit. A rate keeps its limit, and its window grows to window / share, rounded up: 5 per
 * minute at a share of 1/8 becomes 5 per 8 minutes, so eight processes together admit no more than the limit. Permits
 * become limit x share, rounded down, but at least 1.
 */
export function shareOf(rule: Rule, share: number): Rule {
  if (share === 1) return rule;
  return rule.soft ? (softRule(shareOf(rule.soft, share)) as Rule) : rule.logic.share(rule, share);
}
