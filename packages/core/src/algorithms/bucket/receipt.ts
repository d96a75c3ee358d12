/** The receipt of a grant of a bucket, and of what is left of one. */

import { mulDiv } from '../../base/exact.js';
import type { BucketAnswer, Receipt } from '../../contract/ask.js';
import type { BucketRule, QueueRule } from '../../contract/rule.js';

export function receiptOfBucket({ tatUs, tatNum }: BucketAnswer, units: number): Receipt {
  return { atUs: tatUs, num: tatNum, units };
}

/** As if the units that were given back had never been taken. */
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
