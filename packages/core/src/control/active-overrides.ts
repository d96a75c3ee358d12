/** The overrides that are in force now, ready to be read at each request. */

import type { Control, KeyOverride, LimiterSettings, LiveLimits } from '../contract/control.js';
import { EVERY_LIMITER, fieldOf, type Override } from './override.js';

type Settings = { -readonly [Name in keyof LimiterSettings]: LimiterSettings[Name] };
type Ruling = Extract<Override, { what: 'key' }>;

/** All that is set live for one limiter; valid until something changes or ends. */
interface InForce {
  readonly settings: LimiterSettings | undefined;
  readonly rulings: ReadonlyMap<string, Ruling>;
  readonly limits: ReadonlyMap<string, LiveLimits>;
  readonly resets: ReadonlyMap<string, number>;
}

const NO_KEYS = new Map<string, never>();
const NONE: InForce = {
  settings: undefined,
  rulings: NO_KEYS,
  limits: NO_KEYS,
  resets: NO_KEYS,
};

/**
 * Keeps the latest override of each field. `settingsOf` returns the same object until an override of the limiter, or of
 * all limiters, changes. So callers can compare objects to see whether something has changed.
 */
export class ActiveOverrides implements Control {
  private readonly overrides = new Map<string, Override>();
  /** By limiter name; only names that are declared and asked for, so they are few. */
  private readonly byLimiter = new Map<string, InForce>();
  private nextEndMs = Infinity;
  private readonly nowMs: () => number;

  /** @param nowMs the time in milliseconds since the epoch, by the clock that says when overrides end */
  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
  }

  get size(): number {
    return this.overrides.size;
  }

  settingsOf(limiter: string): LimiterSettings | undefined {
    return this.overrides.size === 0 ? undefined : this.inForceFor(limiter).settings;
  }

  overrideOf(limiter: string, key: string): KeyOverride | undefined {
    if (this.overrides.size === 0) return undefined;
    const ruling = this.inForceFor(limiter).rulings.get(key);
    if (!ruling) return undefined;
    const endsInMs = ruling.untilMs === null ? Infinity : ruling.untilMs - this.nowMs();
    return { verdict: ruling.value, endsInMs };
  }

  limitsOf(limiter: string, key: string): LiveLimits | undefined {
    return this.overrides.size === 0 ? undefined : this.inForceFor(limiter).limits.get(key);
  }

  resetsOf(limiter: string): ReadonlyMap<string, number> {
    return this.overrides.size === 0 ? NONE.resets : this.inForceFor(limiter).resets;
  }

  /** Whether any single key of the limiter is blocked or allowed, or has limits of its own. */
  concernsKeys(limiter: string): boolean {
    if (this.overrides.size === 0) return false;
    const { rulings, limits } = this.inForceFor(limiter);
    return rulings.size > 0 || limits.size > 0;
  }

  get(field: string): Override | undefined {
    this.dropEnded();
    return this.overrides.get(field);
  }

  put(override: Override): void {
    this.overrides.set(fieldOf(override.limiter, override), override);
    if (override.untilMs !== null) this.nextEndMs = Math.min(this.nextEndMs, override.untilMs);
    this.forget(override.limiter);
  }

  remove(field: string): void {
    const override = this.overrides.get(field);
    if (!override) return;
    this.overrides.delete(field);
    this.forget(override.limiter);
  }

  /** Latest first. Resets are left out: they are over. */
  list(): readonly Override[] {
    this.dropEnded();
    const set = [...this.overrides].filter(([, { what }]) => what !== 'reset');
    const entries = set.sort(
      ([field, one], [otherField, other]) => other.atMs - one.atMs || (field < otherField ? -1 : 1),
    );
    return entries.map(([, override]) => override);
  }

  private inForceFor(limiter: string): InForce {
    this.dropEnded();
    let inForce = this.byLimiter.get(limiter);
    if (!inForce) {
      inForce = this.collect(limiter);
      this.byLimiter.set(limiter, inForce);
    }
    return inForce;
  }

  private collect(limiter: string): InForce {
    const settings: Settings = {};
    const rulings = new Map<string, Ruling>();
    const limits = new Map<string, LiveLimits>();
    const resets = new Map<string, number>();
    let isConcerned = false;
    for (const name of [EVERY_LIMITER, limiter]) {
      for (const override of this.overrides.values()) {
        if (override.limiter !== name) continue;
        isConcerned = true;
        if (override.what === 'reset') resets.set(override.key, override.atMs);
        else if (override.what === 'mode') settings.mode = override.value;
        else if (override.what === 'share') settings.share = override.value;
        else if (override.what === 'limits') settings.limits = override.value;
        else if (override.what === 'key') rulings.set(override.key, override);
        else limits.set(override.key, override.value);
      }
    }
    // If only something about keys was set, the settings are an empty object, not undefined: callers see by a new
    // object that something has changed.
    return isConcerned ? { settings: Object.freeze(settings), rulings, limits, resets } : NONE;
  }

  private forget(limiter: string): void {
    if (limiter === EVERY_LIMITER) this.byLimiter.clear();
    else this.byLimiter.delete(limiter);
  }

  private dropEnded(): void {
    if (this.nextEndMs === Infinity) return;
    const nowMs = this.nowMs();
    if (nowMs < this.nextEndMs) return;
    this.nextEndMs = Infinity;
    for (const [field, { untilMs }] of this.overrides) {
      if (untilMs === null) continue;
      if (untilMs <= nowMs) this.remove(field);
      else this.nextEndMs = Math.min(this.nextEndMs, untilMs);
    }
  }
}
