/**
 * Connects guards and limiters to a control. Only controls import this module (ADR 32), so bundles without a control
 * don't contain it.
 */

import { mustBe, SpillwayError, show } from '../base/errors.js';
import { getOrMake } from '../base/get-or-make.js';
import { isThenable } from '../base/host.js';
import { Junk } from '../base/junk.js';
import type { Control, KeyOverride, LimiterSettings, LiveLimits } from '../contract/control.js';
import type {
  ControlLink,
  ControlLinked,
  ControlUser,
  LiveVariants,
  Numbers,
  RuleVariant,
} from '../contract/control-link.js';
import { type Decision, deniedDecision, type Mode, skippedDecision } from '../contract/decision.js';
import type { Rule } from '../contract/rule.js';
import { liveNumbers } from '../limits/live-numbers.js';
import { checkSetting } from './check-change.js';
import type { Setting } from './override.js';

/**
 * Turns an object with `settingsOf` and `overrideOf` into a control for guards and limiters. Call it once for each
 * custom control, where it is created; `memoryControl` and `redisControl` call it themselves.
 *
 * @returns the same object, with the additional method `link`
 * @throws SpillwayError `SPW_OPTION_INVALID` if the object is not extensible: freeze it afterwards
 * @example
 * ```ts
 * import { createGuard, rateLimit } from '@spillway/core';
 * import { liveControl } from '@spillway/core/control';
 *
 * const isOff = () => process.env['LIMITS'] === 'off';
 * const off = { mode: 'off' } as const;
 * const control = liveControl({
 *   settingsOf: () => (isOff() ? off : undefined),
 *   overrideOf: () => undefined,
 * });
 * export const guard = createGuard(rateLimit({ limit: 100, window: '1m' }), { control });
 * ```
 */
export function liveControl<C extends Control>(control: C): C & ControlLinked {
  if (!Object.isExtensible(control)) {
    throw mustBe('control', 'extensible: freeze it after liveControl(control)', control);
  }
  return Object.assign(control, {
    // In a copy of the control, `this` is the copy.
    link(this: Control, user: ControlUser): ControlLink {
      return new Link(this, user);
    },
  });
}

class Link implements ControlLink {
  /** The settings that the control last returned, and the valid part of them, by limiter name. */
  private readonly last = new Map<
    string,
    { readonly said: unknown; readonly obeyed: LimiterSettings | undefined }
  >();
  /** By limiter name, the last resets of the control, all applied to the fallback counters. */
  private readonly resets = new Map<string, ReadonlyMap<string, number>>();
  /** Variants by live limits and by the variant that these change. Garbage-collected with the limits. */
  private readonly variants = new WeakMap<LiveLimits, WeakMap<object, object>>();
  private readonly control: Control;
  private readonly user: ControlUser;

  constructor(control: Control, user: ControlUser) {
    this.control = control;
    this.user = user;
  }

  register(limiter: string, rule?: Rule): void {
    try {
      checkAtOnce('register', this.control.register?.(limiter, rule));
    } catch (error) {
      this.reportFault(limiter, error);
    }
  }

  variantOf<Declared extends Numbers>(
    limiter: LiveVariants<Declared>,
    from: RuleVariant<Declared>,
    key: string,
    limits: LiveLimits | undefined,
  ): RuleVariant<Declared> {
    const own = this.limitsOf(limiter.name, key);
    // A plan's limit of 0 stays 0, except for keys that have their own live `limit`.
    if (from.numbers.limit === 0 && own?.limit === undefined) return from;
    const isFor =
      from === limiter.declared || limits?.factor !== undefined || limits?.allPlans === true;
    const live = own ?? (isFor ? limits : undefined);
    return live ? this.changed(limiter, from, live) : from;
  }

  settingsOf(limiter: string): LimiterSettings | undefined {
    let said: unknown;
    try {
      said = this.control.settingsOf(limiter);
      checkAtOnce('settingsOf', said);
    } catch (error) {
      this.reportFault(limiter, error);
      return undefined;
    }
    const last = this.last.get(limiter);
    if (last ? last.said === said : said === undefined) return last?.obeyed;
    const obeyed = this.checked(limiter, said);
    this.last.set(limiter, { said, obeyed });
    this.user.forgetAll();
    this.passOnResets(limiter);
    return obeyed;
  }

  decisionByOverride(limiter: string, mode: Mode, key: string): Decision | undefined {
    const override = this.overrideOf(limiter, key);
    if (!override) return undefined;
    return override.verdict === 'allow'
      ? skippedDecision(limiter)
      : deniedDecision(limiter, mode, 'blocked', override.endsInMs);
  }

  overrideOf(limiter: string, key: string): KeyOverride | undefined {
    try {
      const override: KeyOverride | undefined = this.control.overrideOf(limiter, key);
      if (override === undefined || override === null) return undefined;
      const { verdict, endsInMs } = override;
      const isKnown = verdict === 'allow' || verdict === 'block';
      if (isKnown && typeof endsInMs === 'number' && endsInMs > 0) return override;
      checkAtOnce('overrideOf', override);
      throw new SpillwayError(
        'SPW_OPTION_INVALID',
        `overrideOf() must return allow or block with a positive time, got ${show(verdict)} for ${show(endsInMs)} ms`,
      );
    } catch (error) {
      this.reportFault(limiter, error);
      return undefined;
    }
  }

  /** Returns a key's live limits. Their numbers are validated where they change a rule. */
  limitsOf(limiter: string, key: string): LiveLimits | undefined {
    try {
      const limits = this.control.limitsOf?.(limiter, key) ?? undefined;
      checkAtOnce('limitsOf', limits);
      if (limits !== undefined && typeof limits !== 'object') {
        throw mustBe('limits', 'an object', limits);
      }
      return limits;
    } catch (error) {
      this.reportFault(limiter, error);
      return undefined;
    }
  }

  private changed<Declared extends Numbers>(
    limiter: LiveVariants<Declared>,
    from: RuleVariant<Declared>,
    live: LiveLimits,
  ): RuleVariant<Declared> {
    try {
      const variants = getOrMake(this.variants, live, () => new WeakMap<object, object>());
      const make = () => limiter.withNumbers(liveNumbers(from.numbers, live), from);
      return getOrMake(variants, from, make) as RuleVariant<Declared>;
    } catch (error) {
      this.reportFault(limiter.name, error);
      return from;
    }
  }

  private checked(limiter: string, said: unknown): LimiterSettings | undefined {
    if (said === undefined || said === null) return undefined;
    if (typeof said !== 'object') {
      this.reportFault(limiter, mustBe('settings', 'an object', said));
      return undefined;
    }
    const obeyed: Record<string, unknown> = {};
    for (const what of ['mode', 'share', 'limits'] as const) {
      try {
        const value = (said as LimiterSettings)[what];
        if (value === undefined) continue;
        checkSetting({ what, value } as Setting);
        obeyed[what] = value;
      } catch (error) {
        this.reportFault(limiter, error);
      }
    }
    return obeyed;
  }

  private passOnResets(limiter: string): void {
    try {
      const resets = this.control.resetsOf?.(limiter);
      if (!resets) return;
      checkAtOnce('resetsOf', resets);
      const before = this.resets.get(limiter);
      for (const [key, atMs] of resets) {
        if (before?.get(key) !== atMs) this.user.forgetReset(limiter, key);
      }
      this.resets.set(limiter, new Map(resets));
    } catch (error) {
      this.reportFault(limiter, error);
    }
  }

  private reportFault(limiter: string, error: unknown): void {
    this.user.fault({ limiter, source: 'control', error });
  }
}

/** Throws if the control returned a promise, whose rejection would otherwise end the process. */
function checkAtOnce(method: string, said: unknown): void {
  if (isThenable(said)) throw new Junk(`${method}() of the control`, said);
}
