/** The link of a store that can be slow or fail: deadline, breaker, counts for outages, and remembered refusals. */

import { systemClock } from '../base/clock.js';
import { type Eventually, isLater } from '../base/host.js';
import type { Turns } from '../base/turns.js';
import type { Answer } from '../contract/ask.js';
import type { ApplyOptions, Step, Store } from '../contract/store.js';
import type { Host, StoreLink, StoreUser } from '../contract/store-link.js';
import { Calls } from './calls.js';
import { withDeadline } from './deadline.js';
import { Fallback } from './fallback.js';
import type { Refusals } from './refusals.js';
import { type RemoteState, remoteState } from './remote-state.js';

type Answers = readonly Answer[];

export class RemoteLink implements StoreLink {
  readonly clock: undefined = undefined;
  private readonly answering: Fallback;
  private readonly state: RemoteState;
  private readonly refusals: Refusals | undefined;
  private readonly remembers: boolean;
  private readonly turns: Turns;

  constructor(store: Store, user: StoreUser) {
    const state = remoteState(store, user.clock);
    this.answering = answering(store, state, user);
    this.state = state;
    this.refusals = state.refusals;
    this.remembers = user.remembers;
    this.turns = user.turns;
  }

  askNow(): undefined {}

  known(step: Step): Answer | undefined {
    return this.remembers ? this.refusals?.find(step) : undefined;
  }

  ask<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
    host?: Host,
  ): Eventually<Value> {
    const { refusals } = this;
    if (!refusals) return this.answering.ask(steps, then);
    const askedUs = refusals.now();
    const learn = (answers: Answers) => then(learnt(refusals, steps, answers, askedUs));
    return this.inTurns(this.answering.ask(steps, learn, undefined, host), steps);
  }

  giveBack<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
    forUs?: number,
  ): Eventually<Value> {
    this.forget(steps);
    const forgetAgain = (answers: Answers) => {
      this.forget(steps);
      return then(answers);
    };
    const answered = this.answering.ask(steps, forgetAgain, background(forUs));
    return forUs === undefined ? this.inTurns(answered, steps) : answered;
  }

  renew(steps: readonly Step[], forUs: number): Eventually<Answers> {
    return this.answering.ask(steps, (answers) => answers, background(forUs));
  }

  forgetAll(): void {
    this.refusals?.clear();
  }

  forgetReset(limiter: string, key: string): void {
    this.state.standIn.forget(limiter, key);
  }

  /** A store that fails, or answers by itself, may do so without input or output. */
  private inTurns<Value>(
    answered: Eventually<Value>,
    { length }: readonly Step[],
  ): Eventually<Value> {
    return isLater(answered) ? this.turns.after(answered, length) : answered;
  }

  private forget(steps: readonly Step[]): void {
    if (!this.refusals) return;
    // Of permits and claims no refusal is remembered.
    for (const step of steps) if (!step.lease && !step.claim) this.refusals.forget(step);
  }
}

/** What stands between a user and the store, in its one order. */
function answering(store: Store, state: RemoteState, user: StoreUser): Fallback {
  const { resilience, observers, logger } = user;
  const { timeoutUs, policies } = resilience;
  if (store.sync) return new Fallback(new Calls(store, timeoutUs), state.standIn);
  const breaker = resilience.breaker && state.breaker(resilience.breaker);
  if (breaker) {
    if (observers) breaker.listen((event) => observers.breaker(event));
    if (logger) breaker.log.tell(logger);
    for (const [limiter, policy] of policies) breaker.log.note(limiter, policy);
  }
  const observer = observers?.hearsStoreCalls ? observers : undefined;
  const calls = new Calls(withDeadline(store, timeoutUs), timeoutUs, breaker, observer);
  return new Fallback(calls, state.standIn, store, breaker);
}

function learnt(
  refusals: Refusals,
  steps: readonly Step[],
  answers: Answers,
  askedUs: number,
): Answers {
  try {
    for (const [i, step] of steps.entries()) refusals.learn(step, answers[i] as Answer, askedUs);
  } catch {
    // A rule that nobody can measure, of a limiter that is not ours: its own `decide` meets it next.
  }
  return answers;
}

/** The deadline is on the process's own clock, whatever clock is set: by it stores tell what is too late. */
function background(forUs: number | undefined): ApplyOptions | undefined {
  if (forUs === undefined) return undefined;
  return { deadlineUs: systemClock.nowUs() + forUs, background: true };
}
