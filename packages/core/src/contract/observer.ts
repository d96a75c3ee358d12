/** What guards, and limiters without HTTP, report to observers. */

import type { Control } from './control.js';
import type { Decision } from './decision.js';
import type { Fault } from './fault.js';
import type { Mode } from './mode.js';
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
