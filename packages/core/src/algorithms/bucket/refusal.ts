/** How the refusal of a bucket is remembered: it holds until the cost passes. */

import type { BucketAnswer } from '../../contract/ask.js';
import type { RefusalMemory } from '../../contract/rule.js';

export const bucketRefusals: RefusalMemory = {
  holdsMs: (_, { retryAfterMs }) => retryAfterMs,
  tells: (cost, kept) => cost >= kept,
  write({ tatUs, tatNum }: BucketAnswer, numbers, at) {
    numbers[at] = tatUs;
    numbers[at + 1] = tatNum;
  },
  read(_, numbers, at, nowUs): BucketAnswer {
    const tatUs = numbers[at] as number;
    return { allowed: false, nowUs, tatUs, tatNum: numbers[at + 1] as number };
  },
};
