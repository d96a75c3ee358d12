/** A rule as data: checked integers that any store, in any language, can run. */

import type { Answer, Ask, Claim, Receipt } from './ask.js';
import type { Numbers, Policy } from './decision.js';
import type { Shelf } from './shelf.js';
import type { UpkeepOf } from './upkeep.js';

interface RuleBase {
  /** The code of the rule's algorithm. Stores in other languages ignore it. */
  readonly logic: Machine;
  /**
   * Names the count of this rule, together with the limiter's name and the key: see {@link countOf}. Made with the
   * rule.
   */
  readonly code: string;
}

/** The numbers of a bucket. One unit takes `windowUs / limit` microseconds to refill: exactly `period / den`. */
export interface BucketNumbers {
  /** Units refilled per window, 1 to 10^9. */
  readonly limit: number;
  /** Window in microseconds. */
  readonly windowUs: number;
  /**
   * Units at once: the capacity of the bucket. It is less than the declared burst only where the tolerance would be
   * more than 2^51 us.
   */
  readonly burst: number;
  /** Denominator of all fractions of a microsecond in this rule: limit / gcd(limit, windowUs). */
  readonly den: number;
  /** Microseconds per `den` units: windowUs / gcd(limit, windowUs). */
  readonly period: number;
  /** The tolerance, burst x window / limit, in whole microseconds, rounded down. */
  readonly tolUs: number;
  /** The rest of the tolerance, a numerator over `den`. */
  readonly tolNum: number;
}

/**
 * The token bucket, stored as one instant (the generic cell rate algorithm, ITU-T I.371): the instant at which the
 * bucket will be full again.
 */
export interface BucketRule extends RuleBase, BucketNumbers {
  readonly machine: 'bucket';
}

/**
 * A bucket whose units may wait: one that is not there yet is promised, and its taker is told how long to wait for it.
 * All such rules of one limiter share one count, so that a queue goes on when its numbers are changed.
 */
export interface QueueRule extends RuleBase, BucketNumbers {
  readonly machine: 'queue';
  /** How long a taker may be told to wait, in microseconds: 0 to 400 days. */
  readonly waitUs: number;
  /** The tolerance and `waitUs` together, rounded up: the bucket never stands further ahead of now, or of a pause. */
  readonly spanUs: number;
  /** The time that all but one of `burst` units take to refill, in whole microseconds, rounded down. */
  readonly leadUs: number;
  /** The rest of that time, a numerator over `den`. */
  readonly leadNum: number;
}

/**
 * A count per window. Windows are aligned to the epoch; those that are `anchored` begin when a key without units is
 * charged. With `sliding`, the previous window also counts, for the part of it that is less than one window ago.
 */
export interface WindowRule extends RuleBase {
  readonly machine: 'window';
  readonly limit: number;
  readonly windowUs: number;
  readonly kind: 'fixed' | 'anchored' | 'sliding';
}

/** Every admitted request with its time: exact over any interval, but it stores an entry for each request. */
export interface LogRule extends RuleBase {
  readonly machine: 'log';
  readonly limit: number;
  readonly windowUs: number;
}

/**
 * Permits for requests in progress. Each is held under a lease, which expires unless it is renewed. At most `limit` are
 * held at once, and at most `open` of them by holders that are not critical.
 */
export interface LeasesRule extends RuleBase {
  readonly machine: 'leases';
  /** Permits at once, 1 to 10^9. Critical holders are never refused, so there may be more. */
  readonly limit: number;
  /** Permits at once for holders that are not critical, 0 to `limit`. */
  readonly open: number;
  /** Length of a lease in microseconds. */
  readonly leaseUs: number;
}

/**
 * Claims: each id of a key is claimed by one owner at a time. A claim that runs ends with its lease unless it is
 * renewed; one that is done is kept, so that nobody claims the id again.
 */
export interface ClaimsRule extends RuleBase {
  readonly machine: 'claims';
  /** Always 1. */
  readonly limit: number;
  /** Length of a lease in microseconds, 1 s to 24 h: so long after its owner's last renewal a claim is free again. */
  readonly leaseUs: number;
  /** How long a claim that is done is kept, in microseconds, 1 s to 400 days. */
  readonly keepUs: number;
}

/** A rule about how many units pass over time. */
export type RateRule = BucketRule | WindowRule | LogRule;

/** The numbers of a limit as data, of any algorithm. */
export type Rule = RateRule | QueueRule | LeasesRule | ClaimsRule;

/** The algorithms by the names that metrics, the registry and the command line show. */
export type Algorithm =
  | 'token-bucket'
  | 'fixed-window'
  | 'sliding-window-log'
  | 'sliding-window-counter';

/**
 * Where the windows of `fixed-window` begin. `epoch`: at multiples of the window since 1970, for all keys at once.
 * `first-request`: for each key when it is first charged, and again with the first charge after the end.
 */
export type Anchor = 'epoch' | 'first-request';

/** An algorithm for rates, as the option `algorithm` takes it. */
export interface RateAlgorithm {
  readonly name: Algorithm;
  /**
   * The rule of a limit. The numbers must have been checked: integers, `limit` and `burst` from 1 to 10^9, `windowUs`
   * from 1,000 to 400 days.
   */
  makeRule(limit: number, windowUs: number, burst: number, anchor: Anchor): RateRule;
}

/**
 * All that differs between algorithms. Each rule carries its own machine ({@link RuleBase.logic}), so that a program
 * has the code only of the algorithms that it uses, and an algorithm that forgets one of these members does not
 * compile. A machine is given only rules and answers of its own algorithm.
 */
export interface Machine {
  /** Whether two rules that have the same limit and code have all other numbers in common too. */
  same(rule: Rule, other: Rule): boolean;
  /** The most units that the rule can admit at once. A higher cost never passes. */
  capacity(rule: Rule): number;
  /** The rule for a share of the limit; see `shareOf`. */
  share(rule: Rule, share: number): Rule;
  /** The same rule with room for nothing. */
  closed(rule: Rule): Rule;
  /** The numbers of the rule as clients see them. */
  policy(name: string, rule: Rule): Policy;
  /** The numbers of the rule as operators see them. */
  declared(rule: Rule): DeclaredNumbers;
  /** After so many microseconds without a step, a count is the same as that of a key that was never used. */
  restUs(rule: Rule): number;
  /** What follows from the store's answer to a step of `cost` units. */
  measure(rule: Rule, answer: Answer, cost: number): Numbers;
  /** What a later `put` needs to give back a grant of `units`. */
  receipt(answer: Answer, units: number): Receipt;
  /** The receipt of what is left after `given` units; left out where only the number of units changes. */
  rest?(rule: Rule, receipt: Receipt, given: number): Receipt;
  /** Whether steps of one count are merged into one of their summed cost. Those that name something are not. */
  readonly merges: boolean;
  /** An empty shelf for a store in memory. */
  shelf(): Shelf<Rule>;
  /**
   * True: a step that the store could not answer is refused, unless its `onStoreError` is `allow`, and nothing counts
   * in the store's place. Left out: the step is answered by its `onStoreError`.
   */
  readonly failsClosed?: boolean;
  /**
   * Checks what types do not say of a step, before a store reads any key; left out where there is nothing to check.
   *
   * @throws SpillwayError `SPW_GROUP_INVALID`
   */
  readonly checkStep?: (step: Ask<Rule> & { readonly onStoreError?: unknown }) => void;
  /** The code of the count of one claim; left out where rules have no claims. */
  codeOf?(rule: Rule, claim: Claim): string;
  /** The numbers of the rule in a sentence, where they are no limit per window. */
  described?(rule: Rule): string;
  /** How a refusal is remembered; left out where what refuses may end at any moment. */
  readonly denials?: DenialMemory;
  /** What keeps permits and claims alive; left out where units are held by no request. */
  readonly upkeep?: UpkeepOf<Ask<Rule>>;
}

/** The numbers that a limiter was declared with. */
export interface DeclaredNumbers {
  /**
   * The algorithm as users write it, with `:first-request` behind it for that anchor; `concurrency`: permits for
   * requests in progress; `claims`: idempotency keys. Without spaces: the registry divides its entries by them.
   */
  readonly algorithm: string;
  /** Units per window, or requests in progress at once. */
  readonly limit: number;
  readonly windowMs?: number;
  /** Units at once, for a token bucket whose burst is not its limit. */
  readonly burst?: number;
  /** Of the requests in progress, how many may be requests that are not critical. */
  readonly open?: number;
  readonly leaseMs?: number;
  /** How long a claim that is done is kept. */
  readonly keepMs?: number;
  /** How long a unit may be waited for, for a shaper. */
  readonly maxWaitMs?: number;
}

/** How the refusals of an algorithm are kept as a few numbers, and told again without the store. */
export interface DenialMemory {
  /** For how many milliseconds the refusal of `cost` units is sure to hold; 0: not at all. */
  holdsMs(rule: Rule, numbers: Numbers, cost: number): number;
  /** Whether a refusal of `kept` units tells about `cost` units. */
  tells(cost: number, kept: number): boolean;
  /** Writes the state in the answer: at most five numbers from `at` on. */
  write(answer: Answer, numbers: Float64Array, at: number): void;
  /** The refusal as the store would give it at `nowUs` by its own clock. */
  read(rule: Rule, numbers: Float64Array, at: number, nowUs: number): Answer;
}

/**
 * The code that names the count of a rule, together with limiter and key. Rules of one limiter share a count only if
 * each can read the other's state unchanged: buckets with the same tolerance in time and the same denominator, windows
 * and logs with the same window, all buckets that wait, and all permits.
 *
 * A step with a claim is about the count of its id alone: behind the rule's code stands `:` and the id, escaped as
 * `encodeName` does it.
 */
export function countOf({ rule, claim }: { readonly rule: Rule; readonly claim?: Claim }): string {
  return claim === undefined ? rule.code : (rule.logic.codeOf?.(rule, claim) ?? rule.code);
}

/** Whether two rules have all the same numbers. Then they also have the same count. */
export function sameRule(a: Rule, b: Rule): boolean {
  return a.machine === b.machine && a.limit === b.limit && a.code === b.code && a.logic.same(a, b);
}

/** The most units that the rule can admit at once. A higher cost never passes. */
export function capacityOf(rule: Rule): number {
  return rule.logic.capacity(rule);
}

/**
 * The rule for a share of the limit. A rate keeps its limit, and its window grows to window / share, rounded up: 5 per
 * minute at a share of 1/8 becomes 5 per 8 minutes, so that eight processes together admit no more than the limit.
 * Permits become limit x share, rounded down, but at least one.
 */
export function shareOf(rule: Rule, share: number): Rule {
  return share === 1 ? rule : rule.logic.share(rule, share);
}
