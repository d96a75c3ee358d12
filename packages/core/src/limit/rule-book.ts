/** The rules of one limiter by their limit, for limits that differ from request to request. */

import type { Policy } from '../decision.js';
import { type Rule, shareOf } from '../rule.js';
import { policyOf } from './decide.js';

/** All that follows from a limit. */
export interface Page {
  readonly rule: Rule;
  /** The rule for this process alone, when the store fails. */
  readonly local: Rule;
  readonly policy: Policy;
}

/** How many limits that a function returned are kept ready. */
const KEPT = 256;

export class RuleBook {
  private readonly pages = new Map<number, Page>();

  constructor(
    private readonly name: string,
    private readonly localShare: number,
    private readonly make: (limit: number) => Rule,
  ) {}

  page(limit: number): Page {
    let page = this.pages.get(limit);
    if (!page) {
      const rule = this.make(limit);
      page = { rule, local: shareOf(rule, this.localShare), policy: policyOf(this.name, rule) };
      if (this.pages.size >= KEPT) this.pages.clear();
      this.pages.set(limit, page);
    }
    return page;
  }
}
