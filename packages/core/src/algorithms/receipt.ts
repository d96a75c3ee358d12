/** The receipt of a grant: what a later `put` needs to give the grant back. */

import type { Rule } from '../contract/rule.js';
import type { Answer, BucketAnswer, LogAnswer, Receipt, WindowAnswer } from '../contract/store.js';

/** Stands in `atUs` if the store has charged nothing. */
const NOTHING = -1;

/** Makes the receipt of a grant of `units` from the store's answer. If the stand-in charged too, its receipt is inside. */
export function receiptFrom(rule: Rule, answer: Answer, units: number): Receipt {
  const { standIn, failure } = answer;
  if (failure) return { atUs: NOTHING, num: 0, units, ...(standIn && { standIn }) };
  const receipt = receiptOf(rule, answer, units);
  return standIn ? { ...receipt, standIn } : receipt;
}

function receiptOf(rule: Rule, answer: Answer, units: number): Receipt {
  switch (rule.machine) {
    case 'bucket': {
      const { tatUs, tatNum } = answer as BucketAnswer;
      return { atUs: tatUs, num: tatNum, units };
    }
    case 'window':
      return { atUs: (answer as WindowAnswer).startUs, num: 0, units };
    case 'log':
      return { atUs: (answer as LogAnswer).lastUs, num: 0, units };
    case 'leases':
      return { atUs: 0, num: 0, units };
  }
}
