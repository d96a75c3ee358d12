import { getOrMake } from '../base/get-or-make.js';
import type { Control, KeyOverride, LimiterSettings, LiveLimits } from '../contract/control.js';
import { EVERY_LIMITER, fieldOf, type Override } from './override.js';

type Settings = { -readonly [Name in keyof LimiterSettings]: LimiterSettings[Name] };
type KeyVerdict = Extract<Override, { what: 'key' }>;

interface InForce {
  readonly settings: LimiterSettings | undefined;
  readonly verdicts: ReadonlyMap<string, KeyVerdict>;
  readonly limits: ReadonlyMap<string, LiveLimits>;
  readonly resets: ReadonlyMap<string, number>;
}

const NO_KEYS = new Map<string, never>();
const NONE: InForce = { settings: undefined, verdicts: NO_KEYS, limits: NO_KEYS, resets: NO_KEYS };

/** `settingsOf` returns the same object until an override of the limiter or of `*` changes: callers compare it. */
export class ActiveOverrides implements Control {
  private readonly overrides = new Map<string, Override>();
  // By limiter name. Only limiters that exist are looked up, so the map stays small.
  private readonly byLimiter = new Map<string, InForce>();
  private nextEndMs = Infinity;
  private readonly nowMs: () => number;

  /** @param nowMs returns the time in milliseconds since the epoch, by the clock that ends overrides */
  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
  }

  get size(): number {
    return this.overrides.size;
  }

  settingsOf(limiter: string): LimiterSettings | undefined {
    return this.inForceFor(limiter).settings;
  }

  overrideOf(limiter: string, key: string): KeyOverride | undefined {
    const override = this.inForceFor(limiter).verdicts.get(key);
    if (!override) return undefined;
    const endsInMs = override.untilMs === null ? Infinity : override.untilMs - this.nowMs();
    // It may have ended since `inForceFor` read the clock.
    return endsInMs > 0 ? { verdict: override.value, endsInMs } : undefined;
  }

  limitsOf(limiter: string, key: string): LiveLimits | undefined {
    return this.inForceFor(limiter).limits.get(key);
  }

  resetsOf(limiter: string): ReadonlyMap<string, number> {
    return this.inForceFor(limiter).resets;
  }

  /** Whether any key of the limiter is blocked or allowed, or has its own limits. */
  concernsKeys(limiter: string): boolean {
    const { verdicts, limits } = this.inForceFor(limiter);
    return verdicts.size > 0 || limits.size > 0;
  }

  get(field: string): Override | undefined {
    this.dropEnded();
    return this.overrides.get(field);
  }

  put(override: Override): void {
    this.overrides.set(fieldOf(override.limiter, override), override);
    if (override.untilMs !== null) this.nextEndMs = Math.min(this.nextEndMs, override.untilMs);
    this.forgetLimiter(override.limiter);
  }

  remove(field: string): void {
    const override = this.overrides.get(field);
    if (!override) return;
    this.overrides.delete(field);
    this.forgetLimiter(override.limiter);
  }

  /** The active overrides, latest first. Resets are left out, because they are events and not settings. */
  list(): readonly Override[] {
    this.dropEnded();
    const set = [...this.overrides].filter(([, { what }]) => what !== 'reset');
    const entries = set.sort(
      ([field, one], [otherField, other]) => other.atMs - one.atMs || (field < otherField ? -1 : 1),
    );
    return entries.map(([, override]) => override);
  }

  private inForceFor(limiter: string): InForce {
    if (this.overrides.size === 0) return NONE;
    this.dropEnded();
    return getOrMake(this.byLimiter, limiter, () => this.collect(limiter));
  }

  private collect(limiter: string): InForce {
    const settings: Settings = {};
    const verdicts = new Map<string, KeyVerdict>();
    const limits = new Map<string, LiveLimits>();
    const resets = new Map<string, number>();
    let isConcerned = false;
    for (const name of [EVERY_LIMITER, limiter]) {
      for (const override of this.overrides.values()) {
        if (override.limiter !== name) continue;
        isConcerned = true;
        if (override.what === 'reset') {
          const { key, atMs } = override;
          resets.set(key, Math.max(atMs, resets.get(key) ?? atMs));
        } else if (override.what === 'mode') settings.mode = override.value;
        else if (override.what === 'share') settings.share = override.value;
        else if (override.what === 'limits') settings.limits = override.value;
        else if (override.what === 'key') verdicts.set(override.key, override);
        else limits.set(override.key, override.value);
      }
    }
    // If only keys have overrides, the settings are a new empty object and not undefined. A new object shows callers
    // that something has changed.
    return isConcerned ? { settings: Object.freeze(settings), verdicts, limits, resets } : NONE;
  }

  private forgetLimiter(limiter: string): void {
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
