/** What operators set live, who set it, why, and until when. */

import type { Duration } from '../base/duration.js';
import type { LiveLimits } from '../contract/control.js';
import type { Mode } from '../contract/mode.js';

/** The limiter `*` stands for every limiter that has no setting of that kind of its own. */
export const EVERY_LIMITER = '*';

/**
 * One thing that can be set live; each has an author and an end of its own, so that nobody undoes what another has set.
 */
export type Setting =
  | { readonly what: 'mode'; readonly value: Mode }
  | { readonly what: 'share'; readonly value: number }
  | { readonly what: 'limits'; readonly value: LiveLimits }
  /** Of one key: let it pass unseen, or refuse it. */
  | { readonly what: 'key'; readonly key: string; readonly value: 'allow' | 'block' }
  /** Of one key: its count was reset, so forget that it was refused. Told for a minute. */
  | { readonly what: 'reset'; readonly key: string; readonly value: 'reset' };

/** Who changes something, and why: for those who find it changed. */
export interface ChangeNote {
  /** 1 to 100 characters. */
  readonly by: string;
  /** 1 to 500 characters. */
  readonly because: string;
}

/** How an override is set. */
export interface OverrideNote extends ChangeNote {
  /** Until it ends by itself: 1 s to 30 days, or, if you say so, `'forever'`. Default `'1h'`. */
  readonly for?: Duration | 'forever';
}

/** Something set live that has not ended. */
export type Override = Setting &
  ChangeNote & {
    readonly limiter: string;
    /** When it was set, in milliseconds since the epoch. */
    readonly atMs: number;
    /** When it ends; null: not by itself. */
    readonly untilMs: number | null;
  };

/** One entry of the audit trail. */
export interface Change extends ChangeNote {
  /** Greater than those of all changes before. */
  readonly id: number;
  readonly atMs: number;
  readonly limiter: string;
  readonly what: Setting['what'];
  /** Where one key of the limiter was ruled on. */
  readonly key?: string;
  /** What was set before; null: nothing, so it was as declared. */
  readonly before: Setting['value'] | null;
  /** What was set; null: cleared. */
  readonly after: Setting['value'] | null;
  /** When that ends; null: not by itself, or cleared. */
  readonly untilMs: number | null;
}

/** The settings of a limiter, without what is said of single keys. */
export type ClearableSetting = Exclude<Setting['what'], 'key' | 'reset'>;

/** What is to be changed, checked: the settings, or what is to be cleared. */
export interface CheckedChange {
  readonly limiter: string;
  readonly note: ChangeNote;
  readonly set: readonly Setting[];
  readonly clear: readonly { readonly what: Setting['what']; readonly key?: string }[];
  /** How long it holds; null: until cleared. */
  readonly durationMs: number | null;
}

/** Tells one overridable thing from all others, whatever is in the names. */
export function fieldOf(
  limiter: string,
  { what, key }: { readonly what: string; readonly key?: string },
): string {
  return `${what} ${JSON.stringify(key === undefined ? [limiter] : [limiter, key])}`;
}
