import type { LockAnswer } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type { LockRule, Machine } from '../../contract/rule.js';
import { ratePolicy } from '../decide.js';
import { LockShelf } from './lock-shelf.js';

/** A process caches a rejection at most this long, because another process may end the lock by a refund or reset. */
const CACHED_MS = 1_000;

const lockMachine: Machine = {
  same: (rule: LockRule, other: LockRule) =>
    rule.windowUs === other.windowUs &&
    rule.forgetUs === other.forgetUs &&
    `${rule.locksUs}` === `${other.locksUs}`,
  capacity: ({ limit }: LockRule) => limit,
  // Reduces the limit. A longer window would not help, because the whole limit is available again after each lock.
  share: (rule: LockRule, share) => ({
    ...rule,
    limit: Math.max(1, Math.floor(rule.limit * share)),
  }),
  policy: (name, rule: LockRule) => ratePolicy(name, rule),
  declared: ({ limit, windowUs, locksUs, forgetUs }: LockRule) => ({
    algorithm: `lock:${locksUs.map((us) => us / 1000)}:${forgetUs / 1000}`,
    limit,
    windowMs: windowUs / 1000,
  }),
  expiresAfterUs: ({ windowUs, locksUs, forgetUs }: LockRule) =>
    Math.max(windowUs, Math.max(...locksUs) + forgetUs),
  measure: measureLock,
  receipt: ({ endUs }: LockAnswer, units) => ({ atUs: endUs, num: 0, units }),
  heldUs: ({ nowUs, untilUs }: LockAnswer) => Math.max(0, untilUs - nowUs),
  merges: true,
  shelf: () => new LockShelf(),
  denials: {
    holdsMs: (_, { retryAfterMs }) =>
      retryAfterMs < Infinity ? Math.min(retryAfterMs, CACHED_MS) : 0,
    covers: (cost, kept) => cost >= kept,
    write({ endUs, current, untilUs }: LockAnswer, numbers, at) {
      numbers[at] = endUs;
      numbers[at + 1] = current;
      numbers[at + 2] = untilUs;
    },
    read(_, numbers, at, nowUs): LockAnswer {
      const [endUs = 0, current = 0, untilUs = 0] = numbers.subarray(at, at + 3);
      return { allowed: false, nowUs, endUs, current, untilUs };
    },
  },
};

/**
 * Makes the rule of a limit with a penalty. The numbers must have been checked as for `makeRule`. There must be at
 * least one lock.
 *
 * @example
 * ```ts run
 * import { measure, makeLockRule, type Step, stepText } from '@spillway/core/store';
 *
 * const rule = makeLockRule(1, 60_000_000, [900_000_000], 86_400_000_000);
 * const take: Step = { op: 'take', limiter: 'logins', key: 'ada', rule, cost: 1, binding: true };
 * const first = stepText(undefined, take, 1_767_225_600_000_000, true);
 * const second = stepText(first.text, take, 1_767_225_600_000_000, true);
 * measure(rule, second.answer, 1).retryAfterMs; // 900_000
 * ```
 */
export function makeLockRule(
  limit: number,
  windowUs: number,
  locksUs: readonly number[],
  forgetUs: number,
): LockRule {
  // The code omits window and locks: otherwise changing them would end running locks.
  const code = `x${forgetUs.toString(36)}`;
  return { machine: 'lock', logic: lockMachine, code, limit, windowUs, locksUs, forgetUs };
}

function measureLock({ limit }: LockRule, answer: LockAnswer, cost: number): Numbers {
  const { nowUs, endUs, current, untilUs } = answer;
  const isLocked = untilUs > 0;
  const leftMs = ((isLocked ? untilUs : endUs) - nowUs) / 1000;
  let retryAfterMs = 0;
  if (cost > limit) retryAfterMs = Infinity;
  else if (cost > 0 && (isLocked || cost + current > limit)) retryAfterMs = leftMs;
  return {
    used: current,
    remaining: isLocked ? 0 : Math.max(0, limit - current),
    retryAfterMs,
    resetMs: isLocked || current > 0 ? leftMs : 0,
  };
}
