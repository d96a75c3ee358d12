/** The rule of a bucket that waits, and its machine. */

import { mulDiv } from '../../base/exact.js';
import type { Machine, QueueRule } from '../../contract/rule.js';
import { bucketNumbers, policyOfBucket, sameNumbers } from '../bucket/numbers.js';
import { receiptOfBucket, restOfBucket } from '../bucket/receipt.js';
import { measureQueue } from './measure.js';
import { QueueShelf } from './shelf.js';
import { MAX_HOLD_US } from './step.js';

const queueMachine: Machine = {
  same: (rule: QueueRule, other: QueueRule) =>
    rule.waitUs === other.waitUs && sameNumbers(rule, other),
  capacity: ({ burst }: QueueRule) => burst,
  share: ({ limit, windowUs, burst, waitUs }: QueueRule, share) =>
    makeShaperRule(limit, Math.ceil(windowUs / share), burst, waitUs),
  closed: (rule: QueueRule) => ({ ...rule, limit: 0, burst: 0, tolUs: 0, tolNum: 0 }),
  policy: (name, rule: QueueRule) => policyOfBucket(name, rule),
  declared: ({ limit, windowUs, burst, waitUs }: QueueRule) => ({
    algorithm: 'shaper',
    limit,
    windowMs: windowUs / 1000,
    burst,
    maxWaitMs: waitUs / 1000,
  }),
  restUs: ({ spanUs }: QueueRule) => MAX_HOLD_US + spanUs,
  measure: measureQueue,
  receipt: receiptOfBucket,
  rest: restOfBucket,
  // Its refusals are not remembered: whoever gives back the last slot may end one at any moment.
  merges: true,
  shelf: () => new QueueShelf(),
};

/**
 * Makes the rule of a bucket that waits: `limit` units per `windowUs`, at most `burst` of them at once. The numbers
 * must have been checked, as for `makeRule`; `waitUs`, how long a taker may be told to wait, is an integer from 0 to
 * 400 days in microseconds. With 0 it decides as a token bucket does.
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
  // One count whatever the numbers: its state says how far ahead it may stand.
  return { machine: 'queue', logic: queueMachine, code: 'q', ...numbers, ...times, ...leads };
}
