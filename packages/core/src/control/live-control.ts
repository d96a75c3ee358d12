/**
 * What guards and limiters obey of a control: a mistake in it is a fault, and what it changes is forgotten. A control
 * brings this code as a store brings that of its failures (ADR 32), so that limiters without a control are 1.5 kB
 * smaller.
 */

import { mustBe, SpillwayError, show } from '../base/errors.js';
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
import { liveNumbers } from '../limits/live-numbers.js';
import { checkSetting } from './check-change.js';
import type { Setting } from './override.js';

/**
 * Makes of any object that answers `settingsOf` and `overrideOf` a control that guards and limiters take. Each control
 * passes through it, once, where it is made; `memoryControl` and `redisControl` do so themselves.
 *
 * @returns the same object, which has one member more
 * @throws SpillwayError `SPW_OPTION_INVALID` for an object that cannot be extended: freeze it afterwards
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
  return Object.assign(control, { link: linkOf });
}

function linkOf(this: Control, user: ControlUser): ControlLink {
  return new Link(this, user);
}

class Link implements ControlLink {
  /** By limiter: what the control returned last, and the valid part of it. */
  private readonly last = new Map<
    string,
    { readonly said: unknown; readonly obeyed: LimiterSettings | undefined }
  >();
  /** By limiter, the resets that were passed on last: those of a minute. */
  private readonly resets = new Map<string, ReadonlyMap<string, number>>();
  /** By what was set live, and by the variant that it changes: they go with it. */
  private readonly variants = new WeakMap<LiveLimits, WeakMap<object, object>>();
  private readonly control: Control;
  private readonly user: ControlUser;

  constructor(control: Control, user: ControlUser) {
    this.control = control;
    this.user = user;
  }

  variantOf<Declared extends Numbers>(
    limiter: LiveVariants<Declared>,
    from: RuleVariant<Declared>,
    key: string,
    limits: LiveLimits | undefined,
  ): RuleVariant<Declared> {
    const own = this.limitsOf(limiter.name, key);
    // Only a limit of the key itself lets a caller pass whose plan has none.
    if (from.rule.limit === 0 && own?.limit === undefined) return from;
    const live = own ?? (from === limiter.declared || reachesPlans(limits) ? limits : undefined);
    return live ? this.changed(limiter, from, live) : from;
  }

  settingsOf(limiter: string): LimiterSettings | undefined {
    let said: unknown;
    try {
      said = this.control.settingsOf(limiter);
    } catch (error) {
      this.tell(limiter, error);
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

  ruled(limiter: string, mode: Mode, key: string): Decision | undefined {
    const ruling = this.overrideOf(limiter, key);
    return ruling && ruledDecision(limiter, mode, ruling);
  }

  overrideOf(limiter: string, key: string): KeyOverride | undefined {
    try {
      const ruling: KeyOverride | undefined = this.control.overrideOf(limiter, key);
      if (ruling === undefined || ruling === null) return undefined;
      const { verdict, endsInMs } = ruling;
      if ((verdict === 'allow' || verdict === 'block') && endsInMs > 0) return ruling;
      throw new SpillwayError(
        'SPW_OPTION_INVALID',
        `a ruling must be allow or block for a time, got ${show(verdict)} for ${show(endsInMs)} ms`,
      );
    } catch (error) {
      this.tell(limiter, error);
      return undefined;
    }
  }

  /** Not checked here: whoever makes a rule of the numbers does so, once for each object. */
  limitsOf(limiter: string, key: string): LiveLimits | undefined {
    try {
      return this.control.limitsOf?.(limiter, key) ?? undefined;
    } catch (error) {
      this.tell(limiter, error);
      return undefined;
    }
  }

  private changed<Declared extends Numbers>(
    limiter: LiveVariants<Declared>,
    from: RuleVariant<Declared>,
    live: LiveLimits,
  ): RuleVariant<Declared> {
    try {
      const known = this.variants.get(live);
      const variants = known ?? new WeakMap<object, object>();
      if (!known) this.variants.set(live, variants);
      let variant = variants.get(from) as RuleVariant<Declared> | undefined;
      if (!variant) {
        variant = limiter.withNumbers(liveNumbers(from.numbers, live), from);
        variants.set(from, variant);
      }
      return variant;
    } catch (error) {
      this.tell(limiter.name, error);
      return from;
    }
  }

  /** The valid part of the settings that the control returned. */
  private checked(limiter: string, said: unknown): LimiterSettings | undefined {
    if (said === undefined || said === null) return undefined;
    if (typeof said !== 'object') {
      this.tell(limiter, mustBe('settings', 'an object', said));
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
        this.tell(limiter, error);
      }
    }
    return obeyed;
  }

  private passOnResets(limiter: string): void {
    try {
      const resets = this.control.resetsOf?.(limiter);
      if (!resets) return;
      const before = this.resets.get(limiter);
      for (const [key, atMs] of resets) {
        if (before?.get(key) !== atMs) this.user.forgetReset(limiter, key);
      }
      this.resets.set(limiter, new Map(resets));
    } catch (error) {
      this.tell(limiter, error);
    }
  }

  private tell(limiter: string, error: unknown): void {
    this.user.fault({ limiter, source: 'control', error });
  }
}

/** Whether live numbers apply to callers with a plan. */
function reachesPlans(limits: LiveLimits | undefined): boolean {
  return limits?.factor !== undefined || limits?.allPlans === true;
}

/** The decision that an operator has made about a key. */
function ruledDecision(limiter: string, mode: Mode, { verdict, endsInMs }: KeyOverride): Decision {
  return verdict === 'allow'
    ? skippedDecision(limiter)
    : deniedDecision(limiter, mode, 'blocked', endsInMs);
}
