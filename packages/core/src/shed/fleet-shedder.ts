/** The fleet usage load shedder: a share of the fleet is kept for critical requests. */

import { SpillwayError, show } from '../base/errors.js';
import type { StoredLimiter } from '../contract/limiter.js';
import { LeaseLimiter, type LeaseOptions } from '../limits/lease-limiter.js';
import { type Priority, Ranking } from './priority.js';

export interface FleetShedderOptions<Raw = unknown> extends Omit<LeaseOptions<Raw>, 'share'> {
  /**
   * Identifies the fleet in the store, and the shedder in problem bodies and metrics: 1 to 64 printable ASCII
   * characters.
   */
  readonly name: string;
  /**
   * How many requests all processes together can have in progress, an integer from 1 to 1,000,000,000; or a function,
   * read at each
   * request, for a fleet that grows and shrinks (then with `defaultCapacity`). 0 from a function lets pass what is
   * critical and
   * nothing else (`never`).
   */
  readonly capacity: number | (() => number | PromiseLike<number>);
  /** The capacity that counts when the `capacity` function throws or returns none. Required with a function. */
  readonly defaultCapacity?: number | undefined;
  /** The share of the capacity that only critical requests may use, 0 to 1. Default 0.2. */
  readonly reserve?: number | undefined;
  /** Classes, of which only the first, the critical one, matters here. Default: nothing is critical. */
  readonly priority?: Priority<Raw> | undefined;
}

/** What a fleet's permits are counted under: one count for all. */
const FLEET = 'fleet';

/**
 * Refuses with 503 what is not critical while the fleet is too busy: such requests pass while fewer than (1 - reserve)
 * x
 * capacity of their kind are in progress in all processes that share the store, and fewer than capacity of all kinds.
 * Critical
 * requests are counted and never refused (the fleet usage load shedder of P. Tarjan, "Scaling your API with rate
 * limiters",
 * 2017).
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`, `SPW_NAME_INVALID`, `SPW_OPTION_INVALID`
 * @example
 * ```ts
 * import { createGuard, fleetShedder } from '@spillway/core';
 *
 * const guard = createGuard(
 *   fleetShedder<{ user?: { plan: string } }>({
 *     name: 'fleet',
 *     capacity: 1000,
 *     priority: ({ raw }) => (raw.user?.plan === 'paid' ? 'critical' : undefined),
 *   }),
 * );
 * ```
 */
export function fleetShedder<Raw = unknown>(options: FleetShedderOptions<Raw>): StoredLimiter<Raw> {
  const { name, capacity, defaultCapacity, reserve = 0.2, priority } = options;
  if (!(typeof reserve === 'number' && reserve >= 0 && reserve <= 1)) {
    throw new SpillwayError(
      'SPW_OPTION_INVALID',
      `reserve must be from 0 to 1, got ${show(reserve)}`,
    );
  }
  const ranking = new Ranking(priority);
  return new LeaseLimiter(
    {
      name,
      named: true,
      reason: 'capacity',
      limitOption: 'capacity',
      limit: capacity,
      defaultLimit: defaultCapacity,
      reserve,
      criticalClass: ranking.classes[0],
      key: FLEET,
      isCritical: ({ limiter, request, context }) =>
        ranking.isCritical(request, (error) =>
          context.fault({ limiter, source: 'priority', error }),
        ),
    },
    options,
  );
}
