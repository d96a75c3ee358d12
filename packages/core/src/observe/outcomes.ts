import { checkList } from '../base/check-shapes.js';
import { mustBe } from '../base/errors.js';
import type { Outcome } from '../contract/decision.js';

export const COMMON: readonly Outcome[] = ['allowed', 'replayed', 'would-replay', 'skipped'];

export const REJECTIONS: readonly Outcome[] = ['denied', 'would-deny', 'error'];

export const OUTCOMES: readonly Outcome[] = /* @__PURE__ */ COMMON.concat(REJECTIONS);

export function checkOutcomes(outcomes: readonly Outcome[]): void {
  checkList('outcomes', outcomes, 'outcomes');
  const unknown = outcomes.find((outcome) => !OUTCOMES.includes(outcome));
  if (unknown !== undefined) throw mustBe('outcomes', `of ${OUTCOMES.join(', ')}`, unknown);
}
