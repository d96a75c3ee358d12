/** Store decorator: every call is answered, or rejected, within a time. */

import { type Clock, systemClock } from '../clock.js';
import { SpillwayError } from '../errors.js';
import { after, afterIdly, afterPendingInput, isLater } from '../host.js';
import type { Answer, ApplyOptions, Step, Store } from '../store.js';

/** Calls that begin within this time of each other share one timer. */
const SHARED_US = 1_000;

/** Calls with a common deadline. */
interface Batch {
  readonly startUs: number;
  readonly waiting: Set<(error: Error) => void>;
  cancel: () => void;
}

/**
 * Rejects a call with `SPW_STORE_TIMEOUT` if the store has not answered `timeoutUs` after it was asked. The call may still
 * be charged: a lost answer is counted, never taken back.
 */
export function withDeadline(store: Store, timeoutUs: number, clock: Clock = systemClock): Store {
  return store.sync ? store : new DeadlineStore(store, timeoutUs, clock);
}

class DeadlineStore implements Store {
  readonly sync = false;
  private batch: Batch | undefined;

  constructor(
    private readonly store: Store,
    private readonly timeoutUs: number,
    private readonly clock: Clock,
  ) {}

  apply(steps: readonly Step[], options?: ApplyOptions): ReturnType<Store['apply']> {
    const nowUs = this.clock.nowUs();
    // What is given back is welcome at any time: nobody waits for it, and a permit that is not would be held for a lease's length.
    const deadlineUs = steps.every(({ op }) => op === 'put')
      ? Infinity
      : Math.min(nowUs + this.timeoutUs, options?.deadlineUs ?? Infinity);
    if (options?.background) return this.inBackground(steps, options);
    const answers = this.store.apply(steps, { deadlineUs });
    return isLater(answers) ? this.race(answers, this.join(nowUs)) : answers;
  }

  private inBackground(steps: readonly Step[], options: ApplyOptions): ReturnType<Store['apply']> {
    const { deadlineUs = Infinity } = options;
    // Only the waiting ends then: what is given back is welcome at any time, see above.
    const own = steps.every(({ op }) => op === 'put')
      ? { ...options, deadlineUs: Infinity }
      : options;
    const answers = this.store.apply(steps, own);
    if (!isLater(answers) || deadlineUs === Infinity) return answers;
    const nowUs = this.clock.nowUs();
    const batch = this.batchOf(nowUs, deadlineUs - nowUs, afterIdly);
    return this.race(answers, batch);
  }

  private race(answers: Promise<readonly Answer[]>, batch: Batch): Promise<readonly Answer[]> {
    return new Promise((resolve, reject) => {
      batch.waiting.add(reject);
      const leave = (): void => {
        batch.waiting.delete(reject);
        if (batch.waiting.size === 0) this.finish(batch);
      };
      answers.then(
        (value) => {
          leave();
          resolve(value);
        },
        (error: unknown) => {
          leave();
          reject(error);
        },
      );
    });
  }

  private join(nowUs: number): Batch {
    if (this.batch && nowUs - this.batch.startUs < SHARED_US) return this.batch;
    this.batch = this.batchOf(nowUs, this.timeoutUs);
    return this.batch;
  }

  private batchOf(nowUs: number, timeoutUs: number, wait = after): Batch {
    const timeoutMs = Math.max(0, timeoutUs / 1000);
    const batch: Batch = { startUs: nowUs, waiting: new Set(), cancel: () => undefined };
    // After a stall of the event loop the timer comes first though the answer may have arrived: look for it once more.
    batch.cancel = wait(timeoutMs, () => {
      afterPendingInput(() => this.expire(batch, timeoutMs));
    });
    return batch;
  }

  private expire(batch: Batch, timeoutMs: number): void {
    const error = new SpillwayError(
      'SPW_STORE_TIMEOUT',
      `the store did not answer within ${timeoutMs} ms`,
    );
    for (const reject of batch.waiting) reject(error);
    batch.waiting.clear();
    this.finish(batch);
  }

  private finish(batch: Batch): void {
    batch.cancel();
    if (this.batch === batch) this.batch = undefined;
  }
}
