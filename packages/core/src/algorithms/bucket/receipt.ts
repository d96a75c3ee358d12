/** The receipt of a grant of a bucket. */

import type { BucketAnswer, Receipt } from '../../contract/answer.js';

export function receiptOfBucket({ tatUs, tatNum }: BucketAnswer, units: number): Receipt {
  return { atUs: tatUs, num: tatNum, units };
}
