/** The numbers of a decision about a bucket that waits. */

import { mulAddDiv } from '../../base/exact.js';
import type { QueueAnswer } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type { QueueRule } from '../../contract/rule.js';
import { measureParts, refillTime } from '../bucket/measure.js';

/** `remaining` is what passes without waiting; `retryAfterMs` is until the cost passes, though it may have to wait. */
export function measureQueue(rule: QueueRule, answer: QueueAnswer, cost: number): Numbers {
  const { den, period, waitUs } = rule;
  const { tatUs, tatNum, nowUs } = answer;
  // Rounded up. More than the burst while units are waited for.
  const used = mulAddDiv(Math.max(0, tatUs - nowUs), den, tatNum + period - 1, period);
  const numbers = { ...measureParts(rule, answer, cost, waitUs), used };
  // A pause keeps units back, and a cost of 0 needs none.
  return cost === 0 ? { ...numbers, retryAfterMs: 0 } : numbers;
}

/**
 * How long to wait for units, in milliseconds from `answer.nowUs`, down to one microsecond.
 *
 * With a `cost` of 0: for the unit that was charged last; after a take that was charged, that is its own delay. With
 * another cost: for so many further units, if nobody else comes; `Infinity` above the burst. The wait may be longer
 * than `rule.waitUs`: then the cost does not pass now.
 *
 * @example
 * ```ts run
 * import { memoryStore } from '@spillway/core';
 * import { delayOf, makeShaperRule, type QueueAnswer, type Step } from '@spillway/core/store';
 * import { ManualClock } from '@spillway/core/testing';
 *
 * const rule = makeShaperRule(4, 1_000_000, 1, 30_000_000);
 * const take: Step = { op: 'take', limiter: 'calls', key: 'ada', rule, cost: 1, binding: true };
 * const store = memoryStore({ clock: new ManualClock() });
 * const [first] = store.apply([take]) as readonly [QueueAnswer];
 * const [second] = store.apply([take]) as readonly [QueueAnswer];
 * delayOf(rule, first); // 0
 * delayOf(rule, second); // 250
 * delayOf(rule, second, 1); // 500, for the next one
 * ```
 */
export function delayOf(rule: QueueRule, answer: QueueAnswer, cost = 0): number {
  if (cost > rule.burst) return Infinity;
  const { tatUs, tatNum, nowUs } = answer;
  // Needed after each charge of a shaper, which needs none of the other numbers.
  let us = Math.max(nowUs, tatUs) - nowUs - rule.tolUs;
  let num = (tatUs < nowUs ? 0 : tatNum) - rule.tolNum;
  if (cost > 0) {
    const refill = refillTime(rule, cost);
    us += refill.us;
    num += refill.num;
  }
  // Rounded up; the fraction is above -1 and below 2.
  if (num > 0) us += num > rule.den ? 2 : 1;
  return Math.max(0, us) / 1000;
}
