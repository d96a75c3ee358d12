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
 * Calls use the same timer if their deadlines differ by at most this time. The timer fires this long after the first of
 * these deadlines.
 */
const SHARED_US = 1_000;

/**
 * Rejects a call with `SPW_STORE_TIMEOUT`, up to one millisecond late, if the store doesn't answer within `timeoutUs`
 * (microseconds). A group of more than 128 steps has twice this time, and one of more than 640 steps three times. The
 * store may still charge a call that timed out; such a charge is not refunded.
 */
export function withDeadline(store: Store, timeoutUs: number, clock: Clock = systemClock): Store {
  return store.sync ? store : new DeadlineStore(store, timeoutUs, clock);
}

class DeadlineStore implements Store {
  readonly sync = false;
  private readonly store: Store;
  private readonly timeoutUs: number;
  private readonly clock: Clock;
  /** Whether calls share timers. False on hosts where a timer ends with the request that set it. */
  private readonly shares = !endsTimersWithRequests();
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
    // The store gets no deadline for steps that end a request, such as releases: a late release is better than a permit
    // that is held until its lease expires.
    const deadlineUs = steps.every(isEnd) ? Infinity : untilUs;
    const answers = this.store.apply(steps, { deadlineUs, background });
    if (!isLater(answers) || untilUs === Infinity) return answers;
    const waiting = background
      ? new Waiting(untilUs, nowUs, afterIdly)
      : this.waitingUntil(untilUs, nowUs);
    return waiting.awaitAnswers(Promise.resolve(answers)); // the store may return any thenable
  }

  private waitingUntil(untilUs: number, nowUs: number): Waiting {
    const { last } = this;
    const lateUs = last?.isOpen ? last.endsUs - untilUs : -1;
    if (last && this.shares && lateUs >= 0 && lateUs <= SHARED_US) return last;
    this.last = new Waiting(untilUs, nowUs, after);
    return this.last;
  }
}

class Waiting {
  readonly endsUs: number;
  private open = 0;
  private readonly rejects: ((error: SpillwayError) => void)[] = [];
  private readonly cancel: () => void;

  constructor(untilUs: number, nowUs: number, wait: typeof after) {
    this.endsUs = untilUs + SHARED_US;
    const timeoutMs = Math.max(0, (untilUs - nowUs) / 1000);
    this.cancel = wait(timeoutMs + SHARED_US / 1000, () => {
      this.open = 0; // no further call may join; answers that still arrive make it negative
      // After a stall of the event loop, timers fire before the input that has already arrived is read. So that input
      // is read first.
      afterPendingInput(() => {
        const message = `the store did not answer within ${timeoutMs} ms`;
        const error = new SpillwayError('SPW_STORE_TIMEOUT', message);
        for (const reject of this.rejects) reject(error);
        // Frees the answers that these functions retain, because a call that is never answered keeps this object alive.
        this.rejects.length = 0;
      });
    });
  }

  get isOpen(): boolean {
    return this.open > 0;
  }

  awaitAnswers(answers: Promise<readonly Answer[]>): Promise<readonly Answer[]> {
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
