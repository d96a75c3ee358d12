import type { Duration } from '../base/duration.js';
import type { NamesOf } from '../base/option-names.js';
import type { Admission } from '../contract/admission.js';
import type { Mode } from '../contract/decision.js';
import type { Limiter } from '../contract/limiter.js';
import type { DecisionEvent } from '../contract/observer.js';
import type { LimitRequest, Per } from '../contract/request.js';
import type { Rule } from '../contract/rule.js';
import type { HeaderStyle } from '../http/response-writer.js';
import type { StoreClientOptions } from '../stores/store-client.js';

/** The options of every guard and of every adapter. */
export interface GuardOptions<Raw = unknown> extends StoreClientOptions {
  /**
   * Which rate limit headers to send: `'draft-11'` or `'draft-6'`, and `'legacy'` for `X-RateLimit-*`. `[]` sends none.
   * Default `['draft-11']`.
   */
  readonly headers?: readonly HeaderStyle[] | undefined;
  /** The status for keys that a live setting blocks. Default 403. */
  readonly blockedStatus?: 403 | 429 | undefined;
  /** `enforce` (default), `shadow` or `off`. A limiter uses the weaker of this mode and its own. */
  readonly mode?: Per<Raw, Mode> | undefined;
  /**
   * `pass` (default) lets CORS preflights through uncounted, `count` treats them like other requests. Choose `count` if
   * handlers do work for `OPTIONS`.
   */
  readonly preflights?: 'pass' | 'count' | undefined;
  /** A request bypasses all limiters if this function returns `true`, or a promise of it. */
  readonly skip?:
    | ((request: LimitRequest<Raw>) => boolean | undefined | PromiseLike<boolean | undefined>)
    | undefined;
  /**
   * The time limit for the promises of all callbacks that decide on a request, together, and again for those at its
   * end, such as `refundIf`: 1 ms to 60 s. A late callback counts as failed. Default 1 s.
   */
  readonly callbackTimeout?: Duration | undefined;
  /** Called with every decision. Hash the key before you log it: see {@link Observer}. */
  readonly onDecision?:
    | ((event: DecisionEvent, key: string | undefined, request: LimitRequest<Raw>) => void)
    | undefined;
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

/** A limiter of a guard as declared, for pages and commands that list limits. */
export interface GuardLimiter {
  readonly name: string;
  readonly kind: Limiter['kind'];
  /** The declared numbers; undefined for a limiter that keeps no count in the store. */
  readonly rule: Rule | undefined;
  /** The declared mode, without live settings; undefined if it is a function. */
  readonly mode: Mode | undefined;
  /** Whether the limiter is called at the end of a request, for example for the refunds of `refundIf`. */
  readonly refunds: boolean;
}

/** Applies limiters to requests; returned by {@link createGuard}. */
export interface Guard<Raw = unknown> {
  /** Decides about a request. Returns a promise only if the store or a callback does. Never throws or rejects. */
  admit(request: LimitRequest<Raw>): Admission | Promise<Admission>;
  /**
   * Releases the permits of all requests in flight, which otherwise stay taken until they expire. Call it at shutdown,
   * once the server accepts no more requests. Waits at most 5 s for the store. Never rejects.
   */
  close(): Promise<void>;
  /** The number of permits that this guard's requests in this process hold now, for a gauge. */
  readonly inProgress: number;
  readonly limiters: readonly GuardLimiter[];
  /**
   * A new guard with the same limiters. `options` override those of this guard; `undefined` resets an option to its
   * default. Tests use it to run an app's guard on a manual clock, and `spillway replay` to run it on the clock of a
   * log.
   *
   * @throws SpillwayError like `createGuard`
   */
  withOptions(options: GuardOptions<Raw>): Guard<Raw>;
}

export function listed<Raw>(limiters: readonly Limiter<Raw>[]): readonly GuardLimiter[] {
  return Object.freeze(
    limiters.map((limiter) => {
      const { name, kind, mode } = limiter;
      return Object.freeze({
        name,
        kind,
        rule: limiter.kind === 'stored' ? limiter.rule : undefined,
        mode: typeof mode === 'function' ? undefined : mode,
        refunds: limiter.finish !== undefined,
      });
    }),
  );
}
