/** The link of a memory store, which answers at once and cannot be away. */

import { unanswered } from '../algorithms/decide.js';
import type { Clock } from '../base/clock.js';
import { asError } from '../base/errors.js';
import type { Eventually } from '../base/host.js';
import type { Answer } from '../contract/ask.js';
import type { Step, SyncStore } from '../contract/store.js';
import type { StoreLink } from '../contract/store-link.js';

/** What a memory store can beside `apply`: one step, without a list for it or for its answer. */
export interface OneStepStore extends SyncStore {
  /** By which it decides. */
  readonly clock: Clock;
  applyOne(step: Step): Answer;
}

type Answers = readonly Answer[];

export class LocalLink implements StoreLink {
  readonly clock: Clock;
  private readonly store: OneStepStore;
  private readonly ownApply: SyncStore['apply'];

  /** @param ownApply that of the store's class */
  constructor(store: OneStepStore, ownApply: SyncStore['apply']) {
    this.store = store;
    this.clock = store.clock;
    this.ownApply = ownApply;
  }

  askNow(step: Step): Answer | undefined {
    const { store } = this;
    // Somebody may have replaced `apply`, as a spy of a test does.
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
      // Claims for which there is no room, or a group that no store could decide.
      const failure = asError(error);
      return steps.map((step) => unanswered(step, failure));
    }
  }

  forgetAll(): void {}

  forgetReset(): void {}
}
