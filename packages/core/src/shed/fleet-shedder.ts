import { checkOptions } from '../base/check-shapes.js';
import { checkLimit, shareFromZero } from '../base/checks.js';
import { mustBe } from '../base/errors.js';
import { isThenable } from '../base/host.js';
import type { NamesOf } from '../base/option-names.js';
import type { StoredLimiter } from '../contract/limiter.js';
import type { Plan } from '../contract/request.js';
import { LeaseLimiter, type LeaseOptions } from '../limits/lease-limiter.js';
import { type Priority, Ranking } from './priority.js';

/** Options of {@link fleetShedder}. */
export interface FleetShedderOptions<Raw = unknown> extends Omit<LeaseOptions<Raw>, 'share'> {
  /** Name of the fleet in the store, problem bodies and metrics: 1 to 64 printable ASCII characters. */
  readonly name: string;
  /**
   * How many requests all processes together can have in flight: an integer from 1 to 1,000,000,000, or a function that
   * is called for each request. If the function returns 0, only critical requests pass.
   */
  readonly capacity: number | (() => number | PromiseLike<number>);
  /** The capacity if the `capacity` function fails or returns no valid number. Required with a function. */
  readonly defaultCapacity?: number | undefined;
  /** The share of the capacity that only critical requests may use, 0 to 1. Default 0.2. */
  readonly reserve?: number | undefined;
  /** Recognizes critical requests: those of the first class. Default: no request is critical. */
  readonly priority?: Priority<Raw> | undefined;
}

const NAMES: NamesOf<FleetShedderOptions> = {
  name: 1,
  capacity: 1,
  defaultCapacity: 1,
  reserve: 1,
  priority: 1,
  lease: 1,
  mode: 1,
  onStoreError: 1,
  localShare: 1,
  retryAfter: 1,
  random: 1,
};

const FLEET = 'fleet';

/**
 * Rejects non-critical requests with 503 while the fleet is too busy. The fleet is all processes that share the store.
 * It is too busy if at least (1 - reserve) x capacity non-critical requests, or `capacity` requests in total, are in
 * flight. Critical requests are counted, but never rejected for lack of capacity. (This is the fleet usage load shedder
 * of P. Tarjan, "Scaling your API with rate limiters", 2017.)
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`, `SPW_NAME_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
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
  checkOptions(options, 'fleetShedder()', NAMES);
  const { name, capacity, defaultCapacity, priority } = options;
  const reserve = shareFromZero('reserve', options.reserve ?? 0.2);
  const ranking = new Ranking(priority);
  return new LeaseLimiter(
    {
      name,
      named: true,
      reason: 'capacity',
      limit: declaredCapacity(capacity, defaultCapacity),
      plan: typeof capacity === 'function' ? () => planOf(capacity()) : undefined,
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

type Capacity = FleetShedderOptions['capacity'];

function declaredCapacity(capacity: Capacity, defaultCapacity: number | undefined): number {
  if (typeof capacity === 'function') {
    return checkLimit('defaultCapacity', defaultCapacity, ' when capacity is a function');
  }
  if (defaultCapacity !== undefined) {
    throw mustBe('defaultCapacity', 'left out unless capacity is a function', defaultCapacity);
  }
  return checkLimit('capacity', capacity, ' or a function');
}

function planOf(own: number | PromiseLike<number>): Plan | undefined | Promise<Plan | undefined> {
  return isThenable(own) ? Promise.resolve(own).then(limited) : limited(own as number);
}

function limited(limit: number | undefined): Plan | undefined {
  return limit === undefined ? undefined : { limit };
}
