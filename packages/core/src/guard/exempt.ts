/** Which requests no limiter of a guard sees. */

import { isTrue } from '../base/junk.js';
import type { StepContext } from '../contract/limiter.js';
import type { LimitRequest } from '../contract/request.js';
import type { GuardOptions } from './options.js';

/** Whether a request is a preflight that passes, or one that the app skips. */
export function isExempt<Raw>(
  request: LimitRequest<Raw>,
  { preflights, skip }: GuardOptions<Raw>,
  context: StepContext,
): boolean {
  if (request.method === 'OPTIONS' && preflights !== 'count' && isPreflight(request)) return true;
  if (!skip) return false;
  try {
    return isTrue('skip', skip(request));
  } catch (error) {
    context.fault({ limiter: '', source: 'skip', error });
    return false;
  }
}

/** As the Fetch standard has it. It carries no credentials; refusing it would hide the real answer from the page. */
function isPreflight(request: LimitRequest): boolean {
  return Boolean(request.header('origin') && request.header('access-control-request-method'));
}
