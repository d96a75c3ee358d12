import { mulDiv } from '../../base/exact.js';
import type { Answer, Ask, QueueAnswer } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type { Machine, QueueRule, Rule } from '../../contract/rule.js';
import {
  bucketNumbers,
  measureParts,
  receiptOfBucket,
  refillTime,
  restOfBucket,
  sameNumbers,
  unitsUsed,
} from '../bucket/bucket-rule.js';
import { ratePolicy } from '../decide.js';
import { QueueShelf } from './queue-shelf.js';
import { MAX_HOLD_US } from './queue-step.js';

/**
 * The queue of a shaper. It calculates like the token bucket, but is separate, because a bucket that can wait would
 * make every limiter slower. A `put` refunds only the latest grant, because refunding an earlier one would change waits
 * that were promised.
 */
const queueMachine: Machine = {
  same: (rule: QueueRule, other: QueueRule) =>
    rule.waitUs === other.waitUs && sameNumbers(rule, other),
  capacity: ({ burst }: QueueRule) => burst,
  share: ({ limit, windowUs, burst, waitUs }: QueueRule, share) =>
    makeShaperRule(limit, Math.ceil(windowUs / share), burst, waitUs),
  policy: (name, rule: QueueRule) => ratePolicy(name, rule),
  declared: ({ limit, windowUs, burst, waitUs }: QueueRule) => ({
    algorithm: 'shaper',
    limit,
    windowMs: windowUs / 1000,
    burst,
    maxWaitMs: waitUs / 1000,
  }),
  expiresAfterUs: ({ spanUs }: QueueRule) => MAX_HOLD_US + spanUs,
  measure: measureQueue,
  receipt: receiptOfBucket,
  heldUs: ({ nowUs, pausedUntilUs }: QueueAnswer) => pausedUntilUs && pausedUntilUs - nowUs,
  rest: restOfBucket,
  startTogether,
  // Rejections are not cached: a `put` of the last slot may end a rejection at any moment.
  merges: true,
  shelf: () => new QueueShelf(),
};

/**
 * Makes the rule of a shaper's queue: `limit` units per `windowUs`, at most `burst` of them at once. The numbers must
 * have been checked, as for `makeRule`. `waitUs`, the longest wait of a taker, is an integer from 0 to 400 days in
 * microseconds. With 0 the rule decides like a token bucket.
 */
export function makeShaperRule(
  limit: number,
  windowUs: number,
  burst: number,
  waitUs: number,
): QueueRule {
  const numbers = bucketNumbers(limit, windowUs, burst);
  const { tolUs, tolNum, period, den } = numbers;
  const lead = mulDiv(numbers.burst - 1, period, den);
  const times = { waitUs, spanUs: tolUs + (tolNum > 0 ? 1 : 0) + waitUs };
  const leads = { leadUs: lead.whole, leadNum: lead.rest };
  // All rules of a limiter share one count: its state contains the numbers that other rules need to read it.
  return { machine: 'queue', logic: queueMachine, code: 'q', ...numbers, ...times, ...leads };
}

/**
 * The numbers of a decision about `cost` units. `remaining` units pass without waiting. After `retryAfterMs` the cost
 * passes, but may still have to wait.
 */
function measureQueue(rule: QueueRule, answer: QueueAnswer, cost: number): Numbers {
  const numbers = {
    ...measureParts(rule, answer, cost, rule.waitUs),
    used: unitsUsed(rule, answer),
  };
  return cost === 0 ? { ...numbers, retryAfterMs: 0 } : numbers;
}

/**
 * How long to wait for units, in milliseconds from `answer.nowUs`, with a resolution of one microsecond.
 *
 * - With a `cost` of 0, it is the wait for the unit charged last. After a charged take, that is the delay of this take.
 * - With a higher `cost`, it is the wait for that many further units if there are no other takes. It is `Infinity` for
 *   a cost above the burst. A wait longer than `rule.waitUs` means that the cost doesn't pass now.
 *
 * @example
 * ```ts run
 * import { delayOf, makeShaperRule } from '@spillway/core/store';
 *
 * const rule = makeShaperRule(4, 1_000_000, 1, 30_000_000);
 * const taken = { allowed: true, nowUs: 0, tatUs: 500_000, tatNum: 0, pausedUntilUs: 0 };
 * delayOf(rule, taken); // 250
 * ```
 */
export function delayOf(rule: QueueRule, answer: QueueAnswer, cost = 0): number {
  if (cost > rule.burst) return Infinity;
  const { tatUs, tatNum, nowUs } = answer;
  // Doesn't use `measure`, because a shaper calls this after each charge and needs no other number.
  let us = Math.max(nowUs, tatUs) - nowUs - rule.tolUs;
  let num = (tatUs < nowUs ? 0 : tatNum) - rule.tolNum;
  if (cost > 0) {
    const refill = refillTime(rule, cost);
    us += refill.us;
    num += refill.num;
  }
  // Rounds up. The fraction is above -1 and below 2.
  if (num > 0) us += num > rule.den ? 2 : 1;
  return Math.max(0, us) / 1000;
}

type Binding = Ask<Rule> & { readonly binding: boolean };

function startTogether<S extends Binding>(
  steps: readonly S[],
  judge: (step: S, place: number) => Answer,
): readonly S[] {
  const isTogether = ({ op, together, binding, cost, rule }: S): boolean =>
    together === true && op === 'take' && binding && cost > 0 && rule.machine === 'queue';
  const byKey = new Map<string, number[]>();
  for (const [place, step] of steps.entries()) {
    if (!isTogether(step)) continue;
    const { key, rule, cost } = step as Ask<QueueRule>;
    const answer = judge(step, place) as QueueAnswer;
    const us = Math.round(delayOf(rule, answer, cost) * 1000);
    // A cost above the burst never passes, so its group is rejected, and its start doesn't matter.
    byKey.set(key, [...(byKey.get(key) ?? []), us === Infinity ? 0 : answer.nowUs + us]);
  }
  return steps.map((step) => {
    const starts = isTogether(step) ? (byKey.get(step.key) ?? []) : [];
    return starts.length > 1 ? { ...step, startUs: Math.max(...starts) } : step;
  });
}
