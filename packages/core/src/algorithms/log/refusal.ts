/** How the refusal of a log is remembered. */

import type { LogAnswer } from '../../contract/ask.js';
import type { LogRule, RefusalMemory } from '../../contract/rule.js';

export const logRefusals: RefusalMemory = {
  holdsMs({ limit }: LogRule, { used, retryAfterMs, resetMs }, cost) {
    // Entries that end before this cost passes change what is used, and nobody told when they do.
    if (used + cost > limit + 1) return 0;
    // A log that has run empty meanwhile says so, also to a cost that can never pass.
    return resetMs > 0 ? Math.min(retryAfterMs, resetMs) : retryAfterMs;
  },
  /** An answer is about one cost only: which entry must go is not told for another. */
  tells: (cost, kept) => cost === kept,
  write({ used, freesUs, lastUs }: LogAnswer, numbers, at) {
    numbers[at] = used;
    numbers[at + 1] = freesUs;
    numbers[at + 2] = lastUs;
  },
  read(_, numbers, at, nowUs): LogAnswer {
    const used = numbers[at] as number;
    const freesUs = numbers[at + 1] as number;
    return { allowed: false, nowUs, used, freesUs, lastUs: numbers[at + 2] as number };
  },
};
