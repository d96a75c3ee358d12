/** What guards tell those who watch them. */

import type { Decision } from './decision.js';
import type { Fault } from './fault.js';
import type { Mode } from './mode.js';

/**
 * A decision with the mode of its limiter. All its fields have few values, save the numbers: none identifies a caller.
 */
export interface DecisionEvent extends Decision {
  readonly mode: Mode;
}

/** One call of a store. */
export interface StoreCallEvent {
  readonly durationMs: number;
  /** `ok`, or what went wrong: `timeout`, `unavailable`, or a word for the store's own error, such as `readonly`. */
  readonly outcome: string;
}

/** A breaker that opened, because a part of the store does not answer, or closed again. */
export interface BreakerEvent {
  readonly state: 'open' | 'closed';
  /** Which part, such as the address of a node of a cluster; undefined if the store has no parts. */
  readonly part?: string;
  /** How long it was open, in milliseconds; 0 when it opens. */
  readonly openMs: number;
  /** The error for which it opened. */
  readonly error?: Error;
}

/** A store in memory, such as {@link memoryStore}. */
export interface Overflowing {
  /** Decisions taken on a shared count because the store was full. */
  readonly overflowed: number;
}

/**
 * Watches guards. What it throws is caught and told as a fault. All methods are called on the request's way: they must
 * be quick.
 */
export interface Observer {
  /** `key` is what was counted, for logs that hash it; undefined where nothing was. Never make it a label. */
  readonly onDecision?: ((event: DecisionEvent, key: string | undefined) => void) | undefined;
  readonly onFault?: ((fault: Fault) => void) | undefined;
  readonly onStoreCall?: ((event: StoreCallEvent) => void) | undefined;
  readonly onBreaker?: ((event: BreakerEvent) => void) | undefined;
  /** Told by each new guard whose store is in memory: the number can be read at any time. */
  readonly onStore?: ((store: Overflowing) => void) | undefined;
}
