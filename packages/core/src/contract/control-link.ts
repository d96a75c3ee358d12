/** How guards and limiters read live settings: each control brings the code for that. */

import type { Duration } from '../base/duration.js';
import type { Control, LiveLimits } from './control.js';
import type { Decision, Mode, Policy } from './decision.js';
import type { Fault } from './observer.js';
import type { Rule } from './rule.js';

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
  /**
   * The variant of a limiter for a caller, with what was set live. What makes no rule is a fault and does not apply.
   *
   * @param from the variant of the caller's plan, or the declared one
   * @param limits what is set live for the limiter as a whole
   */
  variantOf<Declared extends Numbers>(
    limiter: LiveVariants<Declared>,
    from: RuleVariant<Declared>,
    key: string,
    limits: LiveLimits | undefined,
  ): RuleVariant<Declared>;
}

/** A limiter whose numbers can be set live. */
export interface LiveVariants<Declared extends Numbers> {
  readonly name: string;
  readonly declared: RuleVariant<Declared>;
  /**
   * A variant of live numbers, of the same plan as another.
   *
   * @throws SpillwayError where they make no rule
   */
  withNumbers(numbers: Declared, like: RuleVariant<Declared>): RuleVariant<Declared>;
}

/** All that follows from the numbers of a limit. */
export interface RuleVariant<Declared extends Numbers> {
  readonly numbers: Declared;
  /** The name of the plan, if it has one. */
  readonly plan: string | undefined;
  readonly rule: Rule;
  /** The rule for this process alone, when the store fails. */
  readonly local: Rule;
  readonly policy: Policy;
}

/** What can be set live; limits on requests in progress have no window. */
export interface Numbers {
  readonly limit: number;
  readonly window?: Duration | undefined;
  readonly burst?: number | undefined;
}
