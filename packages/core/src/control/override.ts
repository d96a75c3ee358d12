import type { Duration } from '../base/duration.js';
import { SpillwayError } from '../base/errors.js';
import type { LiveLimits } from '../contract/control.js';
import type { Mode } from '../contract/decision.js';

/** `*` stands for every limiter that doesn't have the same setting under its own name. */
export const EVERY_LIMITER = '*';

/** One live setting. Each setting has a separate author and end, so one person's change doesn't undo another's. */
export type Setting =
  | { readonly what: 'mode'; readonly value: Mode }
  | { readonly what: 'share'; readonly value: number }
  | { readonly what: 'limits'; readonly value: LiveLimits }
  | { readonly what: 'key'; readonly key: string; readonly value: 'allow' | 'block' }
  /** For one key: limits that replace those of the limiter. */
  | { readonly what: 'key-limits'; readonly key: string; readonly value: LiveLimits }
  /**
   * The count of one key was reset, so denial caches and fallback counters must drop the key. The control keeps this
   * entry for a minute.
   */
  | { readonly what: 'reset'; readonly key: string; readonly value: 'reset' };

/** Who makes a change, and why; shown in the history. */
export interface ChangeNote {
  /** 1 to 100 characters. */
  readonly by: string;
  /** 1 to 500 characters. */
  readonly because: string;
}

/** Who sets an override, why, and for how long. */
export interface OverrideNote extends ChangeNote {
  /** How long the override lasts: 1 s to 30 days, or `'forever'`. Default `'1h'`. */
  readonly for?: Duration | 'forever';
}

/** An active override. */
export type Override = Setting &
  ChangeNote & {
    readonly limiter: string;
    readonly atMs: number;
    /** When it expires, in milliseconds since the epoch; null if it doesn't. */
    readonly untilMs: number | null;
    /** When it was restored after the store had lost it, in milliseconds since the epoch. */
    readonly restoredAtMs?: number;
  };

/** One entry of the history. */
export interface Change extends ChangeNote {
  /** Greater than the ids of all earlier changes. */
  readonly id: number;
  readonly atMs: number;
  readonly limiter: string;
  readonly what: Setting['what'];
  readonly key?: string;
  /** The live value before the change; null if there was none. */
  readonly before: Setting['value'] | null;
  /** The live value after the change; null if it was cleared. */
  readonly after: Setting['value'] | null;
  /**
   * When the new value expires, in milliseconds since the epoch; null if it never does, or if the value was cleared.
   */
  readonly untilMs: number | null;
}

/** The settings of a limiter that can be cleared; those of single keys are in {@link ClearableOfKey}. */
export type ClearableSetting = Exclude<Setting['what'], 'key' | 'key-limits' | 'reset'>;

/** The overrides of one key that can be cleared: its block or allow (`ruling`), and its limits. */
export type ClearableOfKey = 'ruling' | 'limits';

/** A validated change, with the settings to set or to clear. */
export interface CheckedChange {
  readonly limiter: string;
  readonly note: ChangeNote;
  readonly set: readonly Setting[];
  readonly clear: readonly { readonly what: Setting['what']; readonly key?: string }[];
  /** How long the change lasts, in milliseconds; null if it lasts until it is cleared. */
  readonly durationMs: number | null;
}

/** Written as JSON, so different limiters and keys never have the same identifier. */
export function fieldOf(
  limiter: string,
  { what, key }: { readonly what: string; readonly key?: string },
): string {
  return `${what} ${JSON.stringify(key === undefined ? [limiter] : [limiter, key])}`;
}

/** Maximum number of active overrides. */
export const MAX_OVERRIDES = 10_000;

/** Maximum number of entries of the history. */
export const MAX_CHANGES = 1_000;

export function tooMany(): SpillwayError {
  return new SpillwayError(
    'SPW_OPTION_INVALID',
    `${MAX_OVERRIDES} overrides are already active: clear some first, or set them for a shorter time`,
  );
}
