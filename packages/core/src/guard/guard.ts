/** The guard: a list of limiters over one request, all stored ones in one call of the store. */

import { oneOf } from '../base/checks.js';
import { isLater } from '../base/host.js';
import type { Admission } from '../contract/admission.js';
import type { Control } from '../contract/control.js';
import type { Limiter, RequestOutcome, StepContext, StoredLimiter } from '../contract/limiter.js';
import type { Observer } from '../contract/observer.js';
import type { LimitRequest } from '../contract/request.js';
import { skippedDecision } from '../contract/skipped.js';
import type { Answer, Step, Store } from '../contract/store.js';
import { checkedControl } from '../control/checked-control.js';
import { ResponseWriter } from '../http/response-writer.js';
import { UNKNOWN_ADDRESS } from '../limits/callbacks.js';
import { type SharedMemory, sharedMemory } from '../memory/shared-memory.js';
import { Observers } from '../observe/observers.js';
import { voiceFor } from '../observe/voice.js';
import type { AnsweringStore } from '../stores/fallback.js';
import { type Refusals, refusalsOf } from '../stores/refusals.js';
import { Resets } from '../stores/resets.js';
import { type Policies, resilient } from '../stores/stack.js';
import { standInOf } from '../stores/stand-in.js';
import { announce, type NoteRule } from './announce.js';
import { checkLimiters } from './check.js';
import { isExempt } from './exempt.js';
import { GuardAdmission, type LimiterTurn } from './guard-admission.js';
import { brokenDecision, decideLocally, decideStored } from './limiter-turn.js';
import { roomOf } from './lost-releases.js';
import { Modes } from './modes.js';
import type { Guard, GuardOptions } from './options.js';
import { Permits } from './permits.js';

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
  private readonly store: AnsweringStore;
  private readonly noteRule: NoteRule<Raw>;
  private readonly presenter: ResponseWriter;
  private readonly context: StepContext;
  /** One for each limiter. */
  private readonly contexts: readonly StepContext[];
  private readonly keeper: Permits;
  /** Those on their way to the store. */
  private readonly releases = new Set<Promise<void>>();
  private readonly audience: Observers;
  private readonly control: Control | undefined;
  private readonly modes: Modes<Raw>;
  private readonly refusals: Refusals | undefined;
  private readonly limiters: readonly Limiter<Raw>[];
  private readonly options: GuardOptions<Raw>;

  constructor(limiters: readonly Limiter<Raw>[], options: GuardOptions<Raw>) {
    this.limiters = limiters;
    this.options = options;
    checkLimiters(limiters, options.store);
    oneOf('preflights', options.preflights, ['pass', 'count']);
    const memory = options.store ? undefined : sharedMemory();
    const store = options.store ?? (memory as SharedMemory).store;
    const own: Observer = { onBreaker: (event) => this.keeper.onBreaker(event) };
    const observers = [options, ...(options.observers ?? []), own];
    this.audience = new Observers(observers, voiceFor(options, store));
    this.audience.store(store);
    this.store = resilient(store, options, this.audience, policiesOf(limiters, options));
    this.refusals = store.sync ? undefined : refusalsOf(store);
    this.keeper = new Permits(this.store, roomOf(store));
    const nameOf = (limiter: Limiter<Raw>) => memory?.nameOf(limiter) ?? limiter.name;
    this.noteRule = announce(limiters, store, options.control, nameOf);
    this.presenter = new ResponseWriter(
      options.headers ?? ['draft-11'],
      options.blockedStatus ?? 403,
    );
    this.context = {
      onStoreError: options.onStoreError ?? 'local',
      fault: (fault) => this.audience.fault(fault),
      countedAs: undefined,
      limitsOf: (limiter) => this.control?.settingsOf(limiter)?.limits,
    };
    this.contexts = limiters.map((limiter) =>
      memory ? { ...this.context, countedAs: memory.nameOf(limiter) } : this.context,
    );
    this.control = options.control && this.followed(options.control, store);
    this.modes = new Modes(options.mode, this.control, this.context);
  }

  /** The control, as it is obeyed. What it changes is forgotten where it is remembered. */
  private followed(control: Control, store: Store): Control {
    const resets = new Resets(control, standInOf(store));
    return checkedControl(control, this.context, (limiter) => {
      this.refusals?.clear();
      try {
        resets.follow(limiter);
      } catch (error) {
        this.context.fault({ limiter, source: 'control', error });
      }
    });
  }

  get inProgress(): number {
    return this.keeper.size;
  }

  admit(request: LimitRequest<Raw>): Admission | Promise<Admission> {
    const asked: LimiterTurn<Raw>[] = [];
    const steps: Step[] = [];
    const ceiling = isExempt(request, this.options, this.context)
      ? 'off'
      : this.modes.ofGuard(request);
    let refused = false;
    for (let index = 0; index < this.limiters.length; index += 1) {
      const limiter = this.limiters[index] as Limiter<Raw>;
      const mode = this.modes.of(limiter, request, ceiling);
      const one: LimiterTurn<Raw> = { limiter, mode };
      asked.push(one);
      if (mode === 'off') continue;
      if (limiter.kind === 'local')
        one.decision = decideLocally(limiter, mode, request, this.context);
      else this.askStored(one, limiter, request, this.contexts[index] as StepContext);
      if (one.decision) refused ||= !one.decision.allowed;
      else if (one.step) steps.push(one.step);
    }
    // What this process refuses by itself costs the store nothing.
    if (refused || steps.length === 0) return this.judge(request, asked, undefined, 0);
    this.keeper.keepUp();
    const askedUs = this.refusals?.now() ?? 0;
    const answers = this.store.apply(steps, undefined, request);
    return isLater(answers)
      ? answers.then((value) => this.judge(request, asked, value, askedUs))
      : this.judge(request, asked, answers, askedUs);
  }

  private judge(
    request: LimitRequest<Raw>,
    asked: LimiterTurn<Raw>[],
    answers: readonly Answer[] | undefined,
    askedUs: number,
  ): Admission {
    let next = 0;
    for (const one of asked) {
      if (one.step && answers && !one.decision) {
        one.answer = answers[next++] as Answer;
        const limiter = one.limiter as StoredLimiter<Raw>;
        one.decision = decideStored(limiter, one, this.context, this.refusals, askedUs);
        const error = (one as LimiterTurn<Raw>).answer?.failure;
        if (error) this.context.fault({ limiter: limiter.name, source: 'store', error });
      }
      one.decision ??= skippedDecision(one.limiter.name);
      if (this.audience.hearsDecisions) {
        this.audience.decision(one.decision, one.mode, one.step?.key);
      }
    }
    const judgement = new GuardAdmission(
      asked,
      this.presenter,
      (list, outcome) => this.settle(request, list, outcome),
      this,
    );
    if (judgement.pending) {
      if (judgement.allowed) for (const step of judgement.leases) this.keeper.hold(step);
      else judgement.release({});
    }
    return judgement;
  }

  async close(): Promise<void> {
    await this.keeper.close();
    await Promise.all(this.releases);
  }

  /** Puts a stored limiter's question into `one`, or its decision where that is known without the store. */
  private askStored(
    one: LimiterTurn<Raw>,
    limiter: StoredLimiter<Raw>,
    request: LimitRequest<Raw>,
    context: StepContext,
  ): void {
    try {
      const step = limiter.step(request, one.mode === 'enforce', context);
      const { countedAs = step.limiter } = context;
      if (step.rule !== limiter.rule) this.noteRule(limiter, step.rule);
      one.step = countedAs === step.limiter ? step : { ...step, limiter: countedAs };
    } catch (error) {
      this.context.fault({ limiter: limiter.name, source: 'step', error });
      one.decision = brokenDecision(limiter.name, one.mode, this.context);
      return;
    }
    this.answerAlone(one, limiter, one.step, request);
  }

  /**
   * Decides without the store where a ruling of an operator or a remembered refusal says how; puts what is rolled out
   * into shadow. Throws only what an adapter is to throw: that an address is needed, and nobody said how to find it.
   */
  private answerAlone(
    one: LimiterTurn<Raw>,
    limiter: StoredLimiter<Raw>,
    step: Step,
    request: LimitRequest<Raw>,
  ): void {
    const { key } = step;
    const ruling = this.control?.rulingOn(limiter.name, key);
    if (ruling) one.decision = this.modes.ruled(limiter, one.mode, ruling);
    if (one.mode === 'enforce' && !one.decision && !this.modes.enforces(limiter, key)) {
      one.mode = 'shadow';
      one.step = { ...step, binding: false };
    }
    if (step.rule.limit === 0)
      one.decision ??= this.modes.refused(limiter.name, one.mode, 'never', Infinity);
    if (one.mode !== 'enforce' || one.decision) return;
    if (step.key === UNKNOWN_ADDRESS) request.missesAddress?.();
    const known = this.options.denialCache === false ? undefined : this.refusals?.find(step);
    if (!known) return;
    one.answer = known;
    one.decision = decideStored(limiter, one, this.context);
  }

  /** Gives back what limiters want given back; never awaited by the response. */
  private settle(
    request: LimitRequest<Raw>,
    asked: readonly LimiterTurn<Raw>[],
    outcome: RequestOutcome,
  ): Promise<void> | undefined {
    const steps: Step[] = [];
    const refunds: Step[] = [];
    for (const { limiter, step, answer } of asked) {
      if (limiter.kind !== 'stored' || !step || !answer) continue;
      if (step.lease) steps.push(this.keeper.release(step));
      if (!limiter.settle) continue;
      try {
        const back = limiter.settle(step, answer, outcome, request);
        if (back) refunds.push(back);
      } catch (error) {
        this.context.fault({ limiter: limiter.name, source: 'refundIf', error });
      }
    }
    for (const back of refunds) this.refusals?.forget(back);
    steps.push(...refunds);
    if (steps.length === 0) return undefined;
    // The store's decorators answer for it: this neither throws nor rejects.
    const answers = this.store.apply(steps, this.keeper.options);
    if (!isLater(answers)) return undefined;
    const release = answers.then((given) => {
      for (const back of refunds) this.refusals?.forget(back);
      this.keeper.noteLost(steps, given);
      this.releases.delete(release);
    });
    this.releases.add(release);
    return release;
  }
}

function policiesOf<Raw>(
  limiters: readonly Limiter<Raw>[],
  { onStoreError = 'local' }: GuardOptions<Raw>,
): Policies {
  return limiters.flatMap((limiter) =>
    limiter.kind === 'stored'
      ? [[limiter.name, limiter.onStoreError ?? onStoreError] as const]
      : [],
  );
}
