import { systemClock } from './clock.js';
import { after, afterPendingInput, isThenable } from './host.js';

export type Result<T> = { readonly value: T } | { readonly error: unknown };

/**
 * Resolves to an object with the `value` of `promise`, or with the `error` if it rejects or takes longer than `ms`
 * milliseconds. Never rejects.
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
    // After a stall of the event loop, timers fire before replies that have already arrived are read. Wait until those
    // are read.
    const cancel = after(ms, () => afterPendingInput(() => resolve(late)));
    const settle = (result: Result<T>): void => {
      cancel();
      resolve(result);
    };
    // `promise` may be any thenable, and its `then` may throw, which rejects the new promise.
    new Promise<T>((take) => take(promise)).then(
      (value) => settle({ value }),
      (error: unknown) => settle({ error }),
    );
  });
}

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
