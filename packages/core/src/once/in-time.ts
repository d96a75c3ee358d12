/** Calls of a store's values: within a time, and never thrown or rejected. */

import { systemClock } from '../base/clock.js';
import { after, afterPendingInput, isThenable } from '../base/host.js';

/** What a call gave, or how it failed. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** What `call` gives now or later; an error if it fails, or takes longer than `ms`. */
export function inTime<T>(
  ms: number,
  call: (deadlineUs: number) => T | PromiseLike<T>,
): Outcome<T> | Promise<Outcome<T>> {
  let given: T | PromiseLike<T>;
  try {
    given = call(systemClock.nowUs() + ms * 1000);
  } catch (error) {
    return { error };
  }
  if (!isThenable(given)) return { value: given };
  const later = given;
  return new Promise((resolve) => {
    const late = { error: new Error(`no answer within ${ms} ms`) };
    // After a stall of the event loop the timer comes first though the answer may have arrived: look for it once more.
    const cancel = after(ms, () => afterPendingInput(() => resolve(late)));
    const settle = (outcome: Outcome<T>): void => {
      cancel();
      resolve(outcome);
    };
    Promise.resolve(later).then(
      (value) => settle({ value: value as T }),
      (error: unknown) => settle({ error }),
    );
  });
}
