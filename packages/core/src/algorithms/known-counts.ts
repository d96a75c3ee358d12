import { countOf, type Rule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';

/** The most rules of a limiter. The oldest, which is declared, stays; a new one replaces the second oldest. */
export const MAX_CODES = 64;

/** The most limiters; a new one replaces the oldest. Apps have few limiters, because names are constants in code. */
export const MAX_LIMITERS = 1_000;

/** The rules that each limiter has registered with a store, one for each code (see `countOf`). */
export class KnownCounts {
  private readonly limiters = new Map<string, Map<string, Rule>>();

  /** Adds a rule. Returns whether its code is new. */
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
    if (rules.size >= MAX_CODES) {
      const [, second] = rules.keys();
      rules.delete(second as string);
    }
    rules.set(code, rule);
    return true;
  }

  /** Each limiter with its rules; the first rule is the declared one. */
  *entries(): Generator<[limiter: string, rules: readonly Rule[]]> {
    for (const [limiter, rules] of this.limiters) yield [limiter, [...rules.values()]];
  }

  /** For a `reset`, the steps that reset the same key under the limiter's other rules. */
  otherResets(step: Step): Step[] {
    // With a claim, `reset` deletes only that claim, not the counts of its key.
    if (step.claim) return [];
    const own = countOf(step);
    const others: Step[] = [];
    for (const [code, rule] of this.limiters.get(step.limiter) ?? []) {
      if (code !== own) others.push({ ...step, rule });
    }
    return others;
  }
}
