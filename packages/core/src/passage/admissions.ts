/** Stores the admissions of a request on its request object, for the handlers that run after its guards. */

import { mustBe } from '../base/errors.js';
import type { Admission } from '../contract/admission.js';
import { countedTwice } from '../guard/guard-admission.js';
import type { Notices } from '../observe/notices.js';

// A registered symbol, shared with other copies of this package.
const ADMISSIONS = Symbol.for('spillway.admissions');

interface Holder {
  [ADMISSIONS]?: Admission[];
}

export function rememberAdmission(request: object, admission: Admission): void {
  // Uses `hasOwn`, because reading a missing property would search the prototypes of the framework's request, which
  // takes as long as a decision.
  if (Object.hasOwn(request, ADMISSIONS)) (request as Holder)[ADMISSIONS]?.push(admission);
  // Enumerable, because `defineProperty` would cost as much as the decision.
  else (request as Holder)[ADMISSIONS] = [admission];
}

export function earlierAdmissions(request: object): readonly Admission[] | undefined {
  return Object.hasOwn(request, ADMISSIONS) ? (request as Holder)[ADMISSIONS] : undefined;
}

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
    `limiter "${limiter}" is in two guards that see the same request, and both charge the same count: ` +
    'remove it from one of them, or give the limits different names'
  );
}

/**
 * Returns the earlier admission if the same guard has already run for this request. The request is then counted only
 * once, and a warning is logged.
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
    `the guard of ${namesOf(before)} is mounted twice for one request, which was counted once: ` +
    'mount it once'
  );
}

/**
 * The admissions of all guards that have run for a request, in order; empty if no guard has run. The adapter documents
 * which object stands for the request.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID` if `request` is not an object
 */
export function admissionsOf(request: object): readonly Admission[] {
  if (typeof request !== 'object' || !request) {
    throw mustBe('request', 'the object that the framework gives its handlers', request);
  }
  return (request as Holder)[ADMISSIONS] ?? [];
}
