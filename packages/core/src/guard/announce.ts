/** What a guard tells its store and its control of its limiters. */

import type { Control } from '../contract/control.js';
import type { Limiter, StoredLimiter } from '../contract/limiter.js';
import type { Rule } from '../contract/rule.js';
import type { Store } from '../contract/store.js';
import { claimName } from '../stores/names.js';

/**
 * To be told of each rule that is not the declared one: a function or a live change made it, and perhaps another count.
 */
export type NoteRule<Raw> = (limiter: StoredLimiter<Raw>, rule: Rule) => void;

/**
 * `nameOf`: what stands for a limiter in the store.
 *
 * @throws SpillwayError `SPW_NAME_CONFLICT`
 */
export function announce<Raw>(
  limiters: readonly Limiter<Raw>[],
  store: Store,
  control: Control | undefined,
  nameOf: (limiter: Limiter<Raw>) => string,
): NoteRule<Raw> {
  for (const limiter of limiters) {
    const rule = limiter.kind === 'stored' ? limiter.rule : undefined;
    if (rule) claimName(store, nameOf(limiter), rule);
    control?.register?.(limiter.name, rule);
  }
  return (limiter, rule) => {
    if (rule.code !== limiter.rule.code) store.register?.(nameOf(limiter), rule);
  };
}
