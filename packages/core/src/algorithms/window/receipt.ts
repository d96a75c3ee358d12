/** The receipt of a grant of a window counter. */

import type { Receipt, WindowAnswer } from '../../contract/ask.js';

export function receiptOfWindow({ startUs }: WindowAnswer, units: number): Receipt {
  return { atUs: startUs, num: 0, units };
}
