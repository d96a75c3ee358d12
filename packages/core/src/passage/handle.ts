import type { Guard } from '../guard/guard-options.js';

/** The members of a guard that server code needs. */
export type GuardHandle = Pick<Guard, 'close' | 'inProgress'>;

/** Adds `close` and `inProgress` of the guard to `handler`, for adapters. */
export function showGuard<Handler extends object>(
  handler: Handler,
  guard: GuardHandle,
): Handler & GuardHandle {
  return Object.defineProperties(handler, {
    close: { value: () => guard.close(), enumerable: true },
    inProgress: { get: () => guard.inProgress, enumerable: true },
  }) as Handler & GuardHandle;
}
