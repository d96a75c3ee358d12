import type { Duration } from '../base/duration.js';
import type { Control, LiveLimits } from './control.js';
import type { Decision, Mode, Policy } from './decision.js';
import type { Fault } from './observer.js';
import type { CalendarWindow, Rule } from './rule.js';

/**
 * A control that guards and limiters accept: `memoryControl()`, `redisControl(client)`, or a control wrapped by
 * `liveControl`.
 */
export type LinkedControl = Control & ControlLinked;

/** The part of a {@link LinkedControl} that links it to guards and limiters. */
export interface ControlLinked {
  link(user: ControlUser): ControlLink;
}

/** A guard, or a limiter used without HTTP, as its control sees it. */
export interface ControlUser {
  fault(fault: Fault): void;
  /** Clears the denial cache, because the settings of a limiter have changed. */
  forgetAll(): void;
  /** Drops a key from the fallback counters, because it was reset in the store. */
  forgetReset(limiter: string, key: string): void;
}

/** Checked settings: an invalid one counts as not set. Reading never throws. `limitsOf` is not checked. */
export interface ControlLink extends Control, LiveLink {
  register(limiter: string, rule?: Rule): void;
  decisionByOverride(limiter: string, mode: Mode, key: string): Decision | undefined;
}

/** Applies live limits to the declared numbers of limiters. */
export interface LiveLink {
  /**
   * Returns the numbers and the rule that apply to one caller of a limiter. Live limits that don't make a valid rule
   * are reported as a fault and ignored.
   *
   * @param from the numbers and the rule of the caller's plan, or the declared ones
   * @param limits the live limits of the limiter; those of the key take precedence
   */
  variantOf<Declared extends Numbers>(
    limiter: LiveVariants<Declared>,
    from: RuleVariant<Declared>,
    key: string,
    limits: LiveLimits | undefined,
  ): RuleVariant<Declared>;
}

export interface LiveVariants<Declared extends Numbers> {
  readonly name: string;
  readonly declared: RuleVariant<Declared>;
  withNumbers(numbers: Declared, like: RuleVariant<Declared>): RuleVariant<Declared>;
}

export interface RuleVariant<Declared extends Numbers> {
  readonly numbers: Declared;
  readonly plan: string | undefined;
  readonly rule: Rule;
  /** The rule of the fallback counter, used when the store fails. */
  readonly local: Rule;
  readonly policy: Policy;
}

/** The numbers that can be set live. Concurrency limits have no window. */
export interface Numbers {
  readonly limit: number;
  readonly window?: Duration | CalendarWindow<never> | undefined;
  readonly burst?: number | undefined;
  readonly algorithm?: { readonly maxLimit?: number | undefined } | undefined;
}
