/** The rule of a token bucket, and its machine. */

import { mulDiv } from '../../base/exact.js';
import type { BucketRule, Machine } from '../../contract/rule.js';
import { measureBucket } from './measure.js';
import { receiptOfBucket } from './receipt.js';
import { bucketRefusals } from './refusal.js';
import { BucketShelf } from './shelf.js';

/** The longest time that a bucket may take to fill: 2^51 us, 71 years. It keeps every instant of a rule below 2^53. */
const MAX_TOLERANCE_US: number = 2 ** 51;

const bucketMachine: Machine = {
  same(rule: BucketRule, other: BucketRule) {
    return (
      rule.windowUs === other.windowUs &&
      rule.burst === other.burst &&
      rule.tolUs === other.tolUs &&
      rule.tolNum === other.tolNum
    );
  },
  capacity: ({ burst }: BucketRule) => burst,
  share: ({ limit, windowUs, burst }: BucketRule, share) =>
    makeBucketRule(limit, Math.ceil(windowUs / share), burst),
  closed: (rule: BucketRule) => ({ ...rule, limit: 0, burst: 0, tolUs: 0, tolNum: 0 }),
  policy: (name, { limit, windowUs, burst }: BucketRule) => ({
    name,
    unit: 'requests',
    limit,
    windowMs: windowUs / 1000,
    burst,
  }),
  declared({ limit, windowUs, burst }: BucketRule) {
    const numbers = { algorithm: 'token-bucket', limit, windowMs: windowUs / 1000 };
    return burst === limit ? numbers : { ...numbers, burst };
  },
  restUs: ({ tolUs }: BucketRule) => tolUs + 1,
  measure: measureBucket,
  receipt: receiptOfBucket,
  merges: true,
  shelf: () => new BucketShelf(),
  refusals: bucketRefusals,
};

/** Numbers as for `makeRule`. */
export function makeBucketRule(limit: number, windowUs: number, declaredBurst: number): BucketRule {
  const divisor = gcd(limit, windowUs);
  const den = limit / divisor;
  const period = windowUs / divisor;
  // Rounded once, here, and down: a smaller burst never admits more.
  const burst = Math.min(declaredBurst, mulDiv(MAX_TOLERANCE_US, den, period).whole);
  const tolerance = mulDiv(burst, period, den);
  // Rules with the same tolerance and the same denominator can read each other's state unchanged.
  const fraction = den === 1 ? '' : `.${tolerance.rest.toString(36)}.${den.toString(36)}`;
  return {
    machine: 'bucket',
    logic: bucketMachine,
    code: `b${tolerance.whole.toString(36)}${fraction}`,
    limit,
    windowUs,
    burst,
    den,
    period,
    tolUs: tolerance.whole,
    tolNum: tolerance.rest,
  };
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
