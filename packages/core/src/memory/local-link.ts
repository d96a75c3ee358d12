import { unanswered } from '../algorithms/decide.js';
import type { Clock } from '../base/clock.js';
import { asError } from '../base/errors.js';
import type { Eventually } from '../base/host.js';
import type { Answer } from '../contract/rule.js';
import type { Step, SyncStore } from '../contract/store.js';
import type { StoreLink } from '../contract/store-link.js';

/** A memory store that can also apply a single step, without an array for the step and another for its answer. */
export interface OneStepStore extends SyncStore {
  readonly clock: Clock;
  applyOne(step: Step): Answer;
}

type Answers = readonly Answer[];

export class LocalLink implements StoreLink {
  readonly clock: Clock;
  private readonly store: OneStepStore;
  private readonly ownApply: SyncStore['apply'];

  /**
   * @param ownApply the class's `apply`. If a test has replaced `store.apply`, for example with a spy, the replacement
   * is called instead
   */
  constructor(store: OneStepStore, ownApply: SyncStore['apply']) {
    this.store = store;
    this.clock = store.clock;
    this.ownApply = ownApply;
  }

  askNow(step: Step): Answer | undefined {
    const { store } = this;
    if (store.apply !== this.ownApply) return undefined;
    try {
      return store.applyOne(step);
    } catch {
      return undefined;
    }
  }

  soon<Value>(value: Value): Promise<Value> {
    return Promise.resolve(value);
  }

  known(): undefined {}

  ask<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
  ): Eventually<Value> {
    return then(this.renew(steps));
  }

  giveBack<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
  ): Eventually<Value> {
    return then(this.renew(steps));
  }

  renew(steps: readonly Step[]): Answers {
    try {
      return this.store.apply(steps);
    } catch (error) {
      const failure = asError(error);
      return steps.map((step) => unanswered(step, failure));
    }
  }

  forgetAll(): void {}

  forgetReset(): void {}
}
