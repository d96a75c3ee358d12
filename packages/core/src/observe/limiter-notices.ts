/** Logs what may be a mistake in how limiters were made. */

import type { Notice } from '../contract/notice.js';
import { MADE_IN_HANDLER } from '../limits/limiter-notices.js';
import type { Notices } from './notices.js';

/** So many limiters without a store belong to no app: requests make them. */
const MANY = 1_000;

interface Made {
  readonly name: string;
  readonly notices?: readonly Notice[] | undefined;
}

/** @param withoutStore how many limiters were made without a store, these among them; 0 if these have one */
export function tellOfLimiters(
  notices: Notices,
  limiters: readonly Made[],
  withoutStore: number,
): void {
  let isOfHandler = withoutStore >= MANY;
  for (const { name, notices: own = [] } of limiters) {
    for (const { code, message } of own) {
      if (code !== MADE_IN_HANDLER.code) notices.tell(code, () => message, name);
      // Once may be right, for a handler may keep what it has made; and in a store that was given, a limiter goes on
      // where the one before it was.
      else if (withoutStore > 0 && notices.count(code, name) > 1) isOfHandler = true;
    }
  }
  if (isOfHandler) notices.tell(MADE_IN_HANDLER.code, () => MADE_IN_HANDLER.message);
}
