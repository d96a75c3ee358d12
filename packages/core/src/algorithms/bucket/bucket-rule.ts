import { mulAddDiv, mulDiv } from '../../base/exact.js';
import type { BucketAnswer, Receipt } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type {
  BucketNumbers,
  BucketRule,
  Machine,
  QueueRule,
  Tolerance,
} from '../../contract/rule.js';
import { ratePolicy } from '../decide.js';
import { BucketShelf } from './bucket-shelf.js';

const bucketMachine: Machine = {
  same: (rule: BucketRule, other: BucketRule) => sameNumbers(rule, other),
  capacity: ({ burst }: BucketRule) => burst,
  share: ({ limit, windowUs, burst }: BucketRule, share) =>
    makeBucketRule(limit, Math.ceil(windowUs / share), burst),
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
  merges: true,
  shelf: () => new BucketShelf(),
  denials: {
    holdsMs: (_, { retryAfterMs }) => retryAfterMs,
    covers: (cost, kept) => cost >= kept,
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

/**
 * The longest time that a bucket may take to fill: 2^51 us, 71 years. This bound keeps every instant of a rule below
 * 2^53.
 */
export const MAX_TOLERANCE_US: number = 2 ** 51;

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

/**
 * The numbers of a decision about `cost` units. `waitUs` is how long a taker may wait for units that have not refilled.
 */
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
  const waitUs = cost * period - roomUs;
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
  return Math.max(0, num > 0 ? us + 1 : us);
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
