/** What guards, and limiters without HTTP, report: events to observers, faults, and warnings about the setup. */

import type { SpillwayErrorCode } from '../base/errors.js';
import type { Control } from './control.js';
import type { Decision, Mode } from './decision.js';
import type { LimitRequest } from './request.js';

/**
 * A decision with the mode of its limiter. Every field except the numbers has few values, and none identifies a caller.
 */
export interface DecisionEvent extends Decision {
  readonly mode: Mode;
}

/** One call of a store. */
export interface StoreCallEvent {
  readonly durationMs: number;
  /** `ok`, or what went wrong: `timeout`, `unavailable`, or a word for the store's own error such as `readonly`. */
  readonly outcome: string;
}

/** A breaker that opened, because a part of the store fails or is slow, or that closed again. */
export interface BreakerEvent {
  readonly state: 'open' | 'closed';
  /** Why it opened: too many calls failed, or too many were answered late. */
  readonly reason: 'failures' | 'slow';
  /**
   * Which part, such as the address of a node of a cluster; undefined if the store has no parts. `other parts` stands
   * for those beyond the 1,000 that are told apart.
   */
  readonly part?: string;
  /** How long the breaker was open, in milliseconds; 0 when it opens. */
  readonly openMs: number;
  /** The error that opened it. */
  readonly error?: Error;
}

/** A store in memory, such as {@link memoryStore}. */
export interface Overflowing {
  /** Decisions that used a shared count because the store was full. */
  readonly overflowed: number;
}

/**
 * Watches guards. If a method throws, that is a fault. Methods are called while the request waits, so they must be
 * quick.
 */
export interface Observer {
  /**
   * `key` is the key that was counted, for logs that hash it; undefined if nothing was counted. `request` is what was
   * decided on; undefined without HTTP. Never use either as a metric's label.
   */
  readonly onDecision?:
    | ((event: DecisionEvent, key: string | undefined, request: LimitRequest | undefined) => void)
    | undefined;
  /** Something of yours or of the store failed; the request was answered all the same. */
  readonly onFault?: ((fault: Fault) => void) | undefined;
  /** A call of the store has ended. */
  readonly onStoreCall?: ((event: StoreCallEvent) => void) | undefined;
  /** The breaker opened or closed: a store, or a part of one, is given up on, or is back. */
  readonly onBreaker?: ((event: BreakerEvent) => void) | undefined;
  /** Called by each new guard whose store is in memory. The number can be read at any time. */
  readonly onStore?: ((store: Overflowing) => void) | undefined;
  /** Called by each new guard with its control. `settingsLost` can be read at any time. */
  readonly onControl?: ((control: Pick<Control, 'settingsLost'>) => void) | undefined;
}

/** A mistake in a user's callback, or a store that failed. The request was answered all the same. */
export interface Fault {
  readonly limiter: string;
  /**
   * What failed: the callback of an option, an observer, the signal of a shedder, a limiter of your own (`step`,
   * `decide`, `finish`), the store, the adapter.
   */
  readonly source:
    | 'key'
    | 'cost'
    | 'plan'
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
  /** The error that was thrown, or one that says what the callback returned. */
  readonly error: unknown;
}

/** The codes of such lines: what the option `validate` can silence. */
export type NoticeCode = Extract<
  SpillwayErrorCode,
  | 'SPW_ADDRESS_UNKNOWN'
  | 'SPW_CIDR_INVALID'
  | 'SPW_COUNTED_TWICE'
  | 'SPW_FORWARDED_UNTRUSTED'
  | 'SPW_GUARD_UNUSED'
  | 'SPW_KEY_CONSTANT'
  | 'SPW_KEY_MISREAD'
  | 'SPW_KEY_RAW_ADDRESS'
  | 'SPW_MADE_IN_HANDLER'
  | 'SPW_REGISTERED_TWICE'
  | 'SPW_SHADOW_IN_PRODUCTION'
  | 'SPW_STORE_MISSING'
  | 'SPW_TRUST_PROXY_INVALID'
  | 'SPW_TRUST_PROXY_UNSAFE'
  | 'SPW_WINDOW_SHORT'
>;

/** Which lines to write: all, none, or all but those that are `false` here. */
export type Validate = boolean | { readonly [Code in NoticeCode]?: boolean | undefined };

/** One such line, known since its limiter was made. */
export interface Notice {
  readonly code: NoticeCode;
  /** What is wrong, and what to write; no full stop at its end. */
  readonly message: string;
}
