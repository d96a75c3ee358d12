/** What operators set live: who set it, why, and until when. */

import type { Duration } from '../base/duration.js';
import { SpillwayError } from '../base/errors.js';
import type { LiveLimits } from '../contract/control.js';
import type { Mode } from '../contract/decision.js';

/** `*` stands for every limiter that has no setting of that kind of its own. */
export const EVERY_LIMITER = '*';

/**
 * One thing that can be set live. Each has its own author and end, so that one person's change does not undo another's.
 */
export type Setting =
  | { readonly what: 'mode'; readonly value: Mode }
  | { readonly what: 'share'; readonly value: number }
  | { readonly what: 'limits'; readonly value: LiveLimits }
  /** For one key: let it pass uncounted, or refuse it. */
  | { readonly what: 'key'; readonly key: string; readonly value: 'allow' | 'block' }
  /** For one key: numbers in place of those for the limiter. */
  | { readonly what: 'key-limits'; readonly key: string; readonly value: LiveLimits }
  /** For one key: its count was reset, so guards must forget that they refused it. Kept for a minute. */
  | { readonly what: 'reset'; readonly key: string; readonly value: 'reset' };

/** Who changes something, and why. Others read it later. */
export interface ChangeNote {
  /** 1 to 100 characters. */
  readonly by: string;
  /** 1 to 500 characters. */
  readonly because: string;
}

/** Who sets an override, why, and for how long. */
export interface OverrideNote extends ChangeNote {
  /** How long it lasts: 1 s to 30 days, or `'forever'`. Default `'1h'`. */
  readonly for?: Duration | 'forever';
}

/** Something set live that has not ended. */
export type Override = Setting &
  ChangeNote & {
    readonly limiter: string;
    /** When it was set, in milliseconds since the epoch. */
    readonly atMs: number;
    /** When it ends, in milliseconds since the epoch; null if it does not end by itself. */
    readonly untilMs: number | null;
    /** When it was written back after the store had lost it, in milliseconds since the epoch. */
    readonly restoredAtMs?: number;
  };

/** One entry of the history. */
export interface Change extends ChangeNote {
  /** Each change has a greater id than all changes before it. */
  readonly id: number;
  readonly atMs: number;
  readonly limiter: string;
  readonly what: Setting['what'];
  /** The key that was blocked, allowed, given limits or reset, if the change was about a key. */
  readonly key?: string;
  /** What was set before; null if nothing was, so that the declared value counted. */
  readonly before: Setting['value'] | null;
  /** What was set; null if it was cleared. */
  readonly after: Setting['value'] | null;
  /** When it ends, in milliseconds since the epoch; null if it does not end by itself, or was cleared. */
  readonly untilMs: number | null;
}

/** The settings of a limiter; those of single keys are not among them. */
export type ClearableSetting = Exclude<Setting['what'], 'key' | 'key-limits' | 'reset'>;

/** What can be set for one key: that it is blocked or allowed, and limits of its own. */
export type ClearableOfKey = 'ruling' | 'limits';

/** A change that was checked: what to set, or what to clear. */
export interface CheckedChange {
  readonly limiter: string;
  readonly note: ChangeNote;
  readonly set: readonly Setting[];
  readonly clear: readonly { readonly what: Setting['what']; readonly key?: string }[];
  /** How long it lasts; null until it is cleared. */
  readonly durationMs: number | null;
}

/**
 * A text that names one thing that can be set live. No two such things have the same text, whatever their names are.
 */
export function fieldOf(
  limiter: string,
  { what, key }: { readonly what: string; readonly key?: string },
): string {
  return `${what} ${JSON.stringify(key === undefined ? [limiter] : [limiter, key])}`;
}

/** Overrides at the same time. */
export const MAX_OVERRIDES = 10_000;

/** Entries of the history. */
export const MAX_CHANGES = 1_000;

/** The error of the override that is one too many. */
export function tooMany(): SpillwayError {
  return new SpillwayError(
    'SPW_OPTION_INVALID',
    `${MAX_OVERRIDES} overrides are in force already: clear some first, or let them end sooner`,
  );
}
