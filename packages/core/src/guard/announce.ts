/** What a guard tells its store and its control of its limiters. */

import type { Control } from '../control/control.js';
import type { Limiter } from '../limit/limiter.js';
import { claimName } from '../limit/names.js';
import type { Rule } from '../rule.js';
import type { Store } from '../store.js';

/** To be told of each rule that counts apart from the declared one: a function, or a live change, made it. */
export type NoteRule = (limiter: string, rule: Rule) => void;

/** @throws SpillwayError `SPW_NAME_CONFLICT` */
export function announce<Raw>(
  limiters: readonly Limiter<Raw>[],
  store: Store,
  control: Control | undefined,
): NoteRule {
  for (const limiter of limiters) {
    const rule = limiter.kind === 'stored' ? limiter.rule : undefined;
    if (rule) claimName(store, limiter.name, rule);
    control?.register?.(limiter.name, rule);
  }
  return (limiter, rule) => store.register?.(limiter, rule);
}

/** Whether two rules of one limiter have counts of their own; nearly always they are one object. */
export function countsApart(rule: Rule, declared: Rule): boolean {
  return rule !== declared && rule.code !== declared.code;
}
