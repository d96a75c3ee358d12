/** The numbers of a bucket: those that its limit, window and burst make. */

import { mulDiv } from '../../base/exact.js';
import type { Policy } from '../../contract/decision.js';
import type { BucketNumbers } from '../../contract/rule.js';

/** The longest time that a bucket may take to fill: 2^51 us, 71 years. It keeps every instant of a rule below 2^53. */
const MAX_TOLERANCE_US: number = 2 ** 51;

/** Numbers as for `makeRule`. */
export function bucketNumbers(
  limit: number,
  windowUs: number,
  declaredBurst: number,
): BucketNumbers {
  const divisor = gcd(limit, windowUs);
  const den = limit / divisor;
  const period = windowUs / divisor;
  // Rounded once, here, and down: a smaller burst never admits more.
  const burst = Math.min(declaredBurst, mulDiv(MAX_TOLERANCE_US, den, period).whole);
  const { whole: tolUs, rest: tolNum } = mulDiv(burst, period, den);
  return { limit, windowUs, burst, den, period, tolUs, tolNum };
}

/** Whether two buckets of the same limit have all other numbers in common too. */
export function sameNumbers(a: BucketNumbers, b: BucketNumbers): boolean {
  return (
    a.windowUs === b.windowUs && a.burst === b.burst && a.tolUs === b.tolUs && a.tolNum === b.tolNum
  );
}

/** The numbers as clients see them. */
export function policyOfBucket(name: string, { limit, windowUs, burst }: BucketNumbers): Policy {
  return { name, unit: 'requests', limit, windowMs: windowUs / 1000, burst };
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
