import { systemClock } from '../base/clock.js';
import { mustBe } from '../base/errors.js';
import { type Eventually, isLater } from '../base/host.js';
import type { Answer } from '../contract/rule.js';
import type { ApplyOptions, Step, Store } from '../contract/store.js';
import type { AskOptions, Linked, StoreLink, StoreUser } from '../contract/store-link.js';
import { Calls, withDeadline } from './calls.js';
import { checkStoreShape } from './check-store.js';
import type { DenialCache } from './denial-cache.js';
import { Fallback } from './fallback.js';
import { type RemoteState, remoteState } from './remote-state.js';

/**
 * Protects limits against a store that is slow, fails or returns invalid answers. It adds a timeout, a circuit breaker,
 * fallback counters in this process and a denial cache. Call it once for each custom store, where it is created;
 * `redisStore`, `durableObjectStore` and `stateStore` call it themselves, and `memoryStore()` doesn't need it.
 *
 * @returns the same object, with the additional method `link`
 * @throws SpillwayError `SPW_STORE_INVALID` if `store` is not a store; `SPW_OPTION_INVALID` if it is not extensible:
 * freeze it afterwards
 * @example
 * ```ts
 * import { createLimiter, type Store } from '@spillway/core';
 * import { remoteStore } from '@spillway/core/store';
 *
 * declare class MyStore implements Store {
 *   readonly sync: false;
 *   apply: Store['apply'];
 * }
 * const store = remoteStore(new MyStore());
 * export const logins = createLimiter({ name: 'logins', limit: 5, window: '15m' }, { store });
 * ```
 */
export function remoteStore<S extends Store>(store: S): S & Linked {
  checkStoreShape(store);
  if (!Object.isExtensible(store)) {
    throw mustBe('store', 'extensible: freeze it after remoteStore(store)', store);
  }
  // Enumerable, so that a spread of the store copies `link`, whose `this` is then the copy.
  return Object.assign(store, {
    link(this: Store, user: StoreUser): StoreLink {
      return new RemoteLink(this, user);
    },
  });
}

type Answers = readonly Answer[];

class RemoteLink implements StoreLink {
  readonly clock: undefined = undefined;
  private readonly answering: Fallback;
  private readonly state: RemoteState;
  private readonly cachesDenials: boolean;

  constructor(store: Store, user: StoreUser) {
    const state = remoteState(store, user.clock);
    this.answering = answering(store, state, user);
    this.state = state;
    this.cachesDenials = user.cachesDenials;
  }

  askNow(): undefined {}

  soon<Value>(value: Value): Promise<Value> {
    return this.state.turns.soon(value);
  }

  known(step: Step): Answer | undefined {
    return this.cachesDenials ? this.state.denials?.denialOf(step) : undefined;
  }

  ask<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
    options?: AskOptions,
  ): Eventually<Value> {
    const { denials } = this.state;
    if (!denials) return this.answering.askWithFallback(steps, then);
    const askedUs = denials.nowUs();
    const cacheDenials = (answers: Answers) => then(learnt(denials, steps, answers, askedUs));
    return this.inTurns(this.answering.askWithFallback(steps, cacheDenials, options), steps);
  }

  giveBack<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
    forUs?: number,
  ): Eventually<Value> {
    this.forgetDenials(steps);
    const forgetAgain = (answers: Answers) => {
      this.forgetDenials(steps);
      return then(answers);
    };
    const answered = this.answering.askWithFallback(steps, forgetAgain, background(forUs));
    return forUs === undefined ? this.inTurns(answered, steps) : answered;
  }

  forgetAll(): void {
    this.state.denials?.clear();
  }

  forgetReset(limiter: string, key: string): void {
    this.state.counters.forgetKey(limiter, key);
  }

  /** Lets the event loop run now and then, because a caller that only awaits settled promises would block it. */
  private inTurns<Value>(
    answered: Eventually<Value>,
    { length }: readonly Step[],
  ): Eventually<Value> {
    return isLater(answered) ? this.state.turns.after(answered, length) : answered;
  }

  private forgetDenials(steps: readonly Step[]): void {
    const { denials } = this.state;
    if (!denials) return;
    // Denials of permits and claims are not cached.
    for (const step of steps) if (!step.lease && !step.claim) denials.forgetDenials(step);
  }
}

function answering(store: Store, state: RemoteState, user: StoreUser): Fallback {
  const { resilience, observers, logger } = user;
  const { timeoutUs, policies } = resilience;
  if (store.sync) return new Fallback(new Calls(store, timeoutUs), state.counters);
  const breaker = resilience.breaker && state.breaker(resilience.breaker);
  if (breaker) {
    observers?.listenTo(breaker.listeners);
    if (logger) breaker.log.loggers.add(logger);
    for (const [limiter, policy] of policies) breaker.log.policies.set(limiter, policy);
  }
  const observer = observers?.wantsStoreCalls ? observers : undefined;
  const calls = new Calls(withDeadline(store, timeoutUs), timeoutUs, breaker, observer);
  return new Fallback(calls, state.counters, store);
}

function learnt(
  denials: DenialCache,
  steps: readonly Step[],
  answers: Answers,
  askedUs: number,
): Answers {
  try {
    for (const [i, step] of steps.entries())
      denials.learnAnswer(step, answers[i] as Answer, askedUs);
  } catch {
    // The rule of a custom limiter may be invalid. The limiter's `decide` reports that next.
  }
  return answers;
}

/** The options of a background call. Its deadline is always by the system clock, as stores expect, not by `clock`. */
function background(forUs: number | undefined): ApplyOptions | undefined {
  if (forUs === undefined) return undefined;
  return { deadlineUs: systemClock.nowUs() + forUs, background: true };
}
