/** The receipt of a grant of a log. */

import type { LogAnswer, Receipt } from '../../contract/ask.js';

export function receiptOfLog({ lastUs }: LogAnswer, units: number): Receipt {
  return { atUs: lastUs, num: 0, units };
}
