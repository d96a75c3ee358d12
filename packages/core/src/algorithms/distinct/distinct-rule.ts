import type { LogAnswer } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type { DistinctRule, Machine } from '../../contract/rule.js';
import { ratePolicy } from '../decide.js';
import { DistinctShelf } from './distinct-shelf.js';
import { MAX_ITEMS_PER_STEP } from './distinct-step.js';

export const distinctMachine: Machine = {
  same: (rule: DistinctRule, other: DistinctRule) => rule.windowUs === other.windowUs,
  capacity,
  share: ({ limit, windowUs, logic }: DistinctRule, share) =>
    makeDistinctRule(limit, Math.ceil(windowUs / share), logic),
  policy: (name, rule: DistinctRule) => ratePolicy(name, rule),
  declared: ({ limit, windowUs }: DistinctRule) => ({
    algorithm: 'distinct',
    limit,
    windowMs: windowUs / 1000,
  }),
  expiresAfterUs: ({ windowUs }: DistinctRule) => windowUs,
  measure: measureDistinct,
  receipt: ({ lastUs }: LogAnswer, units) => ({ atUs: lastUs, num: 0, units }),
  merges: true,
  join({ items = [] }, other) {
    const all = [...new Set([...items, ...(other.items ?? [])])];
    return { cost: all.length, items: all };
  },
  shelf: () => new DistinctShelf(),
  // Rejections are not cached: the key may have other items that pass, because they are already counted.
};

/** Makes a rule from checked numbers, as `makeRule` does. `limit` is at most 10,000. */
export function makeDistinctRule(
  limit: number,
  windowUs: number,
  logic: Machine = distinctMachine,
): DistinctRule {
  return { machine: 'distinct', logic, code: `d${windowUs.toString(36)}`, limit, windowUs };
}

function capacity({ limit }: DistinctRule): number {
  return Math.min(limit, MAX_ITEMS_PER_STEP);
}

function measureDistinct(rule: DistinctRule, answer: LogAnswer, cost: number): Numbers {
  const { allowed, used, freesUs, lastUs, nowUs } = answer;
  let retryAfterMs = 0;
  // A step with more items than the limit passes if all of them were counted under a higher limit.
  if (cost > capacity(rule) && !allowed) retryAfterMs = Infinity;
  else if (freesUs >= 0) retryAfterMs = (freesUs + rule.windowUs - nowUs) / 1000;
  return {
    used,
    remaining: Math.max(0, rule.limit - used),
    retryAfterMs,
    resetMs: used > 0 ? (lastUs + rule.windowUs - nowUs) / 1000 : 0,
  };
}
