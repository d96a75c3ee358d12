/** The rule of a token bucket, and its machine. */

import type { BucketRule, Machine } from '../../contract/rule.js';
import { measureBucket } from './measure.js';
import { bucketNumbers, policyOfBucket, sameNumbers } from './numbers.js';
import { receiptOfBucket, restOfBucket } from './receipt.js';
import { bucketRefusals } from './refusal.js';
import { BucketShelf } from './shelf.js';

const bucketMachine: Machine = {
  same: (rule: BucketRule, other: BucketRule) => sameNumbers(rule, other),
  capacity: ({ burst }: BucketRule) => burst,
  share: ({ limit, windowUs, burst }: BucketRule, share) =>
    makeBucketRule(limit, Math.ceil(windowUs / share), burst),
  closed: (rule: BucketRule) => ({ ...rule, limit: 0, burst: 0, tolUs: 0, tolNum: 0 }),
  policy: (name, rule: BucketRule) => policyOfBucket(name, rule),
  declared({ limit, windowUs, burst }: BucketRule) {
    const numbers = { algorithm: 'token-bucket', limit, windowMs: windowUs / 1000 };
    return burst === limit ? numbers : { ...numbers, burst };
  },
  restUs: ({ tolUs }: BucketRule) => tolUs + 1,
  measure: measureBucket,
  receipt: receiptOfBucket,
  rest: restOfBucket,
  merges: true,
  shelf: () => new BucketShelf(),
  refusals: bucketRefusals,
};

/** Numbers as for `makeRule`. */
export function makeBucketRule(limit: number, windowUs: number, declaredBurst: number): BucketRule {
  const numbers = bucketNumbers(limit, windowUs, declaredBurst);
  const { den, tolUs, tolNum } = numbers;
  // Rules with the same tolerance and the same denominator can read each other's state unchanged.
  const fraction = den === 1 ? '' : `.${tolNum.toString(36)}.${den.toString(36)}`;
  const code = `b${tolUs.toString(36)}${fraction}`;
  return { machine: 'bucket', logic: bucketMachine, code, ...numbers };
}
