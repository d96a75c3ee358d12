/** The answer to a refusal by its reason: the status, and the body, an RFC 9457 problem that says what to do. */

import { helpFor } from '../base/errors.js';
import { type Decision, type Reason, statusOf } from '../contract/decision.js';
import { retryAfterSeconds } from './fields.js';

/** Media type of `problemBody`. */
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
  type: /* @__PURE__ */ helpFor('blocked'),
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
  running: { type: /* @__PURE__ */ helpFor('running'), title: 'Request in progress' },
  mismatch: {
    type: /* @__PURE__ */ helpFor('mismatch'),
    title: 'Idempotency key of another request',
  },
  'key-invalid': {
    type: /* @__PURE__ */ helpFor('key-invalid'),
    title: 'Idempotency key missing or invalid',
  },
  'not-kept': { type: /* @__PURE__ */ helpFor('not-kept'), title: 'Answer not kept' },
  'store-error': FULL,
};

function problemOf({ reason }: Decision): Problem {
  return PROBLEMS[reason as Reason] ?? FULL; // a limiter of the user's own may name none
}

/**
 * The problem document of a refusal. It names policies, never keys. A refusal must stay cheap, so it is written by
 * hand: `head` is of {@link problemHead}, `violated` has all names in JSON with commas.
 */
export function problemBody(head: string, binding: Decision, violated: string): string {
  return `${head}${adviceFor(binding)}","violated-policies":[${violated}]}`;
}

/** The body as far as it is the same for each refusal of a policy for `rate`; `name` is the limiter's in JSON. */
export function problemHead(
  binding: Decision,
  name: string,
  status: number = statusOf(binding),
): string {
  const { type, title } = problemOf(binding);
  const sentence = sentenceOf(binding, name.slice(1, -1));
  return `{"type":"${type}","title":"${title}","status":${status},"detail":"${sentence} `;
}

/** As the inside of a JSON string; `limiter` is that of its name. */
function sentenceOf({ reason, status, cost, policy }: Decision, limiter: string): string {
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
    case 'running':
      return 'A request with this idempotency key is in progress.';
    case 'mismatch':
      return mismatchOf(status);
    case 'key-invalid':
      return 'This request needs an idempotency key of 1 to 255 printable ASCII characters.';
    case 'not-kept':
      return 'The request with this idempotency key was done, but its answer was not kept.';
    default:
      return 'The service cannot take this request now.';
  }
}

/** A body that could not be compared is refused as one that differs. */
function mismatchOf(status: number | undefined): string {
  if (status === 413) return 'The body of this repeated request is too large to be compared.';
  if (status === 408) return 'The body of this repeated request did not come in time.';
  return 'This idempotency key was used for another request.';
}

function adviceFor({ reason, policy, retryAfterMs }: Decision): string {
  if (reason === 'concurrency') {
    if (!policy) return 'Wait for one to finish.';
    return `Run ${counted(policy.limit, 'worker')} on a queue instead of retrying.`;
  }
  if (reason === 'never' && policy) return 'Make it smaller; waiting does not help.';
  if (reason === 'mismatch') return 'Send the same request, or use another key.';
  if (reason === 'key-invalid') return 'Send one in the header of that name.';
  if (reason === 'not-kept') return 'It will not be done again: ask for its result in another way.';
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
