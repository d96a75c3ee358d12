/** Keeps with a request what its guards said, for the handlers behind them. */

import { mustBe } from '../base/errors.js';
import type { Admission } from '../contract/admission.js';
import { countedTwice } from '../guard/guard-admission.js';
import type { Notices } from '../observe/notices.js';

// A registered symbol: it is found by another copy of this package too.
const ADMISSIONS = Symbol.for('spillway.admissions');

interface Holder {
  [ADMISSIONS]?: Admission[];
}

/** Adds an admission to those of a request. */
export function rememberAdmission(request: object, admission: Admission): void {
  // Not by reading it: to look for what is not there along a framework's prototypes takes as long as a decision.
  if (Object.hasOwn(request, ADMISSIONS)) (request as Holder)[ADMISSIONS]?.push(admission);
  // A plain property, as Node's own symbols are: to hide it would cost as much as the decision.
  else (request as Holder)[ADMISSIONS] = [admission];
}

/** What guards have said of a request so far; undefined if there was none. */
export function earlierAdmissions(request: object): readonly Admission[] | undefined {
  return Object.hasOwn(request, ADMISSIONS) ? (request as Holder)[ADMISSIONS] : undefined;
}

/** Tells `notices` if the last guard of a request has charged a count that one before it had charged. */
export function noteCountedTwice(request: object, notices: Notices): void {
  const all = admissionsOf(request);
  const last = all.at(-1);
  if (!last) return;
  for (const other of all.slice(0, -1)) {
    const name = countedTwice(other, last);
    if (name !== undefined) notices.tell('SPW_COUNTED_TWICE', counted(name), name);
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
  earlier: readonly Admission[],
  guard: object,
  notices: Notices,
): Admission | undefined {
  const before = earlier.find((admission) => admission.guard === guard);
  if (before) notices.tell('SPW_REGISTERED_TWICE', twice(before), namesOf(before));
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
 *
 * @throws SpillwayError `SPW_OPTION_INVALID` if `request` is no object
 */
export function admissionsOf(request: object): readonly Admission[] {
  if (typeof request !== 'object' || !request) {
    throw mustBe('request', 'the object that the framework gives its handlers', request);
  }
  return (request as Holder)[ADMISSIONS] ?? [];
}
