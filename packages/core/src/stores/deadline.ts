/** Store decorator: every call is answered, or rejected, within a time. */

import { timeoutOf } from '../algorithms/group.js';
import { type Clock, systemClock } from '../base/clock.js';
import { SpillwayError } from '../base/errors.js';
import {
  after,
  afterIdly,
  afterPendingInput,
  endsTimersWithRequests,
  isLater,
} from '../base/host.js';
import { type Answer, isEnd } from '../contract/ask.js';
import type { ApplyOptions, Step, Store } from '../contract/store.js';

/**
 * Calls with deadlines so near to each other share a timer, which comes after the last of them; background calls not.
 */
const SHARED_US = 1_000;

/**
 * Rejects a call with `SPW_STORE_TIMEOUT` if the store has not answered `timeoutUs` after it was asked, or up to a
 * millisecond later; a group of more than 128 steps has as much again for every further 512. The call may still be
 * charged: a lost answer is counted, never taken back.
 */
export function withDeadline(store: Store, timeoutUs: number, clock: Clock = systemClock): Store {
  return store.sync ? store : new DeadlineStore(store, timeoutUs, clock);
}

class DeadlineStore implements Store {
  readonly sync = false;
  private readonly store: Store;
  private readonly timeoutUs: number;
  private readonly clock: Clock;
  /** On some hosts a timer that calls share would end with the request that set it. */
  private readonly shares = !endsTimersWithRequests();
  /** The calls that were asked last. */
  private last: Waiting | undefined;

  constructor(store: Store, timeoutUs: number, clock: Clock) {
    this.store = store;
    this.timeoutUs = timeoutUs;
    this.clock = clock;
  }

  apply(steps: readonly Step[], options?: ApplyOptions): ReturnType<Store['apply']> {
    const { background, deadlineUs: latestUs = Infinity } = options ?? {};
    const nowUs = this.clock.nowUs();
    const ownUs = background ? Infinity : nowUs + timeoutOf(steps.length, this.timeoutUs);
    const untilUs = Math.min(ownUs, latestUs);
    // What ends something is welcome at any time, only the waiting ends: a permit that is not given back would be held
    // for a lease's length.
    const deadlineUs = steps.every(isEnd) ? Infinity : untilUs;
    const answers = this.store.apply(steps, { deadlineUs, background });
    if (!isLater(answers) || untilUs === Infinity) return answers;
    const waiting = background
      ? new Waiting(untilUs, nowUs, afterIdly)
      : this.waitingUntil(untilUs, nowUs);
    return waiting.add(Promise.resolve(answers)); // a promise of anybody's making
  }

  private waitingUntil(untilUs: number, nowUs: number): Waiting {
    const { last } = this;
    const lateUs = last?.isOpen ? last.endsUs - untilUs : -1;
    if (last && this.shares && lateUs >= 0 && lateUs <= SHARED_US) return last;
    this.last = new Waiting(untilUs, nowUs, after);
    return this.last;
  }
}

/** Calls that wait under one timer. */
class Waiting {
  /** When the timer comes. */
  readonly endsUs: number;
  private open = 0;
  private readonly rejects: ((error: SpillwayError) => void)[] = [];
  private readonly cancel: () => void;

  constructor(untilUs: number, nowUs: number, wait: typeof after) {
    this.endsUs = untilUs + SHARED_US;
    const timeoutMs = Math.max(0, (untilUs - nowUs) / 1000);
    this.cancel = wait(timeoutMs + SHARED_US / 1000, () => {
      this.open = 0; // what is answered now makes it less
      // After a stall of the event loop the timer comes first though answers may have arrived: look for them once more.
      afterPendingInput(() => {
        const message = `the store did not answer within ${timeoutMs} ms`;
        const error = new SpillwayError('SPW_STORE_TIMEOUT', message);
        for (const reject of this.rejects) reject(error); // those that were answered stay so
        // A call that is never answered keeps this object, and each function its answers.
        this.rejects.length = 0;
      });
    });
  }

  /** Whether the timer is still to come, and some call has no answer. */
  get isOpen(): boolean {
    return this.open > 0;
  }

  /** The answers, unless the timer comes before. */
  add(answers: Promise<readonly Answer[]>): Promise<readonly Answer[]> {
    this.open += 1;
    return new Promise((resolve, reject) => {
      this.rejects.push(reject);
      answers.then(this.ending(resolve), this.ending(reject));
    });
  }

  private ending<Value>(settle: (value: Value) => void): (value: Value) => void {
    return (value) => {
      this.open -= 1;
      if (this.open === 0) {
        this.cancel();
        this.rejects.length = 0;
      }
      settle(value);
    };
  }
}
