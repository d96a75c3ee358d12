/** The guard: a list of limiters over one request, all stored ones in one call of the store. */

import type { Decision } from '../decision.js';
import { show } from '../errors.js';
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
import type { LimitRequest } from '../limit/request.js';
import { memoryStore } from '../memory/memory-store.js';
import { type ResilienceOptions, resilient } from '../resilience/stack.js';
import type { Answer, Step, Store } from '../store.js';
import type { Admission } from './admission.js';
import { checkLimiters } from './check.js';
import { tellFault } from './faults.js';
import { type Asked, Judgement } from './judgement.js';
import { LeaseKeeper } from './lease-keeper.js';
import { type HeaderStyle, Presenter } from './presenter.js';

/** What an observer is told of each decision: fields of few values only, never a key. */
export interface DecisionEvent extends Decision {
  readonly mode: Mode;
}

export interface GuardOptions<Raw = unknown> extends ResilienceOptions {
  /** Where counts live. Default: a memory store of this guard's own. */
  readonly store?: Store;
  /** Which rate limit fields to send. Default `['draft-11']`; `'legacy'` adds `X-RateLimit-*`; `[]` sends none. */
  readonly headers?: readonly HeaderStyle[];
  /** Requests that no limiter sees, beside CORS preflights, which are always passed. */
  readonly skip?: (request: LimitRequest<Raw>) => boolean;
  /** Told of every decision. */
  readonly onDecision?: (event: DecisionEvent) => void;
  /** Told when a callback of yours throws or returns junk, and when the store fails. The request is answered all the same. */
  readonly onFault?: (fault: Fault) => void;
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
  private readonly store: Store;
  private readonly presenter: Presenter;
  private readonly context: StepContext;
  private readonly keeper: LeaseKeeper;
  /** Those on their way to the store. */
  private readonly releases = new Set<Promise<void>>();

  constructor(
    private readonly limiters: readonly Limiter<Raw>[],
    private readonly options: GuardOptions<Raw>,
  ) {
    checkLimiters(limiters, options.store);
    const store = options.store ?? memoryStore();
    this.store = resilient(store, options);
    this.keeper = new LeaseKeeper(this.store);
    for (const limiter of limiters) {
      if (limiter.kind === 'stored') claimName(store, limiter.name, limiter.rule);
    }
    this.presenter = new Presenter(options.headers ?? ['draft-11']);
    this.context = {
      onStoreError: options.onStoreError ?? 'allow',
      fault: (fault) => this.fault(fault),
    };
  }

  admit(request: LimitRequest<Raw>): Admission | Promise<Admission> {
    const asked: Asked<Raw>[] = [];
    const steps: Step[] = [];
    const skipped = this.skips(request);
    let refused = false;
    for (const limiter of this.limiters) {
      const mode = skipped ? 'off' : this.modeOf(limiter, request);
      const one: Asked<Raw> = { limiter, mode };
      asked.push(one);
      if (mode === 'off') continue;
      if (limiter.kind === 'local') {
        one.decision = this.decideLocally(limiter, mode, request);
        if (!one.decision.allowed) refused = true;
      } else {
        this.askStored(one, limiter, request);
        if (one.step) steps.push(one.step);
        else if (!one.decision?.allowed) refused = true;
      }
    }
    // What this process refuses by itself costs the store nothing.
    if (refused || steps.length === 0) return this.judge(asked, undefined);
    const answers = this.store.apply(steps);
    return isLater(answers)
      ? answers.then((value) => this.judge(asked, value))
      : this.judge(asked, answers);
  }

  private judge(asked: Asked<Raw>[], answers: readonly Answer[] | undefined): Admission {
    let next = 0;
    for (const one of asked) {
      if (one.step && answers) {
        one.answer = answers[next++] as Answer;
        one.decision = this.decideStored(one, one.limiter as StoredLimiter<Raw>, one.step);
        const { failure } = one.answer;
        if (failure) this.fault({ limiter: one.limiter.name, source: 'store', error: failure });
      }
      one.decision ??= skippedDecision(one.limiter.name);
      this.tell(one.decision, one.mode);
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

  /** Puts a stored limiter's question into `one`; its decision, if it throws. */
  private askStored(
    one: Asked<Raw>,
    limiter: StoredLimiter<Raw>,
    request: LimitRequest<Raw>,
  ): void {
    try {
      one.step = limiter.step(request, one.mode === 'enforce', this.context);
    } catch (error) {
      this.fault({ limiter: limiter.name, source: 'step', error });
      one.decision = this.brokenDecision(limiter.name, one.mode);
    }
  }

  private decideStored(one: Asked<Raw>, limiter: StoredLimiter<Raw>, step: Step): Decision {
    try {
      return limiter.decide(step, one.answer as Answer);
    } catch (error) {
      this.fault({ limiter: limiter.name, source: 'decide', error });
      return this.brokenDecision(limiter.name, one.mode);
    }
  }

  /** What a limiter that is itself broken decides: as if its store could not answer. */
  private brokenDecision(limiter: string, mode: Mode): Decision {
    const allowed = mode !== 'enforce' || this.context.onStoreError !== 'deny';
    return { ...skippedDecision(limiter), allowed, outcome: 'error', reason: 'store-error' };
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
      this.fault({ limiter: limiter.name, source: 'decide', error });
      return skippedDecision(limiter.name);
    }
    if (decision.allowed || mode === 'enforce') return decision;
    return { ...decision, allowed: true, outcome: 'would-deny' };
  }

  /** Gives back what limiters want given back; never awaited by the response. */
  private settle(asked: readonly Asked<Raw>[], outcome: RequestOutcome): Promise<void> | undefined {
    const steps: Step[] = [];
    for (const { limiter, step, answer } of asked) {
      if (limiter.kind !== 'stored' || !step || !answer) continue;
      if (step.lease) steps.push(this.keeper.release(step));
      if (!limiter.settle) continue;
      try {
        const back = limiter.settle(step, answer, outcome);
        if (back) steps.push(back);
      } catch (error) {
        this.fault({ limiter: limiter.name, source: 'refundIf', error });
      }
    }
    if (steps.length === 0) return undefined;
    // The store's decorators answer for it: this neither throws nor rejects.
    const answers = this.store.apply(steps);
    if (!isLater(answers)) return undefined;
    const release = answers.then(() => void this.releases.delete(release));
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
      this.fault({ limiter: '', source: 'skip', error });
      return false;
    }
  }

  private modeOf(limiter: Limiter<Raw>, request: LimitRequest<Raw>): Mode {
    const { mode } = limiter;
    if (typeof mode !== 'function') return mode;
    let error: unknown;
    try {
      const own = mode(request);
      if (own === 'enforce' || own === 'shadow' || own === 'off') return own;
      error = new TypeError(`mode of limiter "${limiter.name}" returned ${show(own)}`);
    } catch (thrown) {
      error = thrown;
    }
    this.fault({ limiter: limiter.name, source: 'mode', error });
    return 'enforce'; // no accident switches a limit off
  }

  private tell(decision: Decision, mode: Mode): void {
    if (!this.options.onDecision) return;
    try {
      this.options.onDecision({ ...decision, mode });
    } catch (error) {
      this.fault({ limiter: decision.limiter, source: 'observer', error });
    }
  }

  private fault(fault: Fault): void {
    tellFault(this.options.onFault, fault);
  }
}

function skippedDecision(limiter: string): Decision {
  return {
    limiter,
    allowed: true,
    outcome: 'skipped',
    reason: null,
    cost: 0,
    remaining: Number.NaN,
    retryAfterMs: 0,
    resetMs: Number.NaN,
  };
}
