/** The answer to a refusal by its reason: the status, and the body, an RFC 9457 problem that says what to do. */

import { helpFor } from '../base/errors.js';
import type { Decision, Reason } from '../contract/decision.js';
import { statusOf } from '../contract/status.js';
import { retryAfterSeconds } from './fields.js';

/** Media type of {@link problemBody}. */
export const PROBLEM_TYPE = 'application/problem+json';

interface Problem {
  readonly type: string;
  readonly title: string;
}

const IANA = 'https://iana.org/assignments/http-problem-types#';

/** The caller did too much. */
const QUOTA: Problem = { type: `${IANA}quota-exceeded`, title: 'Quota exceeded' };
/** We cannot serve now. */
const FULL: Problem = {
  type: `${IANA}temporary-reduced-capacity`,
  title: 'Temporarily reduced capacity',
};
/** An operator has decided so. */
const BLOCKED: Problem = {
  type: helpFor('blocked'),
  title: 'Blocked',
};

/** What is answered for each reason. */
const PROBLEMS: Readonly<Record<Reason, Problem>> = {
  rate: QUOTA,
  concurrency: QUOTA,
  never: QUOTA,
  blocked: BLOCKED,
  capacity: FULL,
  overload: FULL,
  'store-error': FULL,
};

function problemOf({ reason }: Decision): Problem {
  return PROBLEMS[reason as Reason] ?? FULL; // a limiter of the user's own may name none
}

/** The problem document of a refusal. It names policies, never keys. */
export function problemBody(
  binding: Decision,
  violated: readonly string[],
  status: number = statusOf(binding),
): string {
  const { type, title } = problemOf(binding);
  const detail = JSON.stringify(detailOf(binding));
  const policies = JSON.stringify(violated);
  // Written by hand around what needs escaping: a refusal must stay cheap.
  return `{"type":"${type}","title":"${title}","status":${status},"detail":${detail},"violated-policies":${policies}}`;
}

function detailOf({ reason, limiter, cost, policy, retryAfterMs }: Decision): string {
  const seconds = retryAfterSeconds(retryAfterMs || 0);
  const wait =
    retryAfterMs === Infinity
      ? 'Waiting does not help.'
      : `Try again in ${seconds} second${seconds === 1 ? '' : 's'}.`;
  switch (reason) {
    case 'never':
      return policy
        ? `This request takes ${cost} units, more than policy "${limiter}" can ever allow. Make it smaller; waiting does not help.`
        : `Policy "${limiter}" allows you no requests. ${wait}`;
    case 'blocked':
      return `Your requests are blocked under policy "${limiter}". ${wait}`;
    case 'rate':
      return `You have used up the quota of policy "${limiter}". ${wait}`;
    case 'concurrency':
      return `You have too many requests in progress under policy "${limiter}". Wait for one to finish.`;
    default:
      return `The service cannot take this request now. ${wait}`;
  }
}
