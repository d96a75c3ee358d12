/** One name, one rule: two limiters that share a store and a name must share their numbers. */

import { SpillwayError } from '../base/errors.js';
import { capacityOf, type Rule, sameRule } from '../contract/rule.js';
import type { Store } from '../contract/store.js';

/** How many names are compared. */
const KEPT = 10_000;

export class Names {
  private readonly rules = new Map<string, Rule>();
  private readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  /**
   * Notes that `name` stands for `rule`, and tells the store.
   *
   * @throws SpillwayError `SPW_NAME_CONFLICT` if it stands for other numbers already.
   */
  claim(name: string, rule: Rule): void {
    const known = this.rules.get(name);
    if (known && !sameRule(known, rule)) {
      throw new SpillwayError(
        'SPW_NAME_CONFLICT',
        `name "${name}" already stands for ${numbers(known)} in this store, and cannot stand for ${numbers(rule)}: give each limit its own name, or both the same numbers and algorithm`,
      );
    }
    // Names are of the configuration, and few. Who makes them of what clients send loses the check, not the memory.
    if (this.rules.size < KEPT) this.rules.set(name, rule);
    this.store.register?.(name, rule);
  }
}

function numbers(rule: Rule): string {
  const { limit, windowMs, open = limit, leaseMs, keepMs, algorithm } = rule.logic.declared(rule);
  if (keepMs !== undefined) return `claims under leases of ${leaseMs} ms, kept for ${keepMs} ms`;
  return windowMs === undefined
    ? `${limit} at once (${open} if not critical, leases of ${leaseMs} ms)`
    : `${limit} per ${windowMs} ms (${algorithm}, at once ${capacityOf(rule)})`;
}
