/** The wire format of rules: their numbers. The object adds the code of the algorithm. */

import {
  type Machine,
  makeClaimsRule,
  makeLeasesRule,
  makeRule,
  makeShaperRule,
  type Rule,
} from '@spillway/core/store';
import { unknownCall } from '../failures.js';

/** A rule without its code. */
export type RuleNumbers = { readonly machine: Rule['machine'] } & Readonly<Record<string, unknown>>;

export function numbersOf(rule: Rule): RuleNumbers {
  const { logic: _, ...numbers } = rule;
  return numbers;
}

/** Makes rules from numbers. The code is that of any rule with the same algorithm. */
export class Rules {
  private readonly logics: Readonly<Record<Rule['machine'], Machine>> = {
    bucket: makeRule('token-bucket', 1, 1_000).logic,
    queue: makeShaperRule(1, 1_000, 1, 0).logic,
    window: makeRule('fixed-window', 1, 1_000).logic,
    log: makeRule('sliding-window-log', 1, 1_000).logic,
    leases: makeLeasesRule(1, 1_000_000).logic,
    claims: makeClaimsRule(1_000_000, 1_000_000).logic,
  };

  /** @throws SpillwayError `SPW_STORE_ERROR` for an algorithm that this release does not have */
  ruleOf(numbers: RuleNumbers): Rule {
    const { machine } = numbers;
    if (!Object.hasOwn(this.logics, machine)) throw unknownCall('one of the algorithms');
    return { ...numbers, logic: this.logics[machine] } as unknown as Rule;
  }
}
