/** How guards and limiters read live settings: each control brings the code for that. */

import type { Duration } from '../base/duration.js';
import type { Control, LiveLimits } from './control.js';
import type { Decision, Policy } from './decision.js';
import type { Fault } from './fault.js';
import type { Mode } from './mode.js';
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
export interface ControlLink extends Control {
  /** What an operator has decided about a key, for a limiter in `mode`. */
  ruled(limiter: string, mode: Mode, key: string): Decision | undefined;
  /**
   * What is set live for one limit without HTTP.
   *
   * @param ruleOf the rule for its numbers, declared or live
   * @param localShare this process's share of the limit when the store does not answer
   */
  limit<Declared extends Numbers>(
    name: string,
    declared: Declared,
    ruleOf: (numbers: Declared) => Rule,
    localShare: number,
  ): LiveLimit;
}

/** What can be set live; limits on requests in progress have no window. */
export interface Numbers {
  readonly limit: number;
  readonly window?: Duration | undefined;
  readonly burst?: number | undefined;
}

/** The live numbers of one limit without HTTP. */
export interface LiveLimit {
  /**
   * The rule for the key and the one for this process alone, if they are not the declared ones.
   *
   * @param limits for all keys of the limit
   */
  rulesFor(
    key: string,
    limits: LiveLimits | undefined,
  ): { readonly rule: Rule; readonly local: Rule } | undefined;
  policyOf(rule: Rule): Policy;
}
