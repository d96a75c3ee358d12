import { helpFor } from '../base/errors.js';
import { type Decision, type Reason, statusOf } from '../contract/decision.js';
import type { OwnProblem, Problem } from '../contract/keeping.js';
import { retryAfterSeconds } from './fields.js';

/** Media type of `problemBody`. */
export const PROBLEM_TYPE = 'application/problem+json';

const IANA = 'https://iana.org/assignments/http-problem-types#';

const QUOTA: Problem = { type: `${IANA}quota-exceeded`, title: 'Quota exceeded' };
const FULL: Problem = {
  type: `${IANA}temporary-reduced-capacity`,
  title: 'Temporarily reduced capacity',
};
const BLOCKED: Problem = {
  type: /* @__PURE__ */ helpFor('blocked'),
  title: 'Blocked',
};

const PROBLEMS: Readonly<Partial<Record<Reason, Problem>>> = {
  rate: QUOTA,
  concurrency: QUOTA,
  never: QUOTA,
  blocked: BLOCKED,
};

/**
 * The problem document of a rejection. It names policies, never keys. It is concatenated by hand, because a rejection
 * must stay cheap. `violated` is a comma-separated list of names in JSON.
 */
export function problemBody(
  head: string,
  binding: Decision,
  violated: string,
  own: OwnProblem | undefined,
): string {
  return `${head}${own?.advice ?? adviceFor(binding)}","violated-policies":[${violated}]}`;
}

/** The beginning of the body, which all `rate` rejections by one policy share. `name` is the limiter's name in JSON. */
export function problemHead(
  binding: Decision,
  name: string,
  status: number = statusOf(binding),
  own?: OwnProblem,
): string {
  const { type, title } = own ?? PROBLEMS[binding.reason as Reason] ?? FULL;
  const sentence = own?.detail ?? sentenceOf(binding, name.slice(1, -1));
  return `{"type":"${type}","title":"${title}","status":${status},"detail":"${sentence} `;
}

/** The sentence that explains a rejection, escaped for a JSON string. `limiter` must already be escaped. */
function sentenceOf({ reason, cost, policy }: Decision, limiter: string): string {
  switch (reason) {
    case 'never':
      return policy
        ? `This request takes ${cost} units, more than policy \\"${limiter}\\" can ever allow.`
        : `Policy \\"${limiter}\\" allows you no requests.`;
    case 'blocked':
      return `Your requests are blocked under policy \\"${limiter}\\".`;
    case 'rate':
      return `You have used up the quota of policy \\"${limiter}\\".`;
    case 'concurrency':
      return policy
        ? `You can have only ${counted(policy.limit, 'request')} in progress at once under policy \\"${limiter}\\".`
        : `You have too many requests in progress under policy \\"${limiter}\\".`;
    default:
      return 'The service cannot take this request now.';
  }
}

function adviceFor({ reason, policy, retryAfterMs }: Decision): string {
  if (reason === 'concurrency') {
    if (!policy) return 'Wait for one to finish.';
    return `Run ${counted(policy.limit, 'worker')} on a queue instead of retrying.`;
  }
  if (reason === 'never' && policy) return 'Make it smaller; waiting does not help.';
  return waitOf(retryAfterMs);
}

function waitOf(retryAfterMs: number): string {
  if (retryAfterMs === Infinity) return 'Waiting does not help.';
  const seconds = retryAfterSeconds(retryAfterMs || 0);
  return `Try again in ${counted(seconds, 'second')}.`;
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
