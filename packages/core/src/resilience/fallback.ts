/** Store decorator: when the store cannot answer, each step's own policy does. */

import { asError } from '../errors.js';
import { isLater } from '../host.js';
import type { Answer, ApplyOptions, Step, Store, SyncStore } from '../store.js';
import { hasStandIn, StandIn, standInOf } from './stand-in.js';

/**
 * Answers by {@link Step.onStoreError} where the store throws or rejects, and says so in `failure`. Where that is a rule, the
 * stand-in decides, by what it has counted in `local` (default: one memory for all that use this store). It follows a store
 * that answers later; one that answers at once lives in this process itself.
 */
export function withFallback(store: Store, local?: SyncStore): Store {
  return fallingBackOn(store, local ? new StandIn(local) : standInOf(store));
}

/** {@link withFallback} for a store that other decorators already stand before: the stand-in is that of the store itself. */
export function fallingBackOn(store: Store, standIn: StandIn): Store {
  return new FallbackStore(store, standIn);
}

class FallbackStore implements Store {
  readonly sync: boolean;

  constructor(
    private readonly store: Store,
    private readonly standIn: StandIn,
  ) {
    this.sync = store.sync;
  }

  apply(steps: readonly Step[], options?: ApplyOptions): ReturnType<Store['apply']> {
    let answers: ReturnType<Store['apply']>;
    try {
      answers = this.store.apply(steps, options);
    } catch (error) {
      return this.answerFor(steps, error);
    }
    if (!isLater(answers)) return answers;
    return answers.then(
      (value) => this.standIn.follow(steps, value),
      (error: unknown) => this.answerFor(steps, error),
    );
  }

  private answerFor(steps: readonly Step[], error: unknown): readonly Answer[] {
    const failure = asError(error);
    const refused = steps.some((step) => step.binding && step.onStoreError === 'deny');
    const counted = steps.filter(hasStandIn);
    const answers = counted.length === 0 ? [] : this.standIn.decide(counted, refused);
    let next = 0;
    return steps.map((step) => {
      if (hasStandIn(step)) return { ...(answers[next++] as Answer), failure };
      const allowed = step.onStoreError !== 'deny' && step.op !== 'put';
      return { allowed, nowUs: 0, tatUs: 0, tatNum: 0, failure };
    });
  }
}
