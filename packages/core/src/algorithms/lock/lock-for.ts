import { checkOptions } from '../../base/check-shapes.js';
import { durationBetween } from '../../base/checks.js';
import { type Duration, windowToMicroseconds } from '../../base/duration.js';
import { mustBe } from '../../base/errors.js';
import type { NamesOf } from '../../base/option-names.js';
import type { LockRule, Penalty } from '../../contract/rule.js';
import { makeLockRule } from './lock-rule.js';

/** Options of {@link lockFor}. */
export interface LockOptions {
  /** If a key has no lock for this time (1 ms to 400 days), its next lock is as long as the first. Default `'1d'`. */
  readonly forget?: Duration | undefined;
}

const NAMES: NamesOf<LockOptions> = { forget: 1 };

const MOST_LOCKS = 16;

/**
 * The first rejection locks the key: until the lock ends, all requests with a cost above 0 are rejected. Pass the
 * result as the option `penalty`, which implies `fixedWindow` and `anchor: 'first-request'`.
 *
 * - Requests during a lock don't count and don't extend it. After the lock the whole limit is available again.
 * - The n-th lock has the n-th duration, or the last one if there are fewer durations.
 * - If an attempt that led to a lock is refunded, the lock ends and is forgotten. So if `refundIf` refunds successful
 *   logins, a login also ends a lock that another attempt has started meanwhile.
 * - Limits in shadow mode, `peek`, `record`, and costs above the limit start no lock.
 * - A change of the limit, the window or the plan does not end a lock. A reset of the key does.
 *
 * @param durations 1 to 16 durations, each from 1 ms to 400 days
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts run
 * import { createLimiter, lockFor } from '@spillway/core';
 *
 * const penalty = lockFor(['15m', '1h', '1d']);
 * const guesses = createLimiter({ limit: 2, window: '10m', penalty });
 * guesses.consume('ada');
 * guesses.consume('ada').remaining; // 0
 * guesses.consume('ada').retryAfterMs; // 900_000
 * ```
 */
export function lockFor(durations: readonly Duration[], options: LockOptions = {}): Penalty {
  checkOptions(options, 'lockFor()', NAMES);
  if (!Array.isArray(durations) || durations.length === 0 || durations.length > MOST_LOCKS) {
    throw mustBe('lockFor()', "1 to 16 durations, such as ['15m', '1h', '1d']", durations);
  }
  // Unlike `map`, this also checks holes.
  const locksUs = Array.from(durations, (each) => microseconds('a duration of lockFor()', each));
  return new Lock(locksUs, microseconds('forget', options.forget ?? '1d'));
}

function microseconds(option: string, value: unknown): number {
  return durationBetween(option, value, '1ms', '400d');
}

class Lock implements Penalty {
  private readonly locksUs: readonly number[];
  private readonly forgetUs: number;

  constructor(locksUs: readonly number[], forgetUs: number) {
    this.locksUs = locksUs;
    this.forgetUs = forgetUs;
  }

  makeRule(options: Parameters<Penalty['makeRule']>[0]): LockRule {
    const { limit, window, algorithm, anchor, burst, overage } = options;
    // A bucket refills all the time, so it would hardly ever lock. Aligned windows would free all keys at the same
    // instant.
    if (algorithm !== undefined && algorithm.name !== 'fixed-window') {
      throw mustBe('algorithm', 'fixedWindow or left out beside penalty', algorithm.name);
    }
    if (anchor !== undefined && anchor !== 'first-request') {
      throw mustBe('anchor', "'first-request' or left out beside penalty", anchor);
    }
    const beside = burst ?? overage;
    if (beside !== undefined) throw mustBe('burst and overage', 'left out beside penalty', beside);
    return makeLockRule(
      limit,
      windowToMicroseconds(window as Duration),
      this.locksUs,
      this.forgetUs,
    );
  }
}
