import { checkOptions } from '../base/check-shapes.js';
import { checkClock } from '../base/checks.js';
import { type Clock, systemClock } from '../base/clock.js';
import type { Control, KeyOverride, LimiterSettings, LiveLimits } from '../contract/control.js';
import { ActiveOverrides } from './active-overrides.js';
import {
  checkClear,
  checkClearKey,
  checkKeyLimits,
  checkKeyOverride,
  checkSet,
} from './check-change.js';
import { liveControl } from './live-control.js';
import {
  type Change,
  type ChangeNote,
  type CheckedChange,
  type ClearableOfKey,
  type ClearableSetting,
  fieldOf,
  MAX_CHANGES,
  MAX_OVERRIDES,
  type Override,
  type OverrideNote,
  type Setting,
  tooMany,
} from './override.js';

/** Options of {@link memoryControl}. */
export interface MemoryControlOptions {
  /** Source of time, for tests. Default: the process's monotonic clock. */
  readonly clock?: Clock | undefined;
}

/**
 * The control that {@link memoryControl} returns. Changes take effect with the next request. Methods that make a change
 * throw if an argument is invalid, or if 10,000 overrides are already active.
 */
export interface MemoryControl extends Control {
  /**
   * Sets the mode, share or limits of a limiter. Settings that you omit don't change. `*` stands for all limiters that
   * have no override of that setting under their own name.
   */
  set(limiter: string, settings: LimiterSettings, note: OverrideNote): void;
  /**
   * Removes all live settings of a limiter, or those in `only`. The settings of `*` or the declared ones apply again.
   * Overrides of single keys stay: see `clearKey`.
   */
  clear(limiter: string, note: ChangeNote, only?: readonly ClearableSetting[]): void;
  /**
   * Rejects all requests of a key, unless the limiter is off or in shadow mode. Write the key as the limiter counts it:
   * a client address is `@` and the canonical address.
   */
  block(limiter: string, key: string, note: OverrideNote): void;
  /** Lets a key pass: the limiter doesn't reject or count it. */
  allow(limiter: string, key: string, note: OverrideNote): void;
  /**
   * Sets limits for one key. They replace the limiter's live limits. Numbers that you omit stay as declared, or as in
   * the key's plan. `*` stands for all limiters that have no limits for that key, and allows only a factor.
   */
  limitKey(limiter: string, key: string, limits: LiveLimits, note: OverrideNote): void;
  /**
   * Removes the overrides of a key: its block or allow (`'ruling'`) and its `'limits'`. `only` selects one of the two.
   */
  clearKey(limiter: string, key: string, note: ChangeNote, only?: readonly ClearableOfKey[]): void;
  /**
   * Removes the key from denial caches and fallback counters. Call it after you have reset the key's count in the
   * store.
   */
  forget(limiter: string, key: string, note: ChangeNote): void;
  /** The active overrides, latest first. */
  list(): readonly Override[];
  /**
   * The latest 1,000 changes, latest first. An expiry adds no entry, because the entry that set the override contains
   * its end.
   */
  history(): readonly Change[];
}

/**
 * Live settings of one process: modes, shares and limits of its limiters, and keys that are blocked, allowed or have
 * their own limits. Each override has an author and a reason, and expires unless it is set `'forever'`. For several
 * processes, use `redisControl` of `@spillway/redis`.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { createGuard, memoryControl, rateLimit } from '@spillway/core';
 *
 * const control = memoryControl();
 * const guard = createGuard(rateLimit({ name: 'api', limit: 100, window: '1m' }), { control });
 * control.set('api', { mode: 'off' }, { by: 'ada', because: 'rejects paying customers', for: '10m' });
 * control.block('api', '@203.0.113.7', { by: 'ada', because: 'scraper', for: '1d' });
 * control.limitKey('api', 'acme', { limit: 20_000 }, { by: 'ada', because: 'their import', for: '3d' });
 * control.list().length; // 3
 * ```
 */
export function memoryControl(options: MemoryControlOptions = {}): MemoryControl {
  checkOptions(options, 'memoryControl()', { clock: 1 });
  const { clock } = options;
  checkClock(clock);
  return liveControl(new InMemory(clock ?? systemClock));
}

class InMemory implements MemoryControl {
  /** A separate object, because apps may freeze the control. */
  private readonly overrides: ActiveOverrides;
  private readonly changes: Change[] = [];
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
    this.overrides = new ActiveOverrides(() => this.nowMs());
  }

  settingsOf(limiter: string): LimiterSettings | undefined {
    return this.overrides.settingsOf(limiter);
  }

  overrideOf(limiter: string, key: string): KeyOverride | undefined {
    return this.overrides.overrideOf(limiter, key);
  }

  limitsOf(limiter: string, key: string): LiveLimits | undefined {
    return this.overrides.limitsOf(limiter, key);
  }

  resetsOf(limiter: string): ReadonlyMap<string, number> {
    return this.overrides.resetsOf(limiter);
  }

  set(limiter: string, settings: LimiterSettings, note: OverrideNote): void {
    this.make(checkSet(limiter, settings, note));
  }

  clear(limiter: string, note: ChangeNote, only?: readonly ClearableSetting[]): void {
    this.make(checkClear(limiter, note, only));
  }

  block(limiter: string, key: string, note: OverrideNote): void {
    this.make(checkKeyOverride(limiter, key, 'block', note));
  }

  allow(limiter: string, key: string, note: OverrideNote): void {
    this.make(checkKeyOverride(limiter, key, 'allow', note));
  }

  limitKey(limiter: string, key: string, limits: LiveLimits, note: OverrideNote): void {
    this.make(checkKeyLimits(limiter, key, limits, note));
  }

  clearKey(limiter: string, key: string, note: ChangeNote, only?: readonly ClearableOfKey[]): void {
    this.make(checkClearKey(limiter, key, note, only));
  }

  forget(limiter: string, key: string, note: ChangeNote): void {
    this.make(checkKeyOverride(limiter, key, 'reset', note));
  }

  list(): readonly Override[] {
    return this.overrides.list();
  }

  history(): readonly Change[] {
    return [...this.changes];
  }

  private make({ limiter, note, set, clear, durationMs }: CheckedChange): void {
    const atMs = this.nowMs();
    const untilMs = durationMs === null ? null : atMs + durationMs;
    const added = set.filter((setting) => !this.overrides.get(fieldOf(limiter, setting)));
    if (this.overrides.size + added.length > MAX_OVERRIDES) throw tooMany();
    for (const setting of set.map(copyOf)) {
      this.record(limiter, setting, note, { atMs, untilMs, after: setting.value });
      this.overrides.put(Object.freeze({ limiter, ...setting, ...note, atMs, untilMs }));
    }
    for (const target of clear) {
      const field = fieldOf(limiter, target);
      if (!this.overrides.get(field)) continue;
      this.record(limiter, target, note, { atMs, untilMs: null, after: null });
      this.overrides.remove(field);
    }
  }

  /** Adds a change to the history. Must be called before the change is made, because it reads the previous value. */
  private record(
    limiter: string,
    target: { readonly what: Setting['what']; readonly key?: string },
    note: ChangeNote,
    outcome: Pick<Change, 'atMs' | 'untilMs' | 'after'>,
  ): void {
    const { what, key } = target;
    const before = this.overrides.get(fieldOf(limiter, target))?.value ?? null;
    const id = Math.max((this.changes[0]?.id ?? 0) + 1, this.clock.nowUs());
    const of = { limiter, what, ...(key !== undefined && { key }) };
    const change = Object.freeze({ id, ...of, ...note, before, ...outcome });
    if (this.changes.unshift(change) > MAX_CHANGES) this.changes.pop();
  }

  private nowMs(): number {
    return this.clock.nowUs() / 1000;
  }
}

/** A frozen copy of the limits, because callers may modify the objects that they pass or get from `list`. */
function copyOf(setting: Setting): Setting {
  return setting.what === 'limits' || setting.what === 'key-limits'
    ? ({ ...setting, value: Object.freeze({ ...setting.value }) } as Setting)
    : setting;
}
