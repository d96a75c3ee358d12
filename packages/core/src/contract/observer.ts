import type { Control } from './control.js';
import type { Decision, Mode } from './decision.js';
import type { LimitRequest } from './request.js';

/**
 * A decision with the mode of its limiter. Apart from the numbers, each property has only a few possible values, and
 * none identifies a caller.
 */
export interface DecisionEvent extends Decision {
  readonly mode: Mode;
}

/** One call of a store. */
export interface StoreCallEvent {
  readonly durationMs: number;
  /** `ok`, or the kind of failure: `timeout`, `unavailable`, or an error of the store, such as `readonly`. */
  readonly outcome: string;
}

/** A circuit breaker has opened or closed. It opens when a part of the store fails or is slow. */
export interface BreakerEvent {
  readonly state: 'open' | 'closed';
  readonly reason: 'failures' | 'slow';
  /**
   * The part of the store, such as the address of a cluster node; undefined if the store has no parts. Parts beyond
   * 1,000 at a time share the name `other parts`.
   */
  readonly part?: string;
  /** How long the breaker was open, in milliseconds; 0 when it opens. */
  readonly openMs: number;
  readonly error?: Error;
}

/** Units that a limit with a meter has charged, or could not charge. */
export interface UnitsEvent {
  readonly limiter: string;
  /**
   * - `reserved`: charged at admission;
   * - `added`, `returned`: charged or given back later. Reserved plus added minus returned units are the cost so far;
   * - `cut`: the cost of a request that was cut off by its client or an error;
   * - `silent`: the cost of a request that ended without being settled;
   * - `forgiven`: not charged, because they go beyond the limit plus the debt that it allows;
   * - `lost`: probably not charged, because the store did not answer.
   */
  readonly kind: UnitsKind;
  readonly units: number;
}

export type UnitsKind = 'reserved' | 'added' | 'returned' | 'cut' | 'silent' | 'forgiven' | 'lost';

/** A memory store, as metrics read it: see {@link memoryStore}. */
export interface Overflowing {
  /** Decisions that used a shared count because the store was full. */
  readonly overflowed: number;
}

/**
 * Observes guards, limiters without HTTP, and shapers. Most methods are called while a request waits, so they must be
 * quick. If a method throws, the error is reported as a fault.
 */
export interface Observer {
  /**
   * Called for each decision, except those of `peek`. `key` is the request's key in this limiter, not hashed; undefined
   * if there is none. A log should hash it. `request` is undefined without HTTP. Never use either as a metric label.
   */
  readonly onDecision?:
    | ((event: DecisionEvent, key: string | undefined, request: LimitRequest | undefined) => void)
    | undefined;
  /**
   * Like {@link onDecision}, for observers that only count. They get the decision itself instead of a copy, and must
   * not keep or change it.
   */
  readonly countDecision?:
    | ((decision: Decision, mode: Mode, key: string | undefined) => void)
    | undefined;
  /**
   * Called for each request that a guard let pass, when its response has closed. With such an observer, a guard watches
   * the end of every response.
   */
  readonly onEnd?: ((request: LimitRequest) => void) | undefined;
  /** Called when a limit with a meter has charged units, given them back, or could not charge them. */
  readonly onUnits?: ((event: UnitsEvent) => void) | undefined;
  /**
   * Called when a job of a shaper stops waiting: it starts, or was rejected or aborted. Called in the async context in
   * which the job was scheduled.
   */
  readonly onWait?:
    | ((event: {
        readonly limiter: string;
        readonly waitMs: number;
        readonly outcome: 'started' | 'rejected' | 'aborted';
      }) => void)
    | undefined;
  /** Called for each {@link Fault}. The request was answered anyway. */
  readonly onFault?: ((fault: Fault) => void) | undefined;
  readonly onStoreCall?: ((event: StoreCallEvent) => void) | undefined;
  /**
   * Called when a breaker opens or closes, because the store or a part of it is down, slow or back: once for each
   * store, even if several guards have this observer.
   */
  readonly onBreaker?: ((event: BreakerEvent) => void) | undefined;
  /** Called by each new guard or limiter whose store is in memory. Read `overflowed` at any time. */
  readonly onStore?: ((store: Overflowing) => void) | undefined;
  /** Called by each new guard or limiter whose control has `settingsLost`. Read it at any time. */
  readonly onControl?: ((control: Pick<Control, 'settingsLost'>) => void) | undefined;
}

/** A failure of a callback of the app, or of a component such as the store. The request was answered anyway. */
export interface Fault {
  readonly limiter: string;
  /**
   * What failed: the callback of an option, an observer, the signal of a load shedder, a custom limiter (`step`,
   * `decide`, `finish`), the control, the store, or the adapter.
   */
  readonly source:
    | 'key'
    | 'cost'
    | 'plan'
    | 'period'
    | 'item'
    | 'capacity'
    | 'priority'
    | 'signal'
    | 'mode'
    | 'control'
    | 'skip'
    | 'refundIf'
    | 'scope'
    | 'fingerprint'
    | 'keepIf'
    | 'decide'
    | 'observer'
    | 'store'
    | 'step'
    | 'finish'
    | 'adapter';
  /** The thrown error, or an error that describes the invalid return value. */
  readonly error: unknown;
}

/** The codes of notices. The option `validate` can silence each of them. */
export type NoticeCode = keyof typeof NOTICE_CODES;

export const NOTICE_CODES = {
  SPW_ADDRESS_UNKNOWN: 1,
  SPW_CIDR_INVALID: 1,
  SPW_COUNTED_TWICE: 1,
  SPW_FORWARDED_UNTRUSTED: 1,
  SPW_GUARD_UNUSED: 1,
  SPW_KEY_CONSTANT: 1,
  SPW_KEY_MISREAD: 1,
  SPW_KEY_RAW_ADDRESS: 1,
  SPW_MADE_IN_HANDLER: 1,
  SPW_REGISTERED_TWICE: 1,
  SPW_SHADOW_IN_PRODUCTION: 1,
  SPW_STORE_MISSING: 1,
  SPW_TRUST_PROXY_INVALID: 1,
  SPW_TRUST_PROXY_UNSAFE: 1,
  SPW_WINDOW_SHORT: 1,
} as const;

/** Which notices to log: all, none, or all except those that are `false` here. */
export type Validate = boolean | { readonly [Code in NoticeCode]?: boolean | undefined };

/** A log line about a probable mistake in the options of a limiter. */
export interface Notice {
  readonly code: NoticeCode;
  /** What is wrong and what to write instead, without a final full stop. */
  readonly message: string;
}
