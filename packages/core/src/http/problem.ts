/** The body of a refusal: an RFC 9457 problem that says what to do. */

import type { Decision } from '../decision.js';
import { retryAfterSeconds } from './fields.js';

const TYPES = 'https://iana.org/assignments/http-problem-types#';

/** Media type of {@link problemBody}. */
export const PROBLEM_TYPE = 'application/problem+json';

/** 429 if the caller did too much, 503 if we cannot serve now. */
export function statusOf(decision: Decision): 429 | 503 {
  const { reason } = decision;
  return reason === 'rate' || reason === 'concurrency' || reason === 'never' ? 429 : 503;
}

/** The problem document of a refusal. It names policies, never keys. */
export function problemBody(binding: Decision, violated: readonly string[]): string {
  const status = statusOf(binding);
  const title = status === 429 ? 'Quota exceeded' : 'Temporarily reduced capacity';
  const type = status === 429 ? 'quota-exceeded' : 'temporary-reduced-capacity';
  const detail = JSON.stringify(detailOf(binding));
  const policies = JSON.stringify(violated);
  // Written by hand around what needs escaping: a refusal must stay cheap.
  return `{"type":"${TYPES}${type}","title":"${title}","status":${status},"detail":${detail},"violated-policies":${policies}}`;
}

function detailOf(binding: Decision): string {
  const { reason, limiter, cost } = binding;
  if (reason === 'never') {
    return `This request takes ${cost} units, more than policy "${limiter}" can ever allow. Make it smaller; waiting does not help.`;
  }
  const seconds = retryAfterSeconds(binding.retryAfterMs || 0);
  const wait = `Try again in ${seconds} second${seconds === 1 ? '' : 's'}.`;
  switch (reason) {
    case 'rate':
      return `You have used up the quota of policy "${limiter}". ${wait}`;
    case 'concurrency':
      return `You have too many requests in progress under policy "${limiter}". Wait for one to finish.`;
    default:
      return `The service cannot take this request now. ${wait}`;
  }
}
