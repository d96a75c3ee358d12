/** How guards and limiters read live settings: each control brings the code for that. */

import type { Duration } from '../base/duration.js';
import type { Control, LiveLimits } from './control.js';
import type { Decision, Mode } from './decision.js';
import type { Fault } from './observer.js';

/** What guards and limiters take: `memoryControl()`, `redisControl(client)`, or a control passed to `liveControl`. */
export type LinkedControl = Control & ControlLinked;

/** What every control has that guards and limiters take. */
export interface ControlLinked {
  /** The way of one user to this control. */
  link(user: ControlUser): ControlLink;
}

/** A guard or a limiter without HTTP, as its control knows it. */
export interface ControlUser {
  fault(fault: Fault): void;
  /** The settings of a limiter have changed: no cached rejection holds any more. */
  forgetAll(): void;
  /** A key was reset, and the store knows. */
  forgetReset(limiter: string, key: string): void;
}

/** The settings of a control, checked: reading them throws nothing, and what is not valid counts as not set. */
export interface ControlLink extends Control, LiveLink {
  /** What an operator has decided about a key, for a limiter in `mode`. */
  ruled(limiter: string, mode: Mode, key: string): Decision | undefined;
}

/** How live numbers of limiters are read. */
export interface LiveLink {
  /** The override of one key of a limiter. */
  limitsOf?(limiter: string, key: string): LiveLimits | undefined;
  /**
   * The declared numbers, or those of a plan, with what was set live in their place.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID`
   */
  liveNumbers<Declared extends Numbers>(declared: Declared, live: LiveLimits): Declared;
}

/** What can be set live; limits on requests in progress have no window. */
export interface Numbers {
  readonly limit: number;
  readonly window?: Duration | undefined;
  readonly burst?: number | undefined;
}
