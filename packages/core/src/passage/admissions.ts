/** Keeps with a request what its guards said, for the handlers behind them. */

import type { Admission } from '../contract/admission.js';
import { countedTwice } from '../guard/guard-admission.js';
import type { Notices } from '../observe/notices.js';

// A registered symbol: it is found by another copy of this package too.
const ADMISSIONS = Symbol.for('spillway.admissions');

interface Holder {
  [ADMISSIONS]?: Admission[];
}

/** Adds an admission to those of a request. `notices` is told if another guard has charged the same count for it. */
export function rememberAdmission(request: object, admission: Admission, notices: Notices): void {
  // Not by reading it: to look for what is not there along a framework's prototypes takes as long as a decision.
  if (!Object.hasOwn(request, ADMISSIONS)) {
    // A plain property, as Node's own symbols are: to hide it would cost as much as the decision.
    (request as Holder)[ADMISSIONS] = [admission];
    return;
  }
  const before = admissionsOf(request);
  if (notices.hears('SPW_COUNTED_TWICE')) tellCountedTwice(before, admission, notices);
  (request as Holder)[ADMISSIONS]?.push(admission);
}

function tellCountedTwice(
  before: readonly Admission[],
  admission: Admission,
  notices: Notices,
): void {
  for (const other of before) {
    const name = countedTwice(other, admission);
    if (name === undefined) continue;
    notices.tell('SPW_COUNTED_TWICE', () => counted(name), name);
  }
}

function counted(limiter: string): string {
  return (
    `limiter "${limiter}" stands in two guards on the way of a request, and both charge the same count: ` +
    'leave it out of one of them, or give each limit a name of its own'
  );
}

/**
 * What `guard` said of a request before; undefined if it was not asked yet. A guard that is mounted twice on the way of
 * a request counts it once, and `notices` is told so.
 */
export function admissionBefore(
  request: object,
  guard: object,
  notices: Notices,
): Admission | undefined {
  if (!Object.hasOwn(request, ADMISSIONS)) return undefined;
  const before = admissionsOf(request).find((admission) => admission.guard === guard);
  if (before) notices.tell('SPW_REGISTERED_TWICE', () => twice(before), namesOf(before));
  return before;
}

function namesOf({ decisions }: Admission): string {
  return decisions.map(({ limiter }) => limiter).join(', ');
}

function twice(before: Admission): string {
  return (
    `the guard of ${namesOf(before)} is mounted twice on the way of a request, which was counted once: ` +
    'mount it once'
  );
}

/**
 * What the guards that ran said of a request, first to last; empty if none did. Each adapter says which object stands
 * for the request.
 */
export function admissionsOf(request: object): readonly Admission[] {
  return (request as Holder)[ADMISSIONS] ?? [];
}
