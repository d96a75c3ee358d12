import { SpillwayError } from '../base/errors.js';
import { isLater } from '../base/host.js';
import type { Settlement, StoredExchange } from '../contract/keeping.js';
import type { Limiter } from '../contract/limiter.js';
import type { LimitRequest } from '../contract/request.js';
import { GuardAdmission } from './guard-admission.js';
import { type Guard, type GuardLimiter, type GuardOptions, listed } from './guard-options.js';
import { type Parts, partsOf } from './parts.js';
import { type DecidedTurn, isExempt, type Turn } from './turn.js';

/**
 * Makes a guard. A request passes only if every limiter of the list lets it pass; if one rejects it, none is charged.
 *
 * @throws SpillwayError `SPW_LIMITER_INVALID`, `SPW_NAME_INVALID`, `SPW_NAME_REQUIRED`, `SPW_NAME_CONFLICT`,
 * `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`; `SPW_CAPTURE_MISSING` for `idempotency()`, which
 * only the guards of adapters can run
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
  if (guard.parts.keeping) {
    throw new SpillwayError(
      'SPW_CAPTURE_MISSING',
      'createGuard sees no responses, so it cannot store them for idempotency(): use the guard of an adapter',
    );
  }
  guard.parts.presence.expect();
  return guard;
}

type Admitted<Raw> = GuardAdmission<Raw> | Promise<GuardAdmission<Raw>>;

/** The guard that adapters use, which may contain an `idempotency()`. */
export class ListGuard<Raw> implements Guard<Raw> {
  readonly limiters: readonly GuardLimiter[];
  private readonly options: GuardOptions<Raw>;
  private readonly list: readonly Limiter<Raw>[];
  private readonly extra: object;
  readonly parts: Parts<Raw>;

  /**
   * @param extra the names of the adapter's own options
   * @throws SpillwayError like `createGuard`
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
  }

  /** @param exchange required if `keeping` of the parts is set */
  admit(request: LimitRequest<Raw>, exchange?: StoredExchange): Admitted<Raw> {
    const { ending, questions, context, eventLoop, presence } = this.parts;
    presence.seen();
    const startUs = ending.startUs();
    const exempt = isExempt(request, this.options, context);
    const turns = questions.beginTurns(request, exempt === true);
    const later = questions.later(turns, exempt);
    return later
      ? eventLoop.after(later.then(() => this.decideRequest(turns, startUs, exchange)))
      : this.decideRequest(turns, startUs, exchange);
  }

  withOptions(options: GuardOptions<Raw>): Guard<Raw> {
    return new ListGuard(this.list, { ...this.options, ...options }, this.extra);
  }

  get inProgress(): number {
    return this.parts.releases.permits?.size ?? 0;
  }

  close(): Promise<void> {
    this.parts.presence.seen();
    return this.parts.releases.drain();
  }

  private decideRequest(
    turns: Turn<Raw>[],
    startUs: number,
    exchange: StoredExchange | undefined,
  ): Admitted<Raw> {
    const { pipeline, releases, keeper, ending } = this.parts;
    const open = pipeline.decideWithoutStore(turns);
    if (!open) return this.conclude(turns, startUs);
    releases.permits?.keepUp();
    if (keeper) for (const turn of turns) turn.askedUs = ending.startUs();
    return pipeline.decideNow(open)
      ? this.settleClaim(turns, startUs, exchange)
      : pipeline.askStore(open, () => this.settleClaim(turns, startUs, exchange));
  }

  /**
   * If only a claim rejects the request, the claim's limiter replays a response, rejects the request, or makes the
   * limiters decide again. Otherwise, the decisions are final.
   */
  private settleClaim(
    turns: Turn<Raw>[],
    startUs: number,
    exchange: StoredExchange | undefined,
  ): Admitted<Raw> {
    const { keeper } = this.parts;
    const turn = exchange && keeper?.rejecting(turns);
    const settled = turn && keeper?.settle(turn, exchange);
    if (!settled) return this.conclude(turns, startUs);
    const go = (given: Settlement): Admitted<Raw> => {
      if (given === 'own') turn.leaveOut();
      if (given === 'again' || given === 'own') {
        for (const asked of turns) if (asked.step) asked.decision = undefined;
        return this.decideRequest(turns, startUs, exchange);
      }
      turn.settled = given;
      turn.decision = given.decision;
      return this.conclude(turns, startUs);
    };
    return isLater(settled) ? settled.then(go) : go(settled);
  }

  private conclude(turns: Turn<Raw>[], startUs: number): GuardAdmission<Raw> {
    const { pipeline } = this.parts;
    for (let i = 0; i < turns.length; i += 1) pipeline.conclude(turns[i] as Turn<Raw>);
    return new GuardAdmission(turns as DecidedTurn<Raw>[], this, this.parts, startUs);
  }
}
