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

/**
 * The problem document of a refusal. It names policies, never keys. A refusal must stay cheap, so it is written by hand
 * around what needs escaping: `name`, the binding limiter's in JSON, and `violated`, all names in JSON with commas.
 */
export function problemBody(
  binding: Decision,
  name: string,
  violated: string,
  status: number = statusOf(binding),
): string {
  const { type, title } = problemOf(binding);
  const detail = detailOf(binding, name.slice(1, -1));
  return `{"type":"${type}","title":"${title}","status":${status},"detail":"${detail}","violated-policies":[${violated}]}`;
}

/** As the inside of a JSON string; `limiter` is that of its name. */
function detailOf({ reason, cost, policy, retryAfterMs }: Decision, limiter: string): string {
  switch (reason) {
    case 'never':
      return policy
        ? `This request takes ${cost} units, more than policy \\"${limiter}\\" can ever allow. Make it smaller; waiting does not help.`
        : `Policy \\"${limiter}\\" allows you no requests. ${waitOf(retryAfterMs)}`;
    case 'blocked':
      return `Your requests are blocked under policy \\"${limiter}\\". ${waitOf(retryAfterMs)}`;
    case 'rate':
      return `You have used up the quota of policy \\"${limiter}\\". ${waitOf(retryAfterMs)}`;
    case 'concurrency':
      return `You have too many requests in progress under policy \\"${limiter}\\". Wait for one to finish.`;
    default:
      return `The service cannot take this request now. ${waitOf(retryAfterMs)}`;
  }
}

function waitOf(retryAfterMs: number): string {
  if (retryAfterMs === Infinity) return 'Waiting does not help.';
  const seconds = retryAfterSeconds(retryAfterMs || 0);
  return `Try again in ${seconds} second${seconds === 1 ? '' : 's'}.`;
}
