/** The decision that an operator has made about a key. */

import type { KeyRuling } from '../contract/control.js';
import type { Decision } from '../contract/decision.js';
import type { Mode } from '../contract/mode.js';
import { refusedDecision, skippedDecision } from '../contract/skipped.js';

export function ruledDecision(
  limiter: string,
  mode: Mode,
  { verdict, endsInMs }: KeyRuling,
): Decision {
  return verdict === 'allow'
    ? skippedDecision(limiter)
    : refusedDecision(limiter, mode, 'blocked', endsInMs);
}
