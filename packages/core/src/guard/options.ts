/** What a guard is, and what can be asked of it. */

import type { Duration } from '../base/duration.js';
import type { NamesOf } from '../base/option-names.js';
import type { Admission } from '../contract/admission.js';
import type { Control } from '../contract/control.js';
import type { Mode } from '../contract/decision.js';
import type { Limiter } from '../contract/limiter.js';
import type { DecisionEvent, Fault, Observer } from '../contract/observer.js';
import type { LimitRequest, Per } from '../contract/request.js';
import type { Rule } from '../contract/rule.js';
import type { HeaderStyle } from '../http/response-writer.js';
import type { StoreClientOptions } from '../stores/store-client.js';

/** The options of every guard and of every adapter. */
export interface GuardOptions<Raw = unknown> extends StoreClientOptions {
  /**
   * Which rate limit fields to send. Default `['draft-11']`; `'draft-6'` in its place sends those of that version of
   * the draft; `'legacy'` adds `X-RateLimit-*`; `[]` sends none. See {@link HeaderStyle}.
   */
  readonly headers?: readonly HeaderStyle[] | undefined;
  /** The status for a key that was blocked live. Default 403; 429 for clients that know only that. */
  readonly blockedStatus?: 403 | 429 | undefined;
  /** `enforce` (default), `shadow` or `off` for all limiters of the guard: none is stricter than this. */
  readonly mode?: Per<Raw, Mode> | undefined;
  /** What operators set live: modes, shares, limits, blocked and allowed keys. Default: nothing. */
  readonly control?: Control | undefined;
  /**
   * What becomes of CORS preflights (`OPTIONS` with `Origin` and `Access-Control-Request-Method`): `pass` (default)
   * lets them by uncounted; `count` treats them as any request. Choose `count` where they reach a handler that works
   * for any method.
   */
  readonly preflights?: 'pass' | 'count' | undefined;
  /** Requests that no limiter sees, beside preflights. Only `true`, or a promise of it, skips. */
  readonly skip?:
    | ((request: LimitRequest<Raw>) => boolean | undefined | PromiseLike<boolean | undefined>)
    | undefined;
  /**
   * How long to wait for the promises of `key`, `limit`, `cost`, `skip` and `refundIf`, all of one request together:
   * from 1 ms to 60 s. One that is late, or rejects, counts as a function that throws. Default 1 s.
   */
  readonly callbackTimeout?: Duration | undefined;
  /** Told of every decision. The key is for logs that hash it: see {@link Observer}. */
  readonly onDecision?:
    | ((event: DecisionEvent, key: string | undefined, request: LimitRequest<Raw>) => void)
    | undefined;
  /**
   * Told when a callback of yours throws or returns junk, and when the store fails; without it, `logger` is, once a
   * minute for each.
   */
  readonly onFault?: ((fault: Fault) => void) | undefined;
  /** More observers, such as those of `@spillway/prometheus` and `@spillway/opentelemetry`. */
  readonly observers?: readonly Observer[] | undefined;
}

export const GUARD_OPTIONS: NamesOf<GuardOptions> = {
  store: 1,
  storeTimeout: 1,
  onStoreError: 1,
  breaker: 1,
  denialCache: 1,
  clock: 1,
  logger: 1,
  validate: 1,
  headers: 1,
  blockedStatus: 1,
  mode: 1,
  control: 1,
  preflights: 1,
  skip: 1,
  callbackTimeout: 1,
  onDecision: 1,
  onFault: 1,
  observers: 1,
};

/** A limiter of a guard, as it was declared: for pages and commands that show what there is. */
export interface GuardLimiter {
  readonly name: string;
  readonly kind: Limiter['kind'];
  /** The numbers; undefined for a limiter that keeps no count in the store. */
  readonly rule: Rule | undefined;
  /** Undefined where a function says it for each request. What is set live is not told here. */
  readonly mode: Mode | undefined;
}

/** Runs limiters over requests; what {@link createGuard} returns. */
export interface Guard<Raw = unknown> {
  /** Decides on a request; at once if the store and all callbacks answer at once. Never throws, never rejects. */
  admit(request: LimitRequest<Raw>): Admission | Promise<Admission>;
  /**
   * Gives back the permits of all requests still in progress, so that they need not expire, and waits until the store
   * has them, at most 5 s: for a process that ends. Call it once the server takes no more requests. Never rejects.
   */
  close(): Promise<void>;
  /** Permits that requests of this process hold now: a gauge. */
  readonly inProgress: number;
  /** The limiters in their order, as they were declared. */
  readonly limiters: readonly GuardLimiter[];
  /**
   * A new guard of the same limiters. `options` replace those of this guard; one that is `undefined` is left out. So a
   * test runs an app's guard on its own clock, and `spillway replay` on that of a log.
   *
   * @throws SpillwayError what `createGuard` throws
   */
  withOptions(options: GuardOptions<Raw>): Guard<Raw>;
}

/** What {@link Guard.limiters} tells of some limiters. */
export function listed<Raw>(limiters: readonly Limiter<Raw>[]): readonly GuardLimiter[] {
  return Object.freeze(
    limiters.map((limiter) => {
      const { name, kind, mode } = limiter;
      return Object.freeze({
        name,
        kind,
        rule: limiter.kind === 'stored' ? limiter.rule : undefined,
        mode: typeof mode === 'function' ? undefined : mode,
      });
    }),
  );
}
