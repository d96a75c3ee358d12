/** What a guard tells its store and its control of its limiters. */

import type { Control } from '../contract/control.js';
import type { Limiter, StoredLimiter } from '../contract/limiter.js';
import type { Rule } from '../contract/rule.js';
import type { StoreClient } from '../stores/store-client.js';

/**
 * To be told of each rule that is not the declared one: a function or a live change made it, and perhaps another count.
 */
export type NoteRule<Raw> = (limiter: StoredLimiter<Raw>, rule: Rule) => void;

/**
 * @throws SpillwayError `SPW_NAME_CONFLICT`
 */
export function announce<Raw>(
  limiters: readonly Limiter<Raw>[],
  client: StoreClient,
  control: Control | undefined,
): NoteRule<Raw> {
  for (const limiter of limiters) {
    const rule = limiter.kind === 'stored' ? limiter.rule : undefined;
    if (rule) client.claim(limiter, rule);
    control?.register?.(limiter.name, rule);
  }
  return (limiter, rule) => client.note(limiter, rule);
}
