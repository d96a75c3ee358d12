/** What the bodies of refusals by `idempotency()` say. */

import { helpFor } from '../base/errors.js';
import type { Decision } from '../contract/decision.js';
import type { OwnProblem } from '../contract/limiter.js';

export function problemOfClaim({ reason, status }: Decision): OwnProblem | undefined {
  switch (reason) {
    case 'running':
      return {
        type: helpFor(reason),
        title: 'Request in progress',
        detail: 'A request with this idempotency key is in progress.',
      };
    case 'mismatch':
      return {
        type: helpFor(reason),
        title: 'Idempotency key of another request',
        detail: mismatchOf(status),
        advice: 'Send the same request, or use another key.',
      };
    case 'key-invalid':
      return {
        type: helpFor(reason),
        title: 'Idempotency key missing or invalid',
        detail: 'This request needs an idempotency key of 1 to 255 printable ASCII characters.',
        advice: 'Send one in the header of that name.',
      };
    case 'not-kept':
      return {
        type: helpFor(reason),
        title: 'Answer not kept',
        detail: 'The request with this idempotency key was done, but its answer was not kept.',
        advice: 'It will not be done again: ask for its result in another way.',
      };
    default:
      return undefined;
  }
}

/** A body that could not be compared is refused as one that differs. */
function mismatchOf(status: number | undefined): string {
  if (status === 413) return 'The body of this repeated request is too large to be compared.';
  if (status === 408) return 'The body of this repeated request did not come in time.';
  return 'This idempotency key was used for another request.';
}
