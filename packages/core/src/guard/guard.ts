/** The guard: a list of limiters over one request, all stored ones in one call of the store. */

import { isLater } from '../base/host.js';
import type { Admission } from '../contract/admission.js';
import type { Control } from '../contract/control.js';
import type { Limiter, StepContext, StoredLimiter } from '../contract/limiter.js';
import type { LimitRequest } from '../contract/request.js';
import { skippedDecision } from '../contract/skipped.js';
import type { Answer, Step } from '../contract/store.js';
import { checkedControl } from '../control/checked-control.js';
import { ResponseWriter } from '../http/response-writer.js';
import { Observers } from '../observe/observers.js';
import { voiceFor } from '../observe/voice.js';
import { Resets } from '../stores/resets.js';
import type { Policies } from '../stores/stack.js';
import { StoreClient } from '../stores/store-client.js';
import { callbackTimeoutOf, checkLimiters, checkPreflights } from './check.js';
import { decideStored } from './deciding.js';
import { Ending } from './ending.js';
import { isExempt } from './exempt.js';
import { GuardAdmission } from './guard-admission.js';
import { KnownDecisions } from './known-decisions.js';
import { Modes } from './modes.js';
import { type Guard, type GuardLimiter, type GuardOptions, listed } from './options.js';
import { Permits } from './permits/permits.js';
import { Questions } from './questions.js';
import type { DecidedTurn, Turn } from './turn.js';

/**
 * Makes a guard: every limiter of the list must let a request pass, and if one refuses, none is charged.
 *
 * @throws SpillwayError `SPW_LIMITER_INVALID`, `SPW_NAME_REQUIRED`, `SPW_NAME_CONFLICT`, `SPW_STORE_INVALID`,
 * `SPW_OPTION_INVALID`
 * @example
 * ```ts
 * import { createGuard, rateLimit } from '@spillway/core';
 *
 * const guard = createGuard(rateLimit({ limit: 100, window: '1m' }));
 * const admission = await guard.admit({
 *   method: 'GET',
 *   path: '/',
 *   clientIp: '203.0.113.7',
 *   header: () => undefined,
 *   raw: undefined,
 * });
 * admission.allowed; // true
 * ```
 */
export function createGuard<Raw = unknown>(
  limiters: Limiter<Raw> | readonly Limiter<Raw>[],
  options: GuardOptions<Raw> = {},
): Guard<Raw> {
  return new ListGuard(Array.isArray(limiters) ? limiters : [limiters as Limiter<Raw>], options);
}

class ListGuard<Raw> implements Guard<Raw> {
  readonly limiters: readonly GuardLimiter[];
  readonly writer: ResponseWriter;
  readonly ending: Ending<Raw>;
  private readonly options: GuardOptions<Raw>;
  private readonly observers: Observers;
  private readonly context: StepContext;
  private readonly client: StoreClient;
  private readonly permits: Permits;
  private readonly questions: Questions<Raw>;
  private readonly known: KnownDecisions<Raw>;

  constructor(limiters: readonly Limiter<Raw>[], options: GuardOptions<Raw>) {
    checkLimiters(limiters, options.store);
    checkPreflights(options);
    this.options = options;
    this.limiters = listed(limiters);
    this.writer = new ResponseWriter(options.headers, options.blockedStatus);
    this.observers = new Observers(
      [
        options,
        ...(options.observers ?? []),
        { onBreaker: (event) => this.permits.onBreaker(event) },
      ],
      voiceFor(options, options.store),
    );
    this.context = {
      onStoreError: options.onStoreError ?? 'local',
      fault: (fault) => this.observers.fault(fault),
      countedAs: undefined,
      callbackTimeoutMs: callbackTimeoutOf(options),
    };
    this.client = new StoreClient(options, this.observers, policiesOf(limiters, this.context));
    this.permits = new Permits(this.client);
    this.ending = new Ending(limiters, this.permits, this.client.clock, this.context);
    for (const limiter of limiters) this.announce(limiter);
    const control = options.control && this.followed(options.control);
    const modes = new Modes(options.mode, this.context);
    const contexts = limiters.map((one) => this.contextOf(one));
    this.questions = new Questions(limiters, modes, control, this.client, contexts);
    this.known = new KnownDecisions(control, this.client, this.context);
  }

  admit(request: LimitRequest<Raw>): Admission | Promise<Admission> {
    const startUs = this.ending.startUs();
    const exempt = isExempt(request, this.options, this.context);
    const turns = this.questions.begin(request, exempt === true);
    const later = this.questions.later(turns, exempt);
    return later
      ? later.then(() => this.decide(request, turns, startUs))
      : this.decide(request, turns, startUs);
  }

  get inProgress(): number {
    return this.permits.size;
  }

  close(): Promise<void> {
    return this.permits.close();
  }

  private decide(
    request: LimitRequest<Raw>,
    turns: Turn<Raw>[],
    startUs: number,
  ): Admission | Promise<Admission> {
    const steps: Step[] = [];
    let refused = false;
    for (const turn of turns) {
      this.known.decide(turn);
      if (turn.decision) refused ||= !turn.decision.allowed;
      else if (turn.step) steps.push(turn.step);
    }
    // What this process refuses by itself costs the store nothing.
    if (refused || steps.length === 0) return this.conclude(turns, undefined, startUs);
    this.permits.keepUp();
    const answers = this.client.ask(steps, request);
    return isLater(answers)
      ? answers.then((given) => this.conclude(turns, given, startUs))
      : this.conclude(turns, answers, startUs);
  }

  /** `answers`: one for each step, undefined if the store was not asked. */
  private conclude(
    turns: Turn<Raw>[],
    answers: readonly Answer[] | undefined,
    startUs: number,
  ): Admission {
    const { observers } = this;
    let next = 0;
    for (const turn of turns) {
      if (answers && turn.step && !turn.decision) this.judge(turn, answers[next++]);
      turn.decision ??= skippedDecision(turn.limiter.name);
      if (observers.hearsDecisions) {
        observers.decision(turn.decision, turn.mode, turn.step?.key);
      }
    }
    return new GuardAdmission(turns as DecidedTurn<Raw>[], this, startUs);
  }

  /** A limiter of anybody's may ask what gets no answer. */
  private judge(turn: Turn<Raw>, answer: Answer | undefined): void {
    const limiter = turn.limiter as StoredLimiter<Raw>;
    turn.answer = answer;
    turn.decision = decideStored(
      limiter,
      turn.mode,
      turn.step as Step,
      answer as Answer,
      this.context,
    );
    const error = answer?.failure;
    if (error) this.context.fault({ limiter: limiter.name, source: 'store', error });
  }

  /** Tells the store and the control of a limiter. */
  private announce(limiter: Limiter<Raw>): void {
    const rule = limiter.kind === 'stored' ? limiter.rule : undefined;
    if (rule) this.client.claim(limiter, rule);
    this.options.control?.register?.(limiter.name, rule);
  }

  private contextOf(limiter: Limiter<Raw>): StepContext {
    if (this.options.store) return this.context;
    return { ...this.context, countedAs: this.client.nameOf(limiter) };
  }

  /** The control, as it is obeyed. What it changes is forgotten where it is remembered. */
  private followed(control: Control): Control {
    const resets = new Resets(control, this.client);
    return checkedControl(control, this.context, (limiter) => {
      this.client.forgetAll();
      try {
        resets.follow(limiter);
      } catch (error) {
        this.context.fault({ limiter, source: 'control', error });
      }
    });
  }
}

/** What each limiter does when the store cannot answer. */
function policiesOf<Raw>(
  limiters: readonly Limiter<Raw>[],
  { onStoreError }: StepContext,
): Policies {
  return limiters.flatMap((limiter) =>
    limiter.kind === 'stored'
      ? [[limiter.name, limiter.onStoreError ?? onStoreError] as const]
      : [],
  );
}
