/** One name, one rule: two limiters that share a store and a name must share their numbers. */

import { SpillwayError } from '../base/errors.js';
import { capacityOf, type Rule, sameRule } from '../contract/rule.js';
import type { Store } from '../contract/store.js';

/** How many names are compared. */
const KEPT = 10_000;

const namesOf = new WeakMap<Store, Map<string, Rule>>();

/**
 * Notes that `name` stands for `rule` in `store`, and tells the store.
 *
 * @throws SpillwayError `SPW_NAME_CONFLICT` if it stands for other numbers already.
 */
export function claimName(store: Store, name: string, rule: Rule): void {
  const names = namesOf.get(store) ?? new Map<string, Rule>();
  namesOf.set(store, names);
  const known = names.get(name);
  if (known && !sameRule(known, rule)) {
    throw new SpillwayError(
      'SPW_NAME_CONFLICT',
      `name "${name}" already stands for ${numbers(known)} in this store, and cannot stand for ${numbers(rule)}: give each limit its own name`,
    );
  }
  // Names are of the configuration, and few. Who makes them of what clients send loses the check, not the memory.
  if (names.size < KEPT) names.set(name, rule);
  store.register?.(name, rule);
}

function numbers(rule: Rule): string {
  const { machine, limit } = rule;
  if (rule.machine === 'leases') {
    return `${limit} at once (${rule.open} if not critical, leases of ${rule.leaseUs / 1000} ms)`;
  }
  return `${limit} per ${rule.windowUs / 1000} ms (${machine}, at once ${capacityOf(rule)})`;
}
