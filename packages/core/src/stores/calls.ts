/**
 * Calls a store, checks each answer, and reports each call to the breaker and to observers. All of this runs in one
 * continuation of the store's promise, because each additional promise takes as long as a decision of the memory store.
 */

import { NUMBERS } from '../algorithms/by-name.js';
import { timeoutOf } from '../algorithms/group.js';
import { type Clock, systemClock } from '../base/clock.js';
import { isSpillwayError, SpillwayError, show } from '../base/errors.js';
import {
  after,
  afterIdly,
  afterPendingInput,
  type Eventually,
  endsTimersWithRequests,
  isLater,
} from '../base/host.js';
import { isEnd } from '../contract/ask.js';
import type { Answer, ClaimsAnswer } from '../contract/rule.js';
import type { Step, Store } from '../contract/store.js';
import type { AskOptions } from '../contract/store-link.js';
import type { Observers } from '../observe/observers.js';
import type { CircuitBreaker } from './circuit-breaker.js';
import type { ProbeSender } from './probe.js';

type CallObserver = Pick<Observers, 'storeCall'>;

type Answers = readonly Answer[];

export class Calls implements ProbeSender {
  readonly sync: boolean;
  readonly timeoutUs: number;
  private readonly store: Store;
  readonly breaker: CircuitBreaker | undefined;
  private readonly observer: CallObserver | undefined;

  /** @param store must reject calls that time out, see `withDeadline` */
  constructor(store: Store, timeoutUs: number, breaker?: CircuitBreaker, observer?: CallObserver) {
    this.store = store;
    this.sync = store.sync;
    this.timeoutUs = timeoutUs;
    this.breaker = breaker;
    this.observer = observer;
  }

  /**
   * Returns the result of `then(answers)`, or of `failed(error)` if the call fails. All steps of a call must depend on
   * the same part of the store. The breaker doesn't count background calls, because their failures must not keep
   * requests from the store.
   */
  callStore<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
    options?: AskOptions,
    failed: (error: unknown) => Eventually<Value> = rethrow,
    isCounted: boolean = !options?.background && steps.length > 0,
  ): Eventually<Value> {
    const breaker = isCounted ? this.breaker : undefined;
    const askedUs = breaker ? breaker.clock.nowUs() : 0;
    const turn = breaker ? breaker.turns.now : 0;
    const startUs = this.observer ? systemClock.nowUs() : 0;
    const failCall = (error: unknown): Eventually<Value> => {
      this.observeCall(startUs, kindOf(error));
      breaker?.failed(steps, error, askedUs, this);
      return failed(error);
    };
    const takeAnswers = (answers: Answers): Eventually<Value> => {
      try {
        checkAnswers(steps, answers);
      } catch (error) {
        return failCall(error);
      }
      this.observeCall(startUs, 'ok');
      breaker?.succeeded(steps, askedUs, turn, this);
      return then(answers);
    };
    let answers: Eventually<Answers>;
    try {
      answers = this.store.apply(steps, options);
    } catch (error) {
      return failCall(error);
    }
    // The store may return any thenable.
    return isLater(answers)
      ? Promise.resolve(answers).then(takeAnswers, failCall)
      : takeAnswers(answers);
  }

  sendProbe(step: Step): Eventually<Answers> {
    return this.callStore([step], (answers) => answers, undefined, rethrow, false);
  }

  private observeCall(startUs: number, outcome: string): void {
    this.observer?.storeCall({ durationMs: (systemClock.nowUs() - startUs) / 1000, outcome });
  }
}

function rethrow(error: unknown): never {
  throw error;
}

function kindOf(error: unknown): string {
  if (!isSpillwayError(error)) return 'other';
  return error.kind ?? WORDS[error.code] ?? 'other';
}

const WORDS: Readonly<Record<string, string>> = {
  SPW_STORE_TIMEOUT: 'timeout',
  SPW_STORE_UNAVAILABLE: 'unavailable',
};

const STATES: readonly unknown[] = ['free', 'running', 'done'] satisfies ClaimsAnswer['state'][];

function checkAnswers(steps: readonly Step[], answers: unknown): void {
  if (!Array.isArray(answers) || answers.length !== steps.length) {
    throw noAnswer(`${steps.length} answers`, answers);
  }
  for (let i = 0; i < steps.length; i += 1) checkAnswer(steps[i] as Step, answers[i]);
}

function checkAnswer({ rule }: Step, answer: unknown): void {
  const { machine } = rule;
  if (typeof answer !== 'object' || answer === null) throw noAnswer('an object', answer);
  const { allowed, failure } = answer as Answer;
  if (failure) return; // a part of the store failed, so the other properties mean nothing
  if (typeof allowed !== 'boolean') throw noAnswer(`allowed of ${machine}`, allowed);
  for (const name of NUMBERS[machine]) {
    const value = (answer as Readonly<Record<string, unknown>>)[name];
    if (!Number.isSafeInteger(value)) throw noAnswer(`${name} of ${machine}`, value);
  }
  if (machine === 'claims') checkTexts(answer as Readonly<Record<string, unknown>>);
}

function checkTexts({ state, owner, note }: Readonly<Record<string, unknown>>): void {
  if (!STATES.includes(state)) throw noAnswer(`one of ${STATES.join(', ')}`, state);
  if (typeof owner !== 'string') throw noAnswer('owner of claims', owner);
  if (typeof note !== 'string') throw noAnswer('note of claims', note);
}

function noAnswer(wanted: string, got: unknown): SpillwayError {
  const message = `invalid answer: expected ${wanted}, got ${show(got)}`;
  return new SpillwayError('SPW_STORE_ERROR', message, { kind: 'reply' });
}

/** Calls share a timer if their deadlines differ by at most this. It fires this long after the first deadline. */
const SHARED_US = 1_000;

/**
 * Rejects a call with `SPW_STORE_TIMEOUT`, up to one millisecond late, if the store doesn't answer within `timeoutUs`
 * (microseconds). A group of more than 128 steps has twice this time, and one of more than 640 steps three times. A
 * call with `background` has only its `deadlineUs`. A synchronous store is returned unchanged. The store may still
 * charge a call that timed out; such a charge is not refunded.
 */
export function withDeadline(store: Store, timeoutUs: number, clock: Clock = systemClock): Store {
  if (store.sync) return store;
  /** False on hosts where a timer ends with the request that set it. */
  const sharesTimers = !endsTimersWithRequests();
  let last: Waiting | undefined;
  const waitingUntil = (untilUs: number, nowUs: number): Waiting => {
    const lateUs = last?.isOpen ? last.endsUs - untilUs : -1;
    if (last && sharesTimers && lateUs >= 0 && lateUs <= SHARED_US) return last;
    last = new Waiting(untilUs, nowUs, after);
    return last;
  };
  return {
    sync: false,
    apply(steps, options) {
      const { background, deadlineUs: latestUs = Infinity } = options ?? {};
      const nowUs = clock.nowUs();
      const ownUs = background ? Infinity : nowUs + timeoutOf(steps.length, timeoutUs);
      const untilUs = Math.min(ownUs, latestUs);
      // The store gets no deadline for steps that end a request, such as releases: a late release is better than a
      // permit that is held until its lease expires.
      const deadlineUs = steps.every(isEnd) ? Infinity : untilUs;
      const answers = store.apply(steps, { deadlineUs, background });
      if (!isLater(answers) || untilUs === Infinity) return answers;
      const waiting = background
        ? new Waiting(untilUs, nowUs, afterIdly)
        : waitingUntil(untilUs, nowUs);
      return waiting.awaitAnswers(Promise.resolve(answers)); // the store may return any thenable
    },
  };
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
