/** Telling of faults, which must not make another. */

import type { Fault } from '../limit/limiter.js';

/** Tells `onFault`, if there is one, and survives it. */
export function tellFault(onFault: ((fault: Fault) => void) | undefined, fault: Fault): void {
  try {
    onFault?.(fault);
  } catch {
    // An observer of faults that itself fails has nobody left to tell.
  }
}
