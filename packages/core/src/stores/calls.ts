/**
 * Asks a store, and hears what came of each call: answers are checked, and the breaker and observers are told. All of
 * it in one continuation of the store's promise, because each promise more costs as much as a decision in memory.
 */

import { systemClock } from '../base/clock.js';
import { isSpillwayError } from '../base/errors.js';
import { type Eventually, isLater } from '../base/host.js';
import type { Answer } from '../contract/ask.js';
import type { ApplyOptions, Step, Store } from '../contract/store.js';
import type { Observers } from '../observe/observers.js';
import type { Breaker } from './breaker.js';
import { checkAnswers } from './checked.js';
import type { Asker } from './probe-step.js';

/** Told how long each call took, and what came of it. */
type CallObserver = Pick<Observers, 'storeCall'>;

type Answers = readonly Answer[];

export class Calls implements Asker {
  readonly sync: boolean;
  readonly timeoutUs: number;
  private readonly store: Store;
  private readonly breaker: Breaker | undefined;
  private readonly observer: CallObserver | undefined;

  /**
   * @param store rejects in time, see `withDeadline`
   * @param timeoutUs how long a step may take
   * @param breaker for a store that answers later only
   */
  constructor(store: Store, timeoutUs: number, breaker?: Breaker, observer?: CallObserver) {
    this.store = store;
    this.sync = store.sync;
    this.timeoutUs = timeoutUs;
    this.breaker = breaker;
    this.observer = observer;
  }

  /**
   * What `then` makes of the answers, or `failed` of what the store threw. All steps of a call must depend on one part
   * of the store.
   *
   * @param isHeard whether the breaker is told. By default not of what nobody waits for: it has a deadline of its own,
   * and no say in whether others wait.
   */
  ask<Value>(
    steps: readonly Step[],
    options: ApplyOptions | undefined,
    then: (answers: Answers) => Eventually<Value>,
    failed: (error: unknown) => Eventually<Value>,
    isHeard: boolean = !options?.background && steps.length > 0,
  ): Eventually<Value> {
    const breaker = isHeard ? this.breaker : undefined;
    const askedUs = breaker ? breaker.clock.nowUs() : 0;
    const turn = breaker ? breaker.turns.now : 0;
    const startUs = this.observer ? systemClock.nowUs() : 0;
    const fail = (error: unknown): Eventually<Value> => {
      this.tell(startUs, kindOf(error));
      breaker?.failed(steps, error, askedUs, this);
      return failed(error);
    };
    const take = (answers: Answers): Eventually<Value> => {
      try {
        checkAnswers(steps, answers);
      } catch (error) {
        return fail(error);
      }
      this.tell(startUs, 'ok');
      breaker?.succeeded(steps, askedUs, turn, this);
      return then(answers);
    };
    let answers: Eventually<Answers>;
    try {
      answers = this.store.apply(steps, options);
    } catch (error) {
      return fail(error);
    }
    // A promise of anybody's making.
    return isLater(answers) ? Promise.resolve(answers).then(take, fail) : take(answers);
  }

  /** {@link ask} for the answers themselves. */
  apply(steps: readonly Step[], options?: ApplyOptions): Eventually<Answers> {
    return this.ask(steps, options, same, rethrow);
  }

  /** The breaker's own question, whose answer is not heard as that of a call. */
  question(step: Step): Eventually<Answers> {
    return this.ask([step], undefined, same, rethrow, false);
  }

  private tell(startUs: number, outcome: string): void {
    this.observer?.storeCall({ durationMs: (systemClock.nowUs() - startUs) / 1000, outcome });
  }
}

function same<Value>(value: Value): Value {
  return value;
}

function rethrow(error: unknown): never {
  throw error;
}

/** A word for what went wrong: of few values. */
function kindOf(error: unknown): string {
  if (!isSpillwayError(error)) return 'other';
  return error.kind ?? WORDS[error.code] ?? 'other';
}

const WORDS: Readonly<Record<string, string>> = {
  SPW_STORE_TIMEOUT: 'timeout',
  SPW_STORE_UNAVAILABLE: 'unavailable',
};
