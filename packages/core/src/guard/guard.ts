/** The guard: a list of limiters over one request, all stored ones in one call of the store. */

import type { Control } from '../control/control.js';
import { steadyControl } from '../control/steady-control.js';
import type { Decision } from '../decision.js';
import { isLater } from '../host.js';
import type {
  Fault,
  Limiter,
  Mode,
  RequestOutcome,
  StepContext,
  StoredLimiter,
} from '../limit/limiter.js';
import { claimName } from '../limit/names.js';
import type { LimitRequest, Per } from '../limit/request.js';
import { memoryStore } from '../memory/memory-store.js';
import type { AnsweringStore } from '../resilience/fallback.js';
import { type Policies, type ResilienceOptions, resilient } from '../resilience/stack.js';
import type { Answer, Step, Store } from '../store.js';
import type { Admission } from './admission.js';
import { Audience } from './audience.js';
import { checkLimiters } from './check.js';
import { type Denials, denialsOf } from './denials.js';
import { type Asked, Judgement } from './judgement.js';
import { LeaseKeeper } from './lease-keeper.js';
import { Modes } from './modes.js';
import type { DecisionEvent, Observer } from './observer.js';
import { type HeaderStyle, Presenter } from './presenter.js';
import { skippedDecision } from './skipped.js';

export interface GuardOptions<Raw = unknown> extends ResilienceOptions {
  /** Where counts live. Default: a memory store of this guard's own. */
  readonly store?: Store;
  /** Which rate limit fields to send. Default `['draft-11']`; `'legacy'` adds `X-RateLimit-*`; `[]` sends none. */
  readonly headers?: readonly HeaderStyle[];
  /** `enforce` (default), `shadow` or `off` for all limiters of the guard: none is stricter than this. */
  readonly mode?: Per<Raw, Mode>;
  /** What operators set live: modes, shares, limits, blocked and allowed keys. Default: nothing. */
  readonly control?: Control;
  /**
   * Whether a key that was refused is refused again, until the moment it was promised, without asking a store that answers later.
   * What this process gives back through the same store object is noticed at once, refunds and resets by others within a minute. Default true.
   */
  readonly denialCache?: boolean;
  /** Requests that no limiter sees, beside CORS preflights, which are always passed. */
  readonly skip?: (request: LimitRequest<Raw>) => boolean;
  /** Told of every decision. The key is for logs that hash it: see {@link Observer}. */
  readonly onDecision?: (event: DecisionEvent, key: string | undefined) => void;
  /** Told when a callback of yours throws or returns junk, and when the store fails. The request is answered all the same. */
  readonly onFault?: (fault: Fault) => void;
  /** Others that watch, such as those of `@spillway/prometheus` and `@spillway/opentelemetry`. */
  readonly observers?: readonly Observer[];
}

/** Runs limiters over requests; what {@link createGuard} returns. */
export interface Guard<Raw = unknown> {
  /** Decides on a request; at once if the store answers at once. Never throws, never rejects. */
  admit(request: LimitRequest<Raw>): Admission | Promise<Admission>;
  /**
   * Gives back the permits of all requests still in progress, so that they need not expire, and waits until the store has
   * them: for a process that ends. Call it once the server takes no more requests. Never rejects.
   */
  close(): Promise<void>;
  /** Permits that requests of this process hold now: a gauge. */
  readonly inProgress: number;
}

/**
 * Makes a guard: every limiter of the list must let a request pass, and if one refuses, none is charged.
 *
 * @throws SpillwayError `SPW_LIMITER_INVALID`, `SPW_NAME_REQUIRED`, `SPW_NAME_CONFLICT`, `SPW_OPTION_INVALID`
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
  private readonly presenter: Presenter;
  private readonly context: StepContext;
  private readonly keeper: LeaseKeeper;
  /** Those on their way to the store. */
  private readonly releases = new Set<Promise<void>>();
  private readonly audience: Audience;
  private readonly control: Control | undefined;
  private readonly modes: Modes<Raw>;
  private readonly denials: Denials | undefined;

  constructor(
    private readonly limiters: readonly Limiter<Raw>[],
    private readonly options: GuardOptions<Raw>,
  ) {
    checkLimiters(limiters, options.store);
    const store = options.store ?? memoryStore();
    this.audience = new Audience([options, ...(options.observers ?? [])]);
    this.store = resilient(store, options, this.audience, policiesOf(limiters, options));
    this.denials = store.sync ? undefined : denialsOf(store);
    this.keeper = new LeaseKeeper(this.store);
    for (const limiter of limiters) {
      if (limiter.kind === 'stored') claimName(store, limiter.name, limiter.rule);
    }
    this.presenter = new Presenter(options.headers ?? ['draft-11']);
    this.context = {
      onStoreError: options.onStoreError ?? 'allow',
      fault: (fault) => this.audience.fault(fault),
      limitsOf: (limiter) => this.control?.settingsOf(limiter)?.limits,
    };
    this.control =
      options.control && steadyControl(options.control, this.context, () => this.denials?.clear());
    this.modes = new Modes(options.mode, this.control, this.context);
  }

  get inProgress(): number {
    return this.keeper.size;
  }

  admit(request: LimitRequest<Raw>): Admission | Promise<Admission> {
    const asked: Asked<Raw>[] = [];
    const steps: Step[] = [];
    const ceiling = this.skips(request) ? 'off' : this.modes.ofGuard(request);
    let refused = false;
    for (const limiter of this.limiters) {
      const mode = this.modes.of(limiter, request, ceiling);
      const one: Asked<Raw> = { limiter, mode };
      asked.push(one);
      if (mode === 'off') continue;
      if (limiter.kind === 'local') one.decision = this.decideLocally(limiter, mode, request);
      else this.askStored(one, limiter, request);
      if (one.decision) refused ||= !one.decision.allowed;
      else if (one.step) steps.push(one.step);
    }
    // What this process refuses by itself costs the store nothing.
    if (refused || steps.length === 0) return this.judge(asked, undefined, 0);
    const askedUs = this.denials?.now() ?? 0;
    const answers = this.store.apply(steps, undefined, request);
    return isLater(answers)
      ? answers.then((value) => this.judge(asked, value, askedUs))
      : this.judge(asked, answers, askedUs);
  }

  private judge(
    asked: Asked<Raw>[],
    answers: readonly Answer[] | undefined,
    askedUs: number,
  ): Admission {
    let next = 0;
    for (const one of asked) {
      if (one.step && answers && !one.decision) {
        one.answer = answers[next++] as Answer;
        this.denials?.learn(one.step, one.answer, askedUs);
        one.decision = this.decideStored(one, one.limiter as StoredLimiter<Raw>, one.step);
        const { failure } = one.answer;
        if (failure) {
          this.context.fault({ limiter: one.limiter.name, source: 'store', error: failure });
        }
      }
      one.decision ??= skippedDecision(one.limiter.name);
      if (this.audience.hearsDecisions) {
        this.audience.decision(one.decision, one.mode, one.step?.key);
      }
    }
    const judgement = new Judgement(asked, this.presenter, (list, outcome) =>
      this.settle(list, outcome),
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
    one: Asked<Raw>,
    limiter: StoredLimiter<Raw>,
    request: LimitRequest<Raw>,
  ): void {
    try {
      one.step = limiter.step(request, one.mode === 'enforce', this.context);
    } catch (error) {
      this.context.fault({ limiter: limiter.name, source: 'step', error });
      one.decision = this.brokenDecision(limiter.name, one.mode);
      return;
    }
    const { key } = one.step;
    const ruling = this.control?.rulingOn(limiter.name, key);
    if (ruling) one.decision = this.modes.ruled(limiter, one.mode, ruling);
    if (one.mode !== 'enforce' || one.decision) return;
    if (!this.modes.enforces(limiter, key)) {
      one.mode = 'shadow';
      one.step = { ...one.step, binding: false };
      return;
    }
    const known = this.options.denialCache === false ? undefined : this.denials?.find(one.step);
    if (!known) return;
    one.answer = known;
    one.decision = this.decideStored(one, limiter, one.step);
  }

  private decideStored(one: Asked<Raw>, limiter: StoredLimiter<Raw>, step: Step): Decision {
    try {
      return limiter.decide(step, one.answer as Answer);
    } catch (error) {
      this.context.fault({ limiter: limiter.name, source: 'decide', error });
      return this.brokenDecision(limiter.name, one.mode);
    }
  }

  /** What a limiter that is itself broken decides: as if its store could not answer. */
  private brokenDecision(limiter: string, mode: Mode): Decision {
    const denies = this.context.onStoreError === 'deny';
    return {
      ...skippedDecision(limiter),
      allowed: mode !== 'enforce' || !denies,
      outcome: 'error',
      reason: denies ? 'store-error' : null,
    };
  }

  private decideLocally(
    limiter: Extract<Limiter<Raw>, { kind: 'local' }>,
    mode: Mode,
    request: LimitRequest<Raw>,
  ): Decision {
    let decision: Decision;
    try {
      decision = limiter.decide(request, this.context);
    } catch (error) {
      this.context.fault({ limiter: limiter.name, source: 'decide', error });
      return skippedDecision(limiter.name);
    }
    if (decision.allowed || mode === 'enforce') return decision;
    return { ...decision, allowed: true, outcome: 'would-deny' };
  }

  /** Gives back what limiters want given back; never awaited by the response. */
  private settle(asked: readonly Asked<Raw>[], outcome: RequestOutcome): Promise<void> | undefined {
    const steps: Step[] = [];
    const refunds: Step[] = [];
    for (const { limiter, step, answer } of asked) {
      if (limiter.kind !== 'stored' || !step || !answer) continue;
      if (step.lease) steps.push(this.keeper.release(step));
      if (!limiter.settle) continue;
      try {
        const back = limiter.settle(step, answer, outcome);
        if (back) refunds.push(back);
      } catch (error) {
        this.context.fault({ limiter: limiter.name, source: 'refundIf', error });
      }
    }
    for (const back of refunds) this.denials?.forget(back);
    steps.push(...refunds);
    if (steps.length === 0) return undefined;
    // The store's decorators answer for it: this neither throws nor rejects.
    const answers = this.store.apply(steps);
    if (!isLater(answers)) return undefined;
    const release = answers.then((given) => {
      for (const back of refunds) this.denials?.forget(back);
      this.keeper.noteLost(steps, given);
      this.releases.delete(release);
    });
    this.releases.add(release);
    return release;
  }

  private skips(request: LimitRequest<Raw>): boolean {
    // A preflight carries no credentials and is cached by the browser; refusing it hides the real answer from the page.
    if (request.method === 'OPTIONS' && request.header('access-control-request-method'))
      return true;
    if (!this.options.skip) return false;
    try {
      return this.options.skip(request) === true;
    } catch (error) {
      this.context.fault({ limiter: '', source: 'skip', error });
      return false;
    }
  }
}

function policiesOf<Raw>(
  limiters: readonly Limiter<Raw>[],
  { onStoreError = 'allow' }: GuardOptions<Raw>,
): Policies {
  return limiters.flatMap((limiter) =>
    limiter.kind === 'stored'
      ? [[limiter.name, limiter.onStoreError ?? onStoreError] as const]
      : [],
  );
}
