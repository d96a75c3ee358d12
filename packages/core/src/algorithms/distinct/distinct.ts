import { checkCallback } from '../../base/checks.js';
import { mustBe } from '../../base/errors.js';
import { isThenable } from '../../base/host.js';
import { Junk } from '../../base/junk.js';
import type { DistinctAlgorithm, Items, Machine } from '../../contract/rule.js';
import { distinctMachine, makeDistinctRule } from './distinct-rule.js';
import { fingerprintsOf, UNKNOWN } from './items.js';

const machine: Machine = /* @__PURE__ */ Object.assign({}, distinctMachine, {
  givenBy: ({ algorithm }) => ['item', (algorithm as DistinctAlgorithm).itemOf],
  complete(step, given, limiter, sink) {
    if (given?.cost !== undefined) {
      throw mustBe('cost', 'left out for distinct', given.cost, 'SPW_COST_INVALID');
    }
    const isGiven = given !== undefined && 'item' in given;
    if (!isGiven && step.op === 'look') return { ...step, cost: 0 };
    const items = fingerprintsOf(isGiven ? given.item : UNKNOWN, step, (value) => {
      const error = new Junk(`item of limiter "${limiter}"`, value);
      if (given) sink.fault({ limiter, source: 'item', error });
    });
    return { ...step, cost: items.length, items };
  },
} satisfies Pick<Machine, 'complete' | 'givenBy'>);

/** The highest limit. Each step reads and writes all items of its key, 23 bytes each. */
const MAX_LIMIT = 10_000;

/**
 * Limits how many distinct items each key touches per window: ids, cards, recipients. An item counts for one window
 * from the request that added it. Requests that repeat it are free and don't extend that time.
 *
 * - `limit` is at most 10,000. `burst`, `cost`, `overage` and calendars are not allowed.
 * - A request with several items adds all of them or is rejected. A request with more than 100 distinct items, or a
 *   list of more than 10,000 entries, is rejected (`never`).
 * - Items are stored as 16 bytes of a SHA-256. A value that is not a string, number or bigint is a fault, and all such
 *   values of a key count as one item.
 *
 * At most `limit` items of a key are added in any interval of a window's length.
 *
 * @param itemOf finds the items of a request; null and undefined mean no items. If it fails, that is a fault, and the
 * request has one unknown item. Without HTTP, omit it and write `consume(key, { item })`
 * @throws SpillwayError `SPW_OPTION_INVALID`
 * @example
 * ```ts run
 * import { createLimiter, distinct } from '@spillway/core';
 *
 * const cards = createLimiter({ limit: 2, window: '1h', algorithm: distinct() });
 * cards.consume('192.0.2.1', { item: '4242' }).remaining; // 1
 * cards.consume('192.0.2.1', { item: '4242' }).remaining; // 1
 * cards.consume('192.0.2.1', { item: ['5555', '6011'] }).allowed; // false
 * ```
 */
export function distinct<Raw = unknown>(
  itemOf?: DistinctAlgorithm<Raw>['itemOf'],
): DistinctAlgorithm<Raw> {
  checkCallback('itemOf', itemOf);
  return {
    name: 'distinct',
    maxLimit: MAX_LIMIT,
    itemOf: itemOf && ((request) => settled(itemOf(request))),
    makeRule(limit, windowUs, _burst, _anchor, { cost } = {}) {
      if (cost !== undefined) {
        throw mustBe('cost', 'left out for distinct', cost, 'SPW_COST_INVALID');
      }
      if (limit <= MAX_LIMIT) return makeDistinctRule(limit, windowUs, machine);
      throw mustBe('limit', 'at most 10,000 for distinct', limit, 'SPW_LIMIT_INVALID');
    },
  };
}

/** Replaces missing items by an empty list, because undefined would mean that the app's function failed. */
function settled(own: Items | PromiseLike<Items>): Items | PromiseLike<Items> {
  return isThenable(own) ? (own as PromiseLike<Items>).then(settledNow) : settledNow(own as Items);
}

function settledNow(own: Items): Items {
  return own ?? [];
}
