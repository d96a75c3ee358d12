/** Store decorator: every call is answered, or rejected, within a time. */

import { type Clock, systemClock } from '../base/clock.js';
import { SpillwayError } from '../base/errors.js';
import { after, afterIdly, afterPendingInput, isLater } from '../base/host.js';
import type { Answer } from '../contract/answer.js';
import { isEnd } from '../contract/ask.js';
import { timeoutOf } from '../contract/group-size.js';
import type { ApplyOptions, Step, Store } from '../contract/store.js';

/**
 * Rejects a call with `SPW_STORE_TIMEOUT` if the store has not answered `timeoutUs` after it was asked; a group of more
 * than 128 steps has as much again for every further 512. The call may still be charged: a lost answer is counted,
 * never taken back.
 */
export function withDeadline(store: Store, timeoutUs: number, clock: Clock = systemClock): Store {
  return store.sync ? store : new DeadlineStore(store, timeoutUs, clock);
}

class DeadlineStore implements Store {
  readonly sync = false;
  private readonly store: Store;
  private readonly timeoutUs: number;
  private readonly clock: Clock;

  constructor(store: Store, timeoutUs: number, clock: Clock) {
    this.store = store;
    this.timeoutUs = timeoutUs;
    this.clock = clock;
  }

  apply(steps: readonly Step[], options?: ApplyOptions): ReturnType<Store['apply']> {
    if (options?.background) return this.inBackground(steps, options);
    const nowUs = this.clock.nowUs();
    const latestUs = options?.deadlineUs ?? Infinity;
    const untilUs = Math.min(nowUs + timeoutOf(steps.length, this.timeoutUs), latestUs);
    // What ends something is welcome at any time: nobody waits for it, and a permit that is not given back would be
    // held for a lease's length.
    const deadlineUs = steps.every(isEnd) ? Infinity : untilUs;
    return within(this.store.apply(steps, { deadlineUs }), untilUs - nowUs);
  }

  private inBackground(steps: readonly Step[], options: ApplyOptions): ReturnType<Store['apply']> {
    const { deadlineUs = Infinity } = options;
    // Only the waiting ends then: what is given back is welcome at any time, see above.
    const own = steps.every(isEnd) ? { ...options, deadlineUs: Infinity } : options;
    const answers = this.store.apply(steps, own);
    if (deadlineUs === Infinity) return answers;
    return within(answers, deadlineUs - this.clock.nowUs(), afterIdly);
  }
}

/** A timer for each call: one that calls share would end, on some hosts, with the request that set it. */
function within(
  answers: ReturnType<Store['apply']>,
  timeoutUs: number,
  wait = after,
): ReturnType<Store['apply']> {
  if (!isLater(answers)) return answers;
  const timeoutMs = Math.max(0, timeoutUs / 1000);
  return new Promise<readonly Answer[]>((resolve, reject) => {
    // After a stall of the event loop the timer comes first though the answer may have arrived: look for it once more.
    const cancel = wait(timeoutMs, () => afterPendingInput(() => reject(unanswered(timeoutMs))));
    answers.then(
      (value) => {
        cancel();
        resolve(value);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}

function unanswered(timeoutMs: number): SpillwayError {
  return new SpillwayError('SPW_STORE_TIMEOUT', `the store did not answer within ${timeoutMs} ms`);
}
