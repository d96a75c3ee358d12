/** Store decorator: tells the breaker what came of each call. */

import { isLater } from '../base/host.js';
import type { Answer } from '../contract/answer.js';
import type { ApplyOptions, Step, Store } from '../contract/store.js';
import type { Breaker } from './breaker.js';
import type { Asker } from './probe-step.js';

/** All steps of a call must depend on one part of the store. `timeoutUs` is how long a step may take. */
export function withBreaker(store: Store, breaker: Breaker, timeoutUs: number): Store {
  return store.sync ? store : new HearingStore(store, breaker, timeoutUs);
}

class HearingStore implements Store, Asker {
  readonly sync = false;
  private readonly store: Store;
  private readonly breaker: Breaker;
  readonly timeoutUs: number;

  constructor(store: Store, breaker: Breaker, timeoutUs: number) {
    this.store = store;
    this.breaker = breaker;
    this.timeoutUs = timeoutUs;
  }

  apply(steps: readonly Step[], options?: ApplyOptions): ReturnType<Store['apply']> {
    // What nobody waits for has a deadline of its own, and no say in whether others wait.
    if (options?.background || steps.length === 0) return this.store.apply(steps, options);
    const { era } = this.breaker;
    let answers: ReturnType<Store['apply']>;
    try {
      answers = this.store.apply(steps, options);
    } catch (error) {
      this.breaker.failed(steps[0] as Step, error, era, this);
      throw error;
    }
    return isLater(answers) ? this.hear(answers, era, steps[0] as Step) : answers;
  }

  /** The breaker's own question, whose answer is not heard as that of a call. */
  ask(step: Step): ReturnType<Store['apply']> {
    return this.store.apply([step]);
  }

  private hear(
    answers: Promise<readonly Answer[]>,
    era: number,
    step: Step,
  ): Promise<readonly Answer[]> {
    return answers.then(
      (value) => {
        this.breaker.succeeded(step);
        return value;
      },
      (error: unknown) => {
        this.breaker.failed(step, error, era, this);
        throw error;
      },
    );
  }
}
