import { helpFor } from '../base/errors.js';
import type { Decision } from '../contract/decision.js';
import type { OwnProblem } from '../contract/keeping.js';

type ClaimReason = 'running' | 'mismatch' | 'key-invalid' | 'not-kept';

const PROBLEMS: Readonly<Record<ClaimReason, Omit<OwnProblem, 'type'>>> = {
  running: {
    title: 'Request in progress',
    detail: 'A request with this idempotency key is in progress.',
  },
  mismatch: {
    title: 'Idempotency key used for another request',
    detail: 'This idempotency key was used for another request.',
    advice: 'Send the same request, or use another key.',
  },
  'key-invalid': {
    title: 'Idempotency key missing or invalid',
    detail: 'This request needs an idempotency key of 1 to 255 printable ASCII characters.',
    advice: 'Send one in the header of that name.',
  },
  'not-kept': {
    title: 'Response not stored',
    detail: 'The request with this idempotency key was completed, but its response was not stored.',
    advice: 'It will not run again: get its result in another way.',
  },
};

/** Details of a mismatch, by status. */
const DETAILS: Readonly<Record<number, string>> = {
  413: 'The body of this repeated request is too large to be compared.',
  408: 'The body of this repeated request did not arrive in time.',
};

export function problemOfClaim({ reason, status = 0 }: Decision): OwnProblem | undefined {
  const name = reason as ClaimReason;
  if (!Object.hasOwn(PROBLEMS, name)) return undefined;
  const problem = PROBLEMS[name];
  return { type: helpFor(name), ...problem, detail: DETAILS[status] ?? problem.detail };
}
