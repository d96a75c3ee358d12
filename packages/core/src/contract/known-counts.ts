/** What a store was told of: for each limiter the rules under which it counts, one for each code. */

import { countOf, type Rule } from './rule.js';
import type { Step } from './store.js';

/**
 * Codes kept for each limiter: a limit function may make any number. The oldest but one makes room: the first was
 * declared.
 */
export const MAX_CODES = 64;

/** Limiters kept; names stand in code, so there are few. The oldest makes room. */
export const MAX_LIMITERS = 1_000;

/** Made by a store, told by its `register`, asked by its `reset`. */
export class KnownCounts {
  private readonly limiters = new Map<string, Map<string, Rule>>();

  /** Notes a rule; whether its code is new. */
  note(limiter: string, rule: Rule): boolean {
    let rules = this.limiters.get(limiter);
    if (!rules) {
      if (this.limiters.size >= MAX_LIMITERS) {
        const [oldest] = this.limiters.keys();
        this.limiters.delete(oldest as string);
      }
      rules = new Map();
      this.limiters.set(limiter, rules);
    }
    const code = countOf({ rule });
    if (rules.has(code)) return false;
    if (rules.size >= MAX_CODES) dropSecond(rules);
    rules.set(code, rule);
    return true;
  }

  /** By limiter, its rules: first the one that it was declared with. */
  *entries(): Generator<[limiter: string, rules: readonly Rule[]]> {
    for (const [limiter, rules] of this.limiters) yield [limiter, [...rules.values()]];
  }

  /** The steps that a `reset` needs beside itself: one for each other count of its limiter. */
  otherResets(step: Step): Step[] {
    const own = countOf(step);
    const others: Step[] = [];
    for (const [code, rule] of this.limiters.get(step.limiter) ?? []) {
      if (code !== own) others.push({ ...step, rule });
    }
    return others;
  }
}

function dropSecond(rules: Map<string, Rule>): void {
  const codes = rules.keys();
  codes.next();
  const { value } = codes.next();
  if (value !== undefined) rules.delete(value);
}
