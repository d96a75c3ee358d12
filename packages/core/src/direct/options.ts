/** What can be asked of a limit without HTTP. */

import type { NamesOf } from '../base/option-names.js';
import type { Control } from '../contract/control.js';
import type { Decision, Mode } from '../contract/decision.js';
import type { DecisionEvent, Fault, Observer } from '../contract/observer.js';
import type { Plan } from '../contract/request.js';
import type { Rule } from '../contract/rule.js';
import type { Store, SyncStore } from '../contract/store.js';
import type { RuleOptions } from '../limits/rule-options.js';
import type { StoreClientOptions } from '../stores/store-client.js';

/** A limit without HTTP. */
export interface LimitOptions extends RuleOptions {
  /** `enforce` (default), `shadow` (counts, rejects nobody) or `off` (kill switch). */
  readonly mode?: Mode | undefined;
  /**
   * Roll-out: the share of keys for which the limit is enforced, 0 to 1, always the same ones; for the others it is in
   * shadow. Default 1.
   */
  readonly share?: number | undefined;
}

export interface LimiterOptions extends LimitOptions {
  /**
   * With the key, identifies the count in the store. Required with a store. Default: the numbers, as in `100-per-1m`.
   */
  readonly name?: string | undefined;
}

export const LIMIT_OPTIONS: NamesOf<LimitOptions> = {
  limit: 1,
  window: 1,
  burst: 1,
  algorithm: 1,
  anchor: 1,
  mode: 1,
  share: 1,
};

export const LIMITER_OPTIONS: NamesOf<LimiterOptions> = {
  name: 1,
  limit: 1,
  window: 1,
  burst: 1,
  algorithm: 1,
  anchor: 1,
  mode: 1,
  share: 1,
};

/**
 * The second argument of `createLimiter` and `createLimiters`: where limits without HTTP are counted, what if that
 * fails, what changes them live, and who is told.
 */
export interface KeyedLimiterOptions<S extends Store> extends StoreClientOptions {
  /** Where counts live. Default: this process's memory, where each limiter counts apart. */
  readonly store?: S | undefined;
  /** With `onStoreError: 'local'`: this process's share of the limit, above 0 up to 1. Default 1. */
  readonly localShare?: number | undefined;
  /**
   * What operators set live, by the name of the limit: a mode, a share, numbers, and keys that are blocked, allowed or
   * have numbers of their own. Default: nothing.
   */
  readonly control?: Control | undefined;
  /** Told of every decision but those of `peek`. The key is for logs that hash it: see {@link Observer}. */
  readonly onDecision?: ((event: DecisionEvent, key: string | undefined) => void) | undefined;
  /** Told when the store, the control or an observer fails; without it, `logger` is, once a minute for each. */
  readonly onFault?: ((fault: Fault) => void) | undefined;
  /** More observers, such as those of `@spillway/prometheus` and `@spillway/opentelemetry`. */
  readonly observers?: readonly Observer[] | undefined;
}

export const SETTINGS: NamesOf<KeyedLimiterOptions<Store>> = {
  store: 1,
  storeTimeout: 1,
  onStoreError: 1,
  localShare: 1,
  control: 1,
  breaker: 1,
  denialCache: 1,
  clock: 1,
  logger: 1,
  validate: 1,
  onDecision: 1,
  onFault: 1,
  observers: 1,
};

/** What a call of a limiter takes. */
export interface CostOptions {
  /** Units: an integer from 0. Default 1. */
  readonly cost?: number | undefined;
  /**
   * Numbers of the key's plan in place of the declared ones; null for none. A plan that makes no limit is a fault, and
   * the declared numbers apply. Plans with other windows or bursts are other counts.
   */
  readonly plan?: Plan | null | undefined;
}

/** The answer for many keys at once. */
export interface GroupDecision {
  /** Whether every key passes; if not, none was charged by `consumeAll`. */
  readonly allowed: boolean;
  /**
   * The decision that counts: of those refused the one with the longest wait, else the one with the least remaining.
   */
  readonly binding: Decision;
  /**
   * One for each key, in the order asked; a key asked twice is answered for the sum. Where one is rejected without the
   * store, because it is blocked or in the denial cache, the others are `skipped`.
   */
  readonly decisions: readonly Decision[];
}

/** Now with a store that answers now, else later. */
export type Timely<S extends Store, Value> = S extends SyncStore ? Value : Promise<Value>;

/**
 * A limit by key; what {@link createLimiter} returns. A key is a text of 1 to 8,192 UTF-16 units; another, or a wrong
 * cost, throws `SPW_KEY_INVALID` or `SPW_COST_INVALID`.
 */
export interface KeyedLimiter<S extends Store> {
  readonly name: string;
  readonly rule: Rule;
  /**
   * Charges the cost if it passes, as in `if ((await limiter.consume(key)).allowed)`. The decision is an object, so a
   * test of it without `.allowed` is always true; `.allowed` of a promise, without `await`, is `undefined`.
   */
  consume(key: string, options?: CostOptions): Timely<S, Decision>;
  /** Charges every key, or none of them. More than 1,000 different keys throw `SPW_GROUP_TOO_LARGE`. */
  consumeAll(keys: readonly string[], options?: CostOptions): Timely<S, GroupDecision>;
  /** Charges every key whether it passes or not; says what `consumeAll` would have said, and throws what it would. */
  record(keys: string | readonly string[], options?: CostOptions): Timely<S, GroupDecision>;
  /** What `consume` would say, without charging. */
  peek(key: string, options?: CostOptions): Timely<S, Decision>;
  /** What `consumeAll` would say, without charging. */
  peek(keys: readonly string[], options?: CostOptions): Timely<S, GroupDecision>;
  /**
   * Gives back what a decision of `consume` charged, or `cost` units of it. Once, in the store that charged it, and no
   * more than still counts: true if anything was. Void after its `resetMs`, or in another window.
   */
  refund(decision: Decision, options?: CostOptions): Timely<S, boolean>;
  /** Forgets a key, whatever its plan. False if the store could not be told: the key is counted as before. */
  reset(key: string): Timely<S, boolean>;
}
