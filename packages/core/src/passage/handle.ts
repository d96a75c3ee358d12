/** The members of a guard that adapters expose on their handlers. */

import type { Guard } from '../guard/guard-options.js';

/** The members of a guard that server code needs. */
export type GuardHandle = Pick<Guard, 'close' | 'inProgress'>;

/** For adapters: adds `close` and `inProgress` of the guard to `handler`. */
export function showGuard<Handler extends object>(
  handler: Handler,
  guard: GuardHandle,
): Handler & GuardHandle {
  return Object.defineProperties(handler, {
    close: { value: () => guard.close(), enumerable: true },
    inProgress: { get: () => guard.inProgress, enumerable: true },
  }) as Handler & GuardHandle;
}
