import { withDebt } from '../algorithms/debt.js';
import { checkOptions } from '../base/check-shapes.js';
import { checkCallback, checkCost, integerBetween } from '../base/checks.js';
import { mustBe } from '../base/errors.js';
import { getOrMake } from '../base/get-or-make.js';
import { isThenable } from '../base/host.js';
import type { NamesOf } from '../base/option-names.js';
import type { Admission } from '../contract/admission.js';
import type { Settling } from '../contract/limiter-turn.js';
import type { MeteredCost, MeterHooks, Reservation } from '../contract/metered-cost.js';
import type { LimitRequest } from '../contract/request.js';
import { capacityOf } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import { type Extended, extendLimiter } from './direct.js';
import { Resends } from './resends.js';
import { type Floor, Spending, type Spent } from './spending.js';
import { checkUsage, isUsage } from './usage.js';

export interface MeterOptions<Usage = number, Raw = unknown> {
  /**
   * Estimates the usage of a request before it runs; may be async. Only guards call it. A usage is an integer from 0,
   * or an object of such integers. If the function fails or returns an invalid usage, a fault is reported and the cost
   * is 1. Default: a cost of 1.
   */
  readonly reserve?: ((request: LimitRequest<Raw>) => Usage | Promise<Usage>) | undefined;
  /**
   * The part of the reserved usage that is owed as soon as a request is admitted, such as the tokens of a prompt.
   * `request` is undefined without HTTP. Default: none.
   */
  readonly atLeast?:
    | ((reserved: Usage, request: LimitRequest<Raw> | undefined) => Usage)
    | undefined;
  /**
   * What an unsettled request costs if the client has left or the status is 500 or higher. Such a request owes its
   * `atLeast` and all usage passed to `add`. `'keep'` (default) charges the reservation, or the owed usage if that is
   * more, because the work may go on unseen. {@link partial} charges the owed usage.
   */
  readonly onCut?: 'keep' | Partially<Usage> | undefined;
}

/** A value of `onCut`; returned by {@link partial}. */
export interface Partially<Usage> {
  readonly perSecond?: Usage | undefined;
}

export interface PriceOptions {
  /**
   * The most units that a request can reserve: an integer from 1 to the burst. Default: half of the burst, because a
   * request that reserves the whole burst would starve among small ones.
   */
  readonly maxReserve?: number | undefined;
  /**
   * How many units beyond the limit may be charged afterwards: an integer from 1 to 1,000,000,000. Default: the limit.
   * If a plan or a live setting changes the limit, the debt changes in proportion. A caller in debt is rejected until
   * it has recovered. Units beyond the debt are forgiven.
   */
  readonly debt?: number | undefined;
}

/** Measures the cost of requests; returned by {@link meter}. */
export interface Meter<Usage, Raw = unknown> {
  /**
   * Makes the option `cost` of one limit. `price` turns a usage into units: an integer from 0. The limit needs a `key`
   * function in a guard, and a token bucket or a calendar; it can't have `refundIf`.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
   */
  cost(price: (usage: Usage) => number, options?: PriceOptions): MeteredCost<Raw, Usage>;
  /**
   * The usage of a request. Pass the object that the framework gives its handlers, or an admission. If no limit has
   * charged the request (mode `off`, `skip`, a rejection, a replay), the methods of the result have no effect.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID` if `request` is not an object
   */
  of(request: object | Admission): Spent<Usage>;
  /**
   * Makes a reservation for a call without HTTP. Pass it as the option `cost` of `consume`.
   *
   * @throws SpillwayError `SPW_COST_INVALID`
   */
  reserve(usage: Usage): Reservation<Usage>;
}

const METER_OPTIONS: NamesOf<MeterOptions<number>> = { reserve: 1, atLeast: 1, onCut: 1 };
const PRICE_OPTIONS: NamesOf<PriceOptions> = { maxReserve: 1, debt: 1 };

/**
 * Creates a meter, for costs that are known only after a request: tokens of a language model, rows, bytes, seconds of a
 * database. At admission, each limit charges the price of an estimate. The handler reports the real usage, and the
 * limits correct their charges in the store call that ends the request.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { createGuard, meter, rateLimit } from '@spillway/core';
 *
 * const rows = meter({ reserve: () => 100 });
 * const guard = createGuard<{ user: string }>([
 *   rateLimit<{ user: string }>({
 *     name: 'rows',
 *     limit: 10_000,
 *     window: '1h',
 *     key: ({ raw }) => raw.user,
 *     cost: rows.cost((n) => n),
 *   }),
 * ]);
 * // in the handler of a request
 * declare const request: object;
 * const spent = rows.of(request);
 * spent.settle(12);
 * ```
 */
export function meter<Usage = number, Raw = unknown>(
  options: MeterOptions<Usage, Raw> = {},
): Meter<Usage, Raw> {
  return new UsageMeter(options);
}

/**
 * Makes a value for `onCut`. A request that is cut off then costs the usage that it owes, but at least `perSecond` for
 * each second that it ran. Use it only if your app stops the work when the client leaves.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 * @example
 * ```ts
 * import { meter, partial } from '@spillway/core';
 *
 * export const tokens = meter({ reserve: () => 1_000, onCut: partial({ perSecond: 30 }) });
 * ```
 */
export function partial<Usage>(options: Partially<Usage> = {}): Partially<Usage> {
  const { perSecond } = options;
  if (perSecond === undefined || isUsage(perSecond)) return { perSecond };
  throw mustBe('perSecond', 'an integer from 0, or an object of them', perSecond);
}

class UsageMeter<Usage, Raw> implements Meter<Usage, Raw> {
  private readonly options: MeterOptions<Usage, Raw>;
  private readonly floor: Floor<Usage>;
  private readonly spendings = new WeakMap<object, Spending<Usage>>();
  private readonly reserving = new WeakMap<Spending<Usage>, Promise<Reservation<Usage>>>();
  /** The settlements to resend, separately for each guard or keyed limiter. */
  private readonly resends = new WeakMap<object, Resends>();

  constructor(options: MeterOptions<Usage, Raw>) {
    checkOptions<object>(options, 'meter()', METER_OPTIONS);
    const { reserve, atLeast, onCut } = options;
    checkCallback('reserve', reserve);
    checkCallback('atLeast', atLeast);
    const isPartial = typeof onCut === 'object' && onCut !== null;
    if (!isPartial && onCut !== undefined && onCut !== 'keep') {
      throw mustBe('onCut', "'keep' or partial()", onCut);
    }
    this.options = options;
    this.floor = isPartial ? { perSecond: onCut.perSecond } : undefined;
  }

  cost(price: (usage: Usage) => number, options: PriceOptions = {}): MeteredCost<Raw, Usage> {
    if (typeof price !== 'function') throw mustBe('price', 'a function of a usage', price);
    checkOptions(options, 'cost()', PRICE_OPTIONS);
    const { maxReserve, debt } = options;
    if (debt !== undefined) integerBetween('debt', debt, 1, 1_000_000_000);
    if (maxReserve !== undefined) integerBetween('maxReserve', maxReserve, 1, 1_000_000_000);
    let declared: number | undefined;
    const unitsOf = ({ usage, atLeast }: Reservation<Usage>): number =>
      Math.max(checkCost(price(usage)), atLeast === undefined ? 0 : checkCost(price(atLeast)));
    const cost = (request: LimitRequest<Raw>): number | Promise<number> => {
      const reserved = this.reservedFor(request);
      if (isThenable(reserved)) return reserved.then(unitsOf);
      return reserved ? unitsOf(reserved) : 1;
    };
    const complete = (step: Step, { usage, atLeast }: Partial<Reservation<Usage>>): Step => {
      const owed = atLeast === undefined ? 0 : checkCost(price(atLeast));
      const units = usage === undefined ? step.cost : Math.max(checkCost(price(usage)), owed);
      return limited(step, units, owed, maxReserve);
    };
    const metered: MeterHooks<Raw> = {
      makeRule(rule) {
        const most = capacityOf(rule);
        if (declared === undefined && maxReserve !== undefined && maxReserve > most) {
          throw mustBe('maxReserve', `at most the burst, ${most}`, maxReserve);
        }
        declared ??= rule.limit;
        return debt === undefined ? withDebt(rule, 1, 1) : withDebt(rule, debt, declared);
      },
      inGuard: (options) => {
        checkGuarded(options);
        return {
          complete: (step, request) => {
            const { reserved } = this.spendings.get(keyOf(request)) ?? {};
            try {
              return complete(step, reserved ?? {});
            } catch {
              return step; // `cost` failed earlier and reported the fault
            }
          },
          begin: (turn, admission, settling) => {
            const spending = this.spendingOf(keyOf(turn.request));
            this.spendings.set(admission, spending);
            spending.begin(turn as never, price, settling, this.resendsOf(settling));
          },
          finish: (turn, outcome) =>
            this.spendings.get(keyOf(turn.request))?.finish(turn as never, outcome),
        };
      },
      extend: (limiter, limit, client) => {
        const resendsOf = (settling: Settling): Resends => this.resendsOf(settling);
        extendLimiter({ limiter, limit, client, price, complete, resendsOf } as Extended<Usage>);
      },
    };
    return Object.assign(cost, { metered });
  }

  of(request: object | Admission): Spent<Usage> {
    if (typeof request !== 'object' || request === null) {
      throw mustBe('request', 'the object that the framework gives its handlers', request);
    }
    return this.spendingOf(request);
  }

  reserve(usage: Usage): Reservation<Usage> {
    return this.reserved(usage, undefined);
  }

  private spendingOf(key: object): Spending<Usage> {
    return getOrMake(this.spendings, key, () => new Spending(this.floor));
  }

  private reservedFor(
    request: LimitRequest<Raw>,
  ): Reservation<Usage> | undefined | Promise<Reservation<Usage>> {
    const { reserve } = this.options;
    const key = keyOf(request);
    // Without HTTP, an app may use one object for many calls.
    if (this.spendings.get(key)?.hasEnded) this.spendings.delete(key);
    const spending = this.spendingOf(key);
    if (spending.reserved || !reserve) return spending.reserved;
    const before = this.reserving.get(spending);
    if (before) return before;
    const take = (usage: Usage): Reservation<Usage> => {
      spending.reserved = this.reserved(usage, request);
      return spending.reserved;
    };
    const usage = reserve(request);
    if (!isThenable(usage)) return take(usage);
    const later = usage.then(take);
    this.reserving.set(spending, later);
    return later;
  }

  private reserved(given: Usage, request: LimitRequest<Raw> | undefined): Reservation<Usage> {
    const usage = checkUsage('the reserved usage', given);
    const atLeast = this.options.atLeast?.(usage, request);
    return { usage, atLeast: atLeast === undefined ? undefined : checkUsage('atLeast', atLeast) };
  }

  private resendsOf({ releases }: Settling): Resends {
    return getOrMake(this.resends, releases, () => new Resends(releases));
  }
}

/** The object that identifies a request: what its handler gets or, if that is no object, the limit request. */
function keyOf<Raw>(request: LimitRequest<Raw>): object {
  const { holder, raw } = request;
  return holder ?? (typeof raw === 'object' && raw !== null ? raw : request);
}

/**
 * Requires a `key` function, because without it all callers at one address would share a debt. Forbids `refundIf`,
 * because it would refund a settled cost.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
function checkGuarded({ key, refundIf }: Parameters<MeterHooks['inGuard']>[0]): void {
  if (typeof key !== 'function') throw mustBe('key', 'a function, beside a cost of a meter', key);
  if (refundIf !== undefined) {
    throw mustBe('refundIf', 'left out beside a cost of a meter, which settles', refundIf);
  }
}

/** Caps the cost at `maxReserve`. Units owed beyond that are charged, but cause no rejection. */
function limited(step: Step, units: number, atLeast: number, maxReserve: number | undefined): Step {
  const most = capacityOf(step.rule);
  const limit = Math.min(maxReserve ?? Math.max(1, Math.floor(most / 2)), most);
  const cost = Math.min(units, limit);
  return { ...step, cost, owed: Math.max(0, atLeast - cost) };
}
