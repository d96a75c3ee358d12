/** Keeps with a request what its guards said, for the handlers behind them. */

import type { Admission } from '../contract/admission.js';
import type { Notices } from '../observe/notices.js';

// A registered symbol: it is found by another copy of this package too.
const ADMISSIONS = Symbol.for('spillway.admissions');

interface Holder {
  [ADMISSIONS]?: Admission[];
}

/** Adds an admission to those of a request. */
export function rememberAdmission(request: object, admission: Admission): void {
  // Not by reading it: to look along a framework's chain of prototypes for what is not there takes as long as a decision.
  if (Object.hasOwn(request, ADMISSIONS)) (request as Holder)[ADMISSIONS]?.push(admission);
  // A plain property, as Node's own symbols are: to hide it would cost as much as the decision.
  else (request as Holder)[ADMISSIONS] = [admission];
}

/**
 * What `guard` said of a request before; undefined if it was not asked yet. A guard that is mounted twice on the way of a
 * request counts it once, and `notices` is told so.
 */
export function admissionBefore(
  request: object,
  guard: object,
  notices: Notices,
): Admission | undefined {
  if (!Object.hasOwn(request, ADMISSIONS)) return undefined;
  const before = admissionsOf(request).find((admission) => admission.guard === guard);
  if (before) notices.tell('SPW_REGISTERED_TWICE', () => twice(before));
  return before;
}

function twice({ decisions }: Admission): string {
  const names = decisions.map(({ limiter }) => limiter).join(', ');
  return (
    `the guard of ${names} is mounted twice on the way of a request, which was counted once: ` +
    'mount it once (SPW_REGISTERED_TWICE)'
  );
}

/**
 * What the guards that ran said of a request, first to last; empty if none did. Each adapter says which object stands for
 * the request.
 */
export function admissionsOf(request: object): readonly Admission[] {
  return (request as Holder)[ADMISSIONS] ?? [];
}
