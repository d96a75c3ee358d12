/** Which requests bypass all limiters of a guard. */

import { isThenable } from '../base/host.js';
import type { StepContext } from '../contract/limiter-turn.js';
import type { LimitRequest } from '../contract/request.js';
import { isYes, readOption } from '../limits/callbacks.js';
import type { GuardOptions } from './guard-options.js';

/** Whether the request is a preflight that passes, or `skip` returns true for it; a promise if `skip` is async. */
export function isExempt<Raw>(
  request: LimitRequest<Raw>,
  { preflights, skip }: GuardOptions<Raw>,
  context: StepContext,
): boolean | Promise<boolean> {
  if (request.method === 'OPTIONS' && preflights !== 'count' && isPreflight(request)) return true;
  if (!skip) return false;
  const asking = { limiter: '', request, context };
  const verdict: unknown = readOption(asking, 'skip', skip);
  if (!isThenable(verdict)) return isYes(asking, 'skip', verdict);
  return (verdict as Promise<unknown>).then((own) => isYes(asking, 'skip', own));
}

/**
 * As the Fetch standard defines it. A preflight carries no credentials, and rejecting it would hide the real response
 * from the page.
 */
function isPreflight(request: LimitRequest): boolean {
  return Boolean(request.header('origin') && request.header('access-control-request-method'));
}
