/** The guard: a list of limiters over one request, all stored ones in one call of the store. */

import { SpillwayError } from '../base/errors.js';
import { isLater } from '../base/host.js';
import type { Keeping, KeptExchange, Settlement } from '../contract/keeping.js';
import type { Limiter } from '../contract/limiter.js';
import type { LimitRequest } from '../contract/request.js';
import type { Notices } from '../observe/notices.js';
import { isExempt } from './exempt.js';
import { GuardAdmission } from './guard-admission.js';
import { type Guard, type GuardLimiter, type GuardOptions, listed } from './options.js';
import { type Parts, partsOf } from './parts.js';
import type { DecidedTurn, Turn } from './turn.js';

/**
 * Makes a guard: every limiter of the list must let a request pass, and if one refuses, none is charged.
 *
 * @throws SpillwayError `SPW_LIMITER_INVALID`, `SPW_NAME_REQUIRED`, `SPW_NAME_CONFLICT`, `SPW_STORE_INVALID`,
 * `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`; `SPW_CAPTURE_MISSING` for `idempotency()`, which only the guards of
 * adapters can run
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
  const guard = new ListGuard(limiters, options);
  if (guard.keeping) {
    throw new SpillwayError(
      'SPW_CAPTURE_MISSING',
      'createGuard sees no responses, so it cannot keep the answers of idempotency(): use the guard of an adapter',
    );
  }
  return guard.expectRequests();
}

type Admitted<Raw> = GuardAdmission<Raw> | Promise<GuardAdmission<Raw>>;

/** What adapters use: a guard that may keep answers. */
export class ListGuard<Raw> implements Guard<Raw> {
  /** Of a limiter of it that keeps answers: then `admit` needs to be given an exchange. */
  readonly keeping: Keeping<Raw> | undefined;
  readonly limiters: readonly GuardLimiter[];
  private readonly options: GuardOptions<Raw>;
  private readonly list: readonly Limiter<Raw>[];
  private readonly extra: object;
  private readonly parts: Parts<Raw>;

  /**
   * @param extra names of options that are not the guard's, but its adapter's
   * @throws SpillwayError what `createGuard` throws
   */
  constructor(
    limiters: Limiter<Raw> | readonly Limiter<Raw>[],
    options: GuardOptions<Raw>,
    extra: object = {},
  ) {
    const list = Array.isArray(limiters) ? limiters : [limiters as Limiter<Raw>];
    this.options = options;
    this.list = list;
    this.extra = extra;
    this.parts = partsOf(list, options, extra);
    this.limiters = listed(list);
    this.keeping = this.parts.keeping;
  }

  /** Told of what may be a mistake in how the app is put together. */
  get notices(): Notices {
    return this.parts.notices;
  }

  admit(request: LimitRequest<Raw>, exchange?: KeptExchange): Admitted<Raw> {
    const { ending, questions, context, eventLoop, presence } = this.parts;
    presence.seen();
    const startUs = ending.startUs();
    const exempt = isExempt(request, this.options, context);
    // 1. Modes: what is off is skipped. What is not is asked what it would ask the store.
    const turns = questions.begin(request, exempt === true);
    const later = questions.later(turns, exempt);
    return later
      ? eventLoop.after(later.then(() => this.decide(request, turns, startUs, exchange)))
      : this.decide(request, turns, startUs, exchange);
  }

  withOptions(options: GuardOptions<Raw>): Guard<Raw> {
    return new ListGuard(this.list, { ...this.options, ...options }, this.extra);
  }

  get inProgress(): number {
    return this.parts.releases.permits?.size ?? 0;
  }

  close(): Promise<void> {
    this.parts.presence.seen();
    return this.parts.releases.close();
  }

  /** From now on a line tells if no request reaches it. Not for guards that a framework puts before their routes. */
  expectRequests(): this {
    this.parts.presence.expect();
    return this;
  }

  private decide(
    request: LimitRequest<Raw>,
    turns: Turn<Raw>[],
    startUs: number,
    exchange: KeptExchange | undefined,
  ): Admitted<Raw> {
    const { pipeline, releases } = this.parts;
    // 2. Local limiters answer, and whatever else this process knows.
    const open = pipeline.open(turns);
    if (!open) return this.conclude(turns, startUs);
    releases.permits?.keepUp();
    // 3. All steps go to the store in one call.
    return pipeline.decideNow(open)
      ? this.settle(request, turns, startUs, exchange)
      : pipeline.ask(open, () => this.settle(request, turns, startUs, exchange), request);
  }

  /** If only a claim refuses, its limiter says what to answer, or that the others are to be asked again. */
  private settle(
    request: LimitRequest<Raw>,
    turns: Turn<Raw>[],
    startUs: number,
    exchange: KeptExchange | undefined,
  ): Admitted<Raw> {
    const { keeper } = this.parts;
    const turn = exchange && keeper?.refusing(turns);
    const settled = turn && keeper?.settle(turn, exchange);
    if (!settled) return this.conclude(turns, startUs);
    const go = (given: Settlement): Admitted<Raw> => {
      if (given === 'own') turn.leaveOut();
      if (given === 'again' || given === 'own') {
        for (const asked of turns) if (asked.step) asked.decision = undefined;
        return this.decide(request, turns, startUs, exchange);
      }
      turn.settled = given;
      turn.decision = given.decision;
      return this.conclude(turns, startUs);
    };
    return isLater(settled) ? settled.then(go) : go(settled);
  }

  /** 4. From the decisions to what is said and done. */
  private conclude(turns: Turn<Raw>[], startUs: number): GuardAdmission<Raw> {
    const { pipeline } = this.parts;
    for (let i = 0; i < turns.length; i += 1) {
      const turn = turns[i] as Turn<Raw>;
      pipeline.conclude(turn, turn.request);
    }
    return new GuardAdmission(turns as DecidedTurn<Raw>[], this, this.parts, startUs);
  }
}
