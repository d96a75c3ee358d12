/** Calls a store; for steps that it can't answer, each step's `onStoreError` answers. */

import { timeoutOf } from '../algorithms/group.js';
import { systemClock } from '../base/clock.js';
import type { Eventually } from '../base/host.js';
import type { Answer } from '../contract/ask.js';
import type { Step, Store } from '../contract/store.js';
import type { AskOptions } from '../contract/store-link.js';
import type { Calls } from './calls.js';
import { type CircuitBreaker, domainOf } from './circuit-breaker.js';
import type { FallbackCounters } from './fallback-counters.js';
import { anyRejects, askParts, asLook, type Part, partsOf, place } from './group-parts.js';

/**
 * Answers by {@link Step.onStoreError} where a call fails, with the error in `failure`. If that is a rule, the fallback
 * counters decide; to be prepared, they also count what an asynchronous store admits. A synchronous store lives in this
 * process and needs no fallback.
 */
export class Fallback {
  private readonly calls: Calls;
  private readonly counters: FallbackCounters;
  private readonly store: Store | undefined;
  private readonly breaker: CircuitBreaker | undefined;

  /**
   * @param store behind `calls`; its `domainOf` tells on which part a step depends
   * @param breaker tells which parts must not be called
   */
  constructor(calls: Calls, counters: FallbackCounters, store?: Store, breaker?: CircuitBreaker) {
    this.calls = calls;
    this.counters = counters;
    this.store = store;
    this.breaker = breaker;
  }

  /** Returns the result of `then(answers)`. There is an answer for every step, even if the store fails. */
  askWithFallback<Value>(
    steps: readonly Step[],
    then: (answers: readonly Answer[]) => Eventually<Value>,
    options?: AskOptions,
  ): Eventually<Value> {
    if (this.calls.sync) return this.call(steps, then, options);
    this.counters.release(steps);
    const parts = this.parts(steps);
    if (parts) return this.askAcross(parts, steps, options).then(then);
    const barred = this.bar(steps, options);
    if (!barred) return this.call(steps, then, options);
    const inTime = this.inTime(steps, options);
    return Promise.resolve(barred).then((error) =>
      error ? then(this.answerFor(steps, error)) : this.call(steps, then, inTime),
    );
  }

  /** Sets the deadline from now: time spent waiting for a probe counts towards the timeout. */
  private inTime(steps: readonly Step[], options: AskOptions | undefined): AskOptions {
    const latestUs = systemClock.nowUs() + timeoutOf(steps.length, this.calls.timeoutUs);
    return { ...options, deadlineUs: Math.min(latestUs, options?.deadlineUs ?? Infinity) };
  }

  private call<Value>(
    steps: readonly Step[],
    then: (answers: readonly Answer[]) => Eventually<Value>,
    options: AskOptions | undefined,
  ): Eventually<Value> {
    const { calls, counters } = this;
    return calls.callStore(
      steps,
      (answers) => then(calls.sync ? answers : counters.follow(steps, answers)),
      options,
      (error) => then(this.answerFor(steps, error)),
    );
  }

  /** The parts over which a group is spread; undefined if there is only one. Steps of one key are always in one. */
  private parts(steps: readonly Step[]): readonly Part<string>[] | undefined {
    const { store } = this;
    if (!store?.domainOf || steps.every(({ key }) => key === steps[0]?.key)) return undefined;
    const parts = partsOf(steps, (step) => domainOf(store, step));
    return parts.length > 1 ? parts : undefined;
  }

  /** See {@link CircuitBreaker.bar}. */
  private bar(
    steps: readonly Step[],
    options: AskOptions | undefined,
  ): ReturnType<CircuitBreaker['bar']> {
    return this.breaker?.bar(steps, options);
  }

  /**
   * Answers by policy for parts whose breaker is open, and for parts that fail. The open ones come first: if their
   * policy rejects, the other parts are only looked at. The fallback counters are charged last, if all pass.
   */
  private async askAcross(
    parts: readonly Part<string>[],
    steps: readonly Step[],
    options: AskOptions | undefined,
  ): Promise<readonly Answer[]> {
    const inTime = options?.background ? options : this.inTime(steps, options);
    const barred = await Promise.all(parts.map((part) => this.bar(part.steps, options)));
    const down = parts.filter((_, i) => barred[i]);
    if (down.length === parts.length) return this.answerFor(steps, barred[0]);
    const answerOf = (own: readonly Step[], error: unknown) =>
      this.counters.answerLocally(own, error, false);
    const errors = new Map(parts.map(({ name }, i) => [name, barred[i]]));
    const askPart = (own: readonly Step[], name: string, always: boolean) => {
      const error = errors.get(name);
      if (error) throw error;
      return this.calls.callStore(own, (answers) => answers, always ? undefined : inTime);
    };
    const answersOfDown: Answer[] = [];
    let rejected = false;
    for (const part of down) {
      const own = answerOf(part.steps, errors.get(part.name));
      place(part, own, answersOfDown);
      rejected ||= anyRejects(part.steps, own);
    }
    const up = parts.filter(({ name }) => !errors.get(name));
    // A group that is already rejected must not charge anything.
    const answers = await askParts(rejected ? up.map(asLook) : up, askPart, answerOf);
    const all = steps.map((_, at) => (answers[at] ?? answersOfDown[at]) as Answer);
    return this.counters.follow(steps, all);
  }

  private answerFor(steps: readonly Step[], error: unknown): readonly Answer[] {
    return this.counters.answerLocally(steps, error, true);
  }
}
