/** The common part of `thresholds` and `restoreFrom`. Both store marks: claims that record what was done for a key. */

import { MOST_COUNTED, makeCalendarRule } from '../algorithms/calendar.js';
import { calendarNamed } from '../algorithms/calendar-periods.js';
import { checkHas, checkOptions } from '../base/check-shapes.js';
import { checkCallback } from '../base/checks.js';
import { type Fingerprint, randomSeed, shortened } from '../base/fingerprint.js';
import type { Logger } from '../base/host.js';
import type { NamesOf } from '../base/option-names.js';
import { inTime } from '../base/within.js';
import type { Fault } from '../contract/observer.js';
import type { Answer } from '../contract/rule.js';
import type { Step, Store } from '../contract/store.js';
import { tellFault } from '../observe/faults.js';
import { checkStore } from '../stores/check-store.js';

export interface MarkOptions {
  /** The store of the limits. It also stores for which keys the callback was called. */
  readonly store: Store;
  /** Called if the callback or the store fails. Default: a warning in `logger`. */
  readonly onFault?: ((fault: Fault) => void) | undefined;
  /**
   * Logs faults if there is no `onFault`: at most one line a minute for each limiter. `false` logs nothing. Default:
   * the console.
   */
  readonly logger?: Logger | false | undefined;
}

const NAMES: NamesOf<MarkOptions> = { store: 1, onFault: 1, logger: 1 };

export function checkMarkOptions(options: MarkOptions, of: string): void {
  checkOptions<object>(options, of, NAMES);
  const { store, onFault, logger } = options;
  checkStore(store);
  checkCallback('onFault', onFault);
  if (logger !== false) checkHas('logger', 'warn', logger);
}

export function tellMarkFault(
  { onFault, logger }: MarkOptions,
  limiter: string,
  error: unknown,
): void {
  tellFault(onFault, { limiter, source: 'observer', error }, logger);
}

/**
 * Returns the step that reads a count by calendar. Its rule can have any calendar, because the store uses the period
 * that is stored with the count.
 */
export function calendarLook(limiter: string, key: string): Step {
  const rule = makeCalendarRule(MOST_COUNTED, calendarNamed('billing'));
  return { op: 'look', limiter, key, rule, cost: 0, binding: false };
}

/** Timeout of each call. Without it, a few unanswered calls would block all later ones, because few may run at once. */
const PATIENCE_MS = 10_000;

export async function answersOf<Answers extends readonly Answer[]>(
  store: Store,
  steps: readonly Step[],
  latestUs: number = Infinity,
): Promise<Answers> {
  const called = await inTime(PATIENCE_MS, (deadlineUs) =>
    store.apply(steps, { deadlineUs: Math.min(deadlineUs, latestUs) }),
  );
  if ('error' in called) throw called.error;
  for (const { failure } of called.value) if (failure) throw failure;
  return called.value as Answers;
}

const MOST = 10_000;
const LONGEST_KEY = 64;

export class RecentMarks<Value> {
  private readonly values = new Map<string, Value>();
  private seed: Fingerprint | undefined;

  get(name: string): Value | undefined {
    return this.values.get(name);
  }

  set(name: string, value: Value): void {
    this.values.delete(name);
    this.values.set(name, value);
    if (this.values.size <= MOST) return;
    const [oldest] = this.values.keys();
    this.values.delete(oldest as string);
  }

  nameOf(mark: string, key: string): string {
    if (key.length <= LONGEST_KEY) return `${mark} ${key}`;
    this.seed ??= randomSeed();
    return `${mark} ${shortened(key, this.seed)}`;
  }
}
