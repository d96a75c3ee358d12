/** The token bucket, stored as one instant: see docs/algorithms.md. As text, as in Redis: `us` or `us:num`. */

import { mulAddDiv, mulDiv } from '../base/exact.js';
import type { Ask, Receipt } from '../contract/ask.js';
import type { Numbers } from '../contract/decision.js';
import type {
  BucketAnswer,
  BucketNumbers,
  BucketRule,
  Machine,
  QueueRule,
  Shelf,
  ShelfStep,
  Tolerance,
} from '../contract/rule.js';
import { MAX_TOLERANCE_US, ratePolicy, windowOf } from './decide.js';
import { givenBack, unitsOf } from './receipt.js';
import { KeySlots } from './shelves/flat-table.js';
import { numbersOf, type TextForm, unknownFormat } from './stored-count.js';

export const bucketMachine: Machine = {
  same: (rule: BucketRule, other: BucketRule) => sameNumbers(rule, other),
  capacity: ({ burst }: BucketRule) => burst,
  share: ({ limit, windowUs, burst }: BucketRule, share) =>
    makeBucketRule(limit, windowOf(windowUs, share), burst),
  // With `overage`, at most burst + limit units count, so a caller that stops is back within its burst after one
  // window.
  soften: ({ limit, windowUs, burst }: BucketRule) =>
    makeBucketRule(limit, windowUs, burst + limit),
  policy: (name, rule: BucketRule) => ratePolicy(name, rule),
  declared({ limit, windowUs, burst }: BucketRule) {
    const numbers = { algorithm: 'token-bucket', limit, windowMs: windowUs / 1000 };
    return burst === limit ? numbers : { ...numbers, burst };
  },
  expiresAfterUs: ({ tolUs }: BucketRule) => tolUs + 1,
  measure: measureBucket,
  receipt: receiptOfBucket,
  rest: restOfBucket,
  shelf: () => new BucketShelf(),
  denials: {
    holdsMs: (_, { retryAfterMs }) => retryAfterMs,
    write({ tatUs, tatNum }: BucketAnswer, numbers, at) {
      numbers[at] = tatUs;
      numbers[at + 1] = tatNum;
    },
    read(_, numbers, at, nowUs): BucketAnswer {
      const tatUs = numbers[at] as number;
      return { allowed: false, nowUs, tatUs, tatNum: numbers[at + 1] as number };
    },
  },
};

export function makeBucketRule(limit: number, windowUs: number, declaredBurst: number): BucketRule {
  const numbers = bucketNumbers(limit, windowUs, declaredBurst);
  const code = bucketCode(numbers, numbers.den);
  return { machine: 'bucket', logic: bucketMachine, code, ...numbers };
}

/** The code of a bucket rule. Rules with the same code can read each other's stored state unchanged. */
export function bucketCode({ tolUs, tolNum }: Tolerance, den: number): string {
  const fraction = den === 1 ? '' : `.${tolNum.toString(36)}.${den.toString(36)}`;
  return `b${tolUs.toString(36)}${fraction}`;
}

export function bucketNumbers(
  limit: number,
  windowUs: number,
  declaredBurst: number,
): BucketNumbers {
  const divisor = gcd(limit, windowUs);
  const den = limit / divisor;
  const period = windowUs / divisor;
  // Only the burst is rounded. It is rounded down, because a smaller burst never admits more.
  const burst = Math.min(declaredBurst, mulDiv(MAX_TOLERANCE_US, den, period).whole);
  const { whole: tolUs, rest: tolNum } = mulDiv(burst, period, den);
  return { limit, windowUs, burst, den, period, tolUs, tolNum };
}

export function sameNumbers(a: BucketNumbers, b: BucketNumbers): boolean {
  return (
    a.windowUs === b.windowUs && a.burst === b.burst && a.tolUs === b.tolUs && a.tolNum === b.tolNum
  );
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

function measureBucket(rule: BucketRule, answer: BucketAnswer, cost: number): Numbers {
  return rule.den === 1 && cost <= rule.burst
    ? measureWhole(rule, answer, cost)
    : measureParts(rule, answer, cost, 0);
}

/** The time that `cost` units take to refill, as whole microseconds and a numerator over `rule.den`. */
export function refillTime(rule: BucketNumbers, cost: number): { us: number; num: number } {
  // A cost above the burst never passes, so any time above the tolerance is right. This one avoids large numbers.
  if (cost > rule.burst) return { us: rule.tolUs + 1, num: 0 };
  const { whole, rest } = mulDiv(cost, rule.period, rule.den);
  return { us: whole, num: rest };
}

/** How many whole units refill in `us + num / den` microseconds. `num` may be negative. */
export function unitsRefilled({ den, period }: BucketNumbers, us: number, num: number): number {
  return mulAddDiv(us, den, num, period);
}

/** `waitUs` is how long a taker may wait for units that have not refilled. */
export function measureParts(
  rule: BucketNumbers,
  answer: BucketAnswer,
  cost: number,
  waitUs: number,
): Numbers {
  const { den } = rule;
  const full = answer.tatUs < answer.nowUs;
  const debtUs = full ? 0 : answer.tatUs - answer.nowUs;
  const debtNum = full ? 0 : answer.tatNum;

  let roomUs = rule.tolUs - debtUs;
  let roomNum = rule.tolNum - debtNum;
  if (roomNum < 0) {
    roomUs -= 1;
    roomNum += den;
  }
  const remaining = roomUs < 0 ? 0 : mulAddDiv(roomUs, den, roomNum, rule.period);
  return {
    used: rule.burst - remaining,
    remaining,
    retryAfterMs:
      cost > rule.burst ? Infinity : waitForRefill(rule, cost, roomUs + waitUs, roomNum) / 1000,
    resetMs: (debtUs + (debtNum > 0 ? 1 : 0)) / 1000,
  };
}

/**
 * The units that have not refilled yet, rounded up. They exceed the burst while takers wait or the bucket is in debt.
 */
export function unitsUsed({ den, period }: BucketNumbers, answer: BucketAnswer): number {
  const { nowUs, tatUs, tatNum } = answer;
  return tatUs < nowUs ? 0 : mulAddDiv(tatUs - nowUs, den, tatNum + period - 1, period);
}

/** A faster {@link measureParts} for units that refill in whole microseconds. It is short enough to be inlined. */
function measureWhole(rule: BucketRule, answer: BucketAnswer, cost: number): Numbers {
  const { period } = rule;
  const debtUs = Math.max(0, answer.tatUs - answer.nowUs);
  const roomUs = rule.tolUs - debtUs;
  const waitUs = cost && cost * period - roomUs;
  const remaining = roomUs < 0 ? 0 : Math.floor(roomUs / period);
  return {
    used: rule.burst - remaining,
    remaining,
    retryAfterMs: waitUs > 0 ? waitUs / 1000 : 0,
    resetMs: debtUs / 1000,
  };
}

/** Microseconds until `cost` units pass, rounded up: their refill time minus `roomUs + roomNum / rule.den`. */
function waitForRefill(rule: BucketNumbers, cost: number, roomUs: number, roomNum: number): number {
  const refill = refillTime(rule, cost);
  const us = refill.us - roomUs;
  const num = refill.num - roomNum;
  // A cost of 0 passes, also in debt, and beyond the burst with `overage`.
  return cost && Math.max(0, num > 0 ? us + 1 : us);
}

export function receiptOfBucket({ tatUs, tatNum }: BucketAnswer, units: number): Receipt {
  return { atUs: tatUs, num: tatNum, units };
}

export function restOfBucket(
  { period, den }: BucketRule | QueueRule,
  { atUs, num, units }: Receipt,
  given: number,
): Receipt {
  const { whole, rest } = mulDiv(given, period, den);
  const borrows = num < rest;
  const us = atUs - whole - (borrows ? 1 : 0);
  return { atUs: us, num: num - rest + (borrows ? den : 0), units: units - given };
}

/** The bucket is full again at `tatUs + tatNum / rule.den`; if that is in the past, it is full. */
export interface BucketState {
  tatUs: number;
  tatNum: number;
  forgiven: number | undefined;
}

/**
 * Applies `ask` to `state`, in place. Returns whether its cost passes or, for a `put`, whether anything was given back.
 * If `charge` is false, a `take` charges nothing, because another step of its group was rejected. If the clock went
 * back, `state` is corrected first; the caller stores the correction only if {@link mayWrite} returns true.
 *
 * The charge of a bucket is implemented four times. If you change one, change all: this function, takeWhole below, and
 * bucket.lua and takes.lua in packages/redis/src/algorithms/bucket.
 */
function stepBucket(
  ask: Ask<BucketRule>,
  state: BucketState,
  nowUs: number,
  charge: boolean,
): boolean {
  const { op, rule, cost, receipt } = ask;
  state.forgiven = undefined;
  if (op === 'put') return putBucket(rule, state, cost, nowUs, receipt);
  if (op === 'reset') {
    state.tatUs = 0;
    state.tatNum = 0;
    return true;
  }
  clamp(rule, state, nowUs);
  if (cost === 0) return true;

  const full = state.tatUs < nowUs;
  let us = full ? nowUs : state.tatUs;
  let num = full ? 0 : state.tatNum;
  const { den } = rule;
  if (cost > rule.burst) {
    us = nowUs + rule.tolUs + 1; // a cost above the burst never passes; this avoids an overflow
  } else if (den === 1) {
    us += cost * rule.period;
  } else {
    const refill = mulDiv(cost, rule.period, den);
    us += refill.whole;
    num += refill.rest;
    if (num >= den) {
      us += 1;
      num -= den;
    }
  }

  const latestUs = nowUs + rule.tolUs; // the instant of an empty bucket
  const passes = us < latestUs || (us === latestUs && num <= rule.tolNum);
  const charges = op === 'record' || (op === 'take' && passes && charge);
  if (charges && rule.logic.chargeDebt) {
    rule.logic.chargeDebt(ask, state, nowUs);
  } else if (charges) {
    state.tatUs = passes ? us : latestUs;
    state.tatNum = passes ? num : rule.tolNum;
  }
  return passes;
}

function bucketAnswer(state: BucketState, nowUs: number, allowed: boolean): BucketAnswer {
  const { tatUs, tatNum, forgiven } = state;
  const answer = { allowed, nowUs, tatUs, tatNum };
  // Without debt, all answers have the same shape, so they are read faster.
  return forgiven ? { ...answer, forgiven } : answer;
}

/** `allowed`: see {@link stepBucket}. A `reset` may; a `look`, a cost of 0 and a `put` of nothing may not. */
function mayWrite({ op, cost }: Ask<BucketRule>, allowed: boolean): boolean {
  return op === 'reset' || (cost > 0 && op !== 'look' && (op !== 'put' || allowed));
}

/** If the clock went back, sets the bucket to the emptiest state that burst and debt allow. */
function clamp(rule: BucketRule, state: BucketState, nowUs: number): void {
  const { tolUs, tolNum } = rule.deepest ?? rule;
  const latestUs = nowUs + tolUs;
  if (state.tatUs > latestUs || (state.tatUs === latestUs && state.tatNum > tolNum)) {
    state.tatUs = latestUs;
    state.tatNum = tolNum;
  }
}

/** Gives back what has not refilled since; nothing if the bucket was full in between. */
function putBucket(
  rule: BucketRule,
  state: BucketState,
  cost: number,
  nowUs: number,
  receipt: Receipt | undefined,
): boolean {
  clamp(rule, state, nowUs);
  if (receipt === undefined || state.tatUs < nowUs) return false;
  const refill = mulDiv(givenBack(cost, receipt), rule.period, rule.den);
  let giveUs = refill.whole;
  let giveNum = refill.rest;
  const leftUs = receipt.atUs - nowUs;
  if (leftUs < giveUs || (leftUs === giveUs && receipt.num < giveNum)) {
    giveUs = leftUs;
    giveNum = receipt.num;
  }
  if (giveUs < 0 || (giveUs === 0 && giveNum === 0)) return false;
  if (state.tatUs === nowUs && state.tatNum === 0) return false;
  state.tatUs -= giveUs;
  state.tatNum -= giveNum;
  if (state.tatNum < 0) {
    state.tatUs -= 1;
    state.tatNum += rule.den;
  }
  if (state.tatUs < nowUs || (state.tatUs === nowUs && state.tatNum === 0)) {
    // The state of an unused bucket, which stays full even if the clock goes back.
    state.tatUs = 0;
    state.tatNum = 0;
  }
  return true;
}

/**
 * Charges a bucket for a `record`, or for a `take` that passes. Units beyond burst and debt are not charged. A store
 * that receives only the numbers of a rule with debt must add this function to the rule's `logic`.
 *
 * @param nowUs the store's clock
 * @example
 * ```ts run
 * import { chargeDebt, makeRule, type Rule } from '@spillway/core/store';
 *
 * const { logic, ...numbers } = makeRule('token-bucket', 10, 1_000_000);
 * const deepest = { tolUs: 2_000_000, tolNum: 0 };
 * const rule = { ...numbers, debt: 10, deepest, logic: { ...logic, chargeDebt } } as Rule;
 * rule.logic.chargeDebt === chargeDebt; // true
 * ```
 */
export function chargeDebt(ask: Ask<BucketRule>, state: BucketState, nowUs: number): void {
  const { rule } = ask;
  const { tolUs, tolNum } = rule.deepest ?? rule;
  const isFull = state.tatUs < nowUs;
  const us = isFull ? nowUs : state.tatUs;
  const num = isFull ? 0 : state.tatNum;
  const units = unitsOf(ask);
  const room = unitsRefilled(rule, nowUs + tolUs - us, tolNum - num);
  if (units > room) {
    state.tatUs = nowUs + tolUs;
    state.tatNum = tolNum;
    state.forgiven = units - room;
    return;
  }
  const { whole, rest } = mulDiv(units, rule.period, rule.den);
  const sum = num + rest;
  const carry = sum >= rule.den ? 1 : 0;
  state.tatUs = us + whole + carry;
  state.tatNum = sum - carry * rule.den;
}

/**
 * Token buckets in memory. A slot stores the instant at which its bucket is full, and the numerator of that instant.
 * The table allocates numerators only if a rule needs fractions of a microsecond.
 */
export class BucketShelf implements Shelf<BucketRule, BucketState> {
  readonly grows = false;
  private readonly keys = new KeySlots(1);
  private readonly table = this.keys.table;
  private readonly state: BucketState = { tatUs: 0, tatNum: 0, forgiven: undefined };
  private slot = -1;

  get size(): number {
    return this.table.size;
  }

  find({ limiter, rule, key }: Ask<BucketRule>, nowUs: number): BucketState | undefined {
    return this.load(this.slotOf(limiter, rule, key, nowUs));
  }

  /** The slot of a key, or -1 if the key has none. Valid until a method other than {@link load} is called. */
  slotOf(limiter: string, rule: BucketRule, key: string, nowUs: number): number {
    return this.keys.findSlot(limiter, rule, key, nowUs);
  }

  load(slot: number): BucketState | undefined {
    this.slot = slot;
    if (slot < 0) return undefined;
    const { state, table } = this;
    state.tatUs = table.timeAt(slot);
    state.tatNum = table.numberAt(slot, 0);
    return state;
  }

  step({ ask, nowUs, charge, count, other }: ShelfStep<BucketRule, BucketState>): BucketAnswer {
    const { state, table } = this;
    if (!count) {
      state.tatUs = other ? other.tatUs : 0;
      state.tatNum = other ? other.tatNum : 0;
    }
    const { tatUs, tatNum } = state;
    const allowed = stepBucket(ask, state, nowUs, charge);
    const changed = state.tatUs !== tatUs || state.tatNum !== tatNum;
    if (changed && mayWrite(ask, allowed)) {
      const at = count ? this.slot : this.keys.addSlot(nowUs);
      table.setTime(at, state.tatUs);
      table.setNumber(at, 0, state.tatNum);
    }
    return bucketAnswer(state, nowUs, allowed);
  }

  isPlain(rule: BucketRule, cost: number): boolean {
    const whole = rule.den === 1 && cost > 0 && cost <= rule.burst;
    return whole && rule.deepest === undefined && this.table.isBare;
  }

  /**
   * A {@link step} for the usual take, whose units refill in whole microseconds. It is a quarter faster.
   *
   * If you change this, change its other three implementations: see {@link stepBucket}.
   */
  takeWhole(slot: number, rule: BucketRule, cost: number, nowUs: number): BucketAnswer {
    const brimUs = nowUs + rule.tolUs;
    const clampedUs = Math.min(this.table.timeAt(slot), brimUs);
    const chargedUs = Math.max(clampedUs, nowUs) + cost * rule.period;
    const allowed = chargedUs <= brimUs;
    const tatUs = allowed ? chargedUs : clampedUs;
    this.table.setTime(slot, tatUs);
    return { allowed, nowUs, tatUs, tatNum: 0 };
  }

  expiresAtUs(_: BucketRule, { tatUs }: BucketAnswer): number {
    return tatUs + 1;
  }

  reclaim(nowUs: number): void {
    this.table.reclaim(nowUs);
  }

  spread(key: string, counts: number): number {
    return this.keys.spread(key, counts);
  }
}

const FORM = /^(\d+)(?::(\d+))?$/;

export const bucketForm: TextForm<BucketState & { dirty: boolean }> = {
  unused: () => ({ dirty: false, tatUs: 0, tatNum: 0, forgiven: undefined }),
  read(text, { den }: BucketRule) {
    const [tatUs = 0, tatNum = 0] = numbersOf(text, FORM);
    if (tatNum >= den) throw unknownFormat();
    return { dirty: false, tatUs, tatNum, forgiven: undefined };
  },
  step(ask: Ask<BucketRule>, state, nowUs, charge) {
    const { tatUs, tatNum } = state;
    const allowed = stepBucket(ask, state, nowUs, charge);
    const differs = state.tatUs !== tatUs || state.tatNum !== tatNum;
    state.dirty = ask.op === 'reset' || (differs && mayWrite(ask, allowed));
    return bucketAnswer(state, nowUs, allowed);
  },
  expiresUs: ({ tatUs, tatNum }) => tatUs + (tatNum > 0 ? 1 : 0),
  text: ({ tatUs, tatNum }) => (tatNum === 0 ? `${tatUs}` : `${tatUs}:${tatNum}`),
};
