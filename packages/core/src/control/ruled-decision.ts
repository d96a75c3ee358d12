/** The decision that an operator has made about a key. */

import type { KeyRuling } from '../contract/control.js';
import {
  type Decision,
  type Mode,
  refusedDecision,
  skippedDecision,
} from '../contract/decision.js';

export function ruledDecision(
  limiter: string,
  mode: Mode,
  { verdict, endsInMs }: KeyRuling,
): Decision {
  return verdict === 'allow'
    ? skippedDecision(limiter)
    : refusedDecision(limiter, mode, 'blocked', endsInMs);
}
