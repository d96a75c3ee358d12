/** The common part of `thresholds` and `restoreFrom`. Both store marks: claims that record what was done for a key. */

import { MOST_COUNTED, makeCalendarRule } from '../algorithms/calendar.js';
import { calendarNamed } from '../algorithms/calendar-periods.js';
import { checkHas, checkOptions } from '../base/check-shapes.js';
import { checkCallback } from '../base/checks.js';
import { type Fingerprint, randomSeed, shortened } from '../base/fingerprint.js';
import type { Logger } from '../base/host.js';
import { RecentSubjects } from '../base/log.js';
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

/** Runs work for a key in the background of a request. `running` contains its name until it has ended. */
export function inBackground(
  work: Promise<void>,
  running: Set<string>,
  name: string,
  limiter: string,
  { onFault, logger }: MarkOptions,
): Promise<void> {
  running.add(name);
  return work
    .catch((error) => tellFault(onFault, { limiter, source: 'observer', error }, logger))
    .finally(() => running.delete(name));
}

/** A step that reads a count by calendar. Its rule may have any calendar: the store uses the stored period. */
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

const LONGEST_KEY = 64;

export class RecentMarks<Value> extends RecentSubjects<Value> {
  protected override readonly most = 10_000;
  private seed: Fingerprint | undefined;

  nameOf(mark: string, key: string): string {
    if (key.length <= LONGEST_KEY) return `${mark} ${key}`;
    this.seed ??= randomSeed();
    return `${mark} ${shortened(key, this.seed)}`;
  }
}
