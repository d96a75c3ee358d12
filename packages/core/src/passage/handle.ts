/** What an adapter's handler shows of the guard in it. */

import type { Guard } from '../guard/options.js';

/** The part of a guard that is of use to whoever runs the server. */
export type GuardHandle = Pick<Guard, 'close' | 'inProgress'>;

/** Gives `handler` the guard's `close` and its gauge: for adapters. */
export function showGuard<Handler extends object>(
  handler: Handler,
  guard: GuardHandle,
): Handler & GuardHandle {
  return Object.defineProperties(handler, {
    close: { value: () => guard.close(), enumerable: true },
    inProgress: { get: () => guard.inProgress, enumerable: true },
  }) as Handler & GuardHandle;
}
