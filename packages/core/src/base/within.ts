/** Waits for a promise that any code may have made, but not too long. */

import { systemClock } from './clock.js';
import { after, afterPendingInput, isThenable } from './host.js';

/** The value of a promise, or the error with which it failed. */
export type Result<T> = { readonly value: T } | { readonly error: unknown };

/**
 * The value of `promise`, or the error if it rejects or takes longer than `ms` milliseconds. Never rejects.
 *
 * @example
 * ```ts run
 * import { within } from '@spillway/core/store';
 *
 * await within(50, Promise.resolve(7)); // { value: 7 }
 * ```
 */
export function within<T>(ms: number, promise: PromiseLike<T>): Promise<Result<T>> {
  return new Promise((resolve) => {
    const late = { error: new Error(`no answer within ${ms} ms`) };
    // After a stall of the event loop the timer comes first though the answer may have arrived: look for it once more.
    const cancel = after(ms, () => afterPendingInput(() => resolve(late)));
    const settle = (result: Result<T>): void => {
      cancel();
      resolve(result);
    };
    // Its `then` may be of anybody's making, also where it is a promise of this realm: what it throws rejects this.
    new Promise<T>((take) => take(promise)).then(
      (value) => settle({ value }),
      (error: unknown) => settle({ error }),
    );
  });
}

/** What `call` gives now or later; an error if it fails, or takes longer than `ms`. */
export function inTime<T>(
  ms: number,
  call: (deadlineUs: number) => T | PromiseLike<T>,
): Result<T> | Promise<Result<T>> {
  try {
    const given = call(systemClock.nowUs() + ms * 1000);
    return isThenable(given) ? within(ms, given as PromiseLike<T>) : { value: given };
  } catch (error) {
    return { error };
  }
}
