/** Steps under a small limit, and their keys in Redis. */

import type { Step } from '@spillway/core';
import { makeRule, type Rule } from '@spillway/core/store';

const threePerMinute = makeRule('fixed-window', 3, 60_000_000);

/** The Redis key of what {@link take} counts. */
export function nameOf(key: string, rule: Rule = threePerMinute): string {
  return `spw:1{${key}}api}${rule.code}`;
}

/** A step of one unit under 3 a minute, unless `other` says otherwise. */
export function take(key: string, other: Partial<Step> = {}): Step {
  const rule = threePerMinute;
  return { op: 'take', limiter: 'api', key, rule, cost: 1, binding: true, ...other };
}
