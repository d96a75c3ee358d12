/** What a step is answered that neither a store nor counts of this process have decided. */

import type { Answer } from './answer.js';
import type { Step } from './store.js';

/** By the step's policy; what fails closed passes only where it is `allow`. */
export function unanswered(step: Step, failure: Error): Answer {
  return { allowed: passes(step), nowUs: 0, tatUs: 0, tatNum: 0, failure };
}

function passes({ op, rule, onStoreError }: Step): boolean {
  if (rule.logic?.failsClosed) return onStoreError === 'allow' && (op === 'take' || op === 'look');
  return onStoreError !== 'deny' && op !== 'put';
}
