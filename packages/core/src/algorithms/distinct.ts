/**
 * Limits on distinct items. If you change the steps, also change them in
 * packages/redis/src/algorithms/distinct/distinct.lua.
 *
 * The list of a key's items is a string with one byte per character, oldest item first. Each item takes 16 bytes for
 * its fingerprint and 7 for the time at which it was added, high byte first. The first bit of the time is set if
 * another request has repeated the item. As text: the format mark `1`, then the list in base64.
 */

import { checkCallback } from '../base/checks.js';
import { mustBe } from '../base/errors.js';
import { orElse } from '../base/host.js';
import { Junk } from '../base/junk.js';
import type { Ask } from '../contract/ask.js';
import type { Numbers } from '../contract/decision.js';
import type {
  DistinctAlgorithm,
  DistinctRule,
  LogAnswer,
  Machine,
  ShelfStep,
} from '../contract/rule.js';
import { ratePolicy, windowOf } from './decide.js';
import { fingerprintsOf, MAX_ITEMS_PER_STEP, UNKNOWN } from './distinct-items.js';
import { givenBack } from './receipt.js';
import { type Expiring, KeyedShelf } from './shelves/keyed-shelf.js';
import { type TextForm, unknownFormat } from './stored-count.js';

/** The highest limit. Each step reads and writes all items of its key, 23 bytes each. */
const MAX_LIMIT = 10_000;

/**
 * Limits how many distinct items each key touches per window: ids, cards, recipients. An item counts for one window
 * from the request that added it. Requests that repeat it are free and don't extend that time.
 *
 * - `limit` is at most 10,000. `burst`, `anchor`, `cost`, `overage`, `penalty` and calendars are not allowed.
 * - A request with several items adds all of them or is rejected. A request with more than 100 distinct items, or a
 *   list of more than 10,000 entries, is rejected (`never`).
 * - Items are stored as 16 bytes of a SHA-256. Any value other than a string, number, bigint, null or undefined is a
 *   fault, and all such values of a key count as one item.
 *
 * At most `limit` items of a key are added in any interval of a window's length, unless `record` adds more.
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
    // An empty list, because undefined would mean that the app's function failed.
    itemOf: itemOf && ((request) => orElse(itemOf(request), [])),
    makeRule(limit, windowUs, _burst, _anchor, { cost } = {}) {
      if (cost !== undefined) {
        throw mustBe('cost', 'left out for distinct', cost, 'SPW_COST_INVALID');
      }
      if (limit <= MAX_LIMIT) return makeDistinctRule(limit, windowUs, machine);
      throw mustBe('limit', 'at most 10,000 for distinct', limit, 'SPW_LIMIT_INVALID');
    },
  };
}

export const distinctMachine: Machine = {
  same: (rule: DistinctRule, other: DistinctRule) => rule.windowUs === other.windowUs,
  capacity,
  share: ({ limit, windowUs, logic }: DistinctRule, share) =>
    makeDistinctRule(limit, windowOf(windowUs, share), logic),
  policy: (name, rule: DistinctRule) => ratePolicy(name, rule),
  declared: ({ limit, windowUs }: DistinctRule) => ({
    algorithm: 'distinct',
    limit,
    windowMs: windowUs / 1000,
  }),
  expiresAfterUs: ({ windowUs }: DistinctRule) => windowUs,
  measure: measureDistinct,
  receipt: ({ lastUs }: LogAnswer, units) => ({ atUs: lastUs, num: 0, units }),
  join({ items = [] }, other) {
    const all = [...new Set([...items, ...(other.items ?? [])])];
    return { cost: all.length, items: all };
  },
  shelf: () => new DistinctShelf(),
  // Rejections are not cached: the key may have other items that pass, because they are already counted.
};

/** {@link distinctMachine} for limiters, which also call functions of the user. */
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

/** Makes a rule from checked numbers, as `makeRule` does. `limit` is at most 10,000. */
export function makeDistinctRule(
  limit: number,
  windowUs: number,
  logic: Machine = distinctMachine,
): DistinctRule {
  return { machine: 'distinct', logic, code: `d${windowUs.toString(36)}`, limit, windowUs };
}

function capacity({ limit }: DistinctRule): number {
  return Math.min(limit, MAX_ITEMS_PER_STEP);
}

function measureDistinct(rule: DistinctRule, answer: LogAnswer, cost: number): Numbers {
  const { allowed, used, freesUs, lastUs, nowUs } = answer;
  let retryAfterMs = 0;
  // A step with more items than the limit passes if all of them were counted under a higher limit.
  if (cost > capacity(rule) && !allowed) retryAfterMs = Infinity;
  else if (freesUs >= 0) retryAfterMs = (freesUs + rule.windowUs - nowUs) / 1000;
  return {
    used,
    remaining: Math.max(0, rule.limit - used),
    retryAfterMs,
    resetMs: used > 0 ? (lastUs + rule.windowUs - nowUs) / 1000 : 0,
  };
}

const FINGERPRINT = 16;
const WIDTH = 23;
const SHARED = 128;

interface DistinctState {
  dirty: boolean;
  items: string;
  used: number;
  freesUs: number;
  lastUs: number;
}

function noItems(): DistinctState {
  return { dirty: false, items: '', used: 0, freesUs: -1, lastUs: 0 };
}

function distinctAnswer(state: DistinctState, nowUs: number, allowed: boolean): LogAnswer {
  const { used, freesUs, lastUs } = state;
  return { allowed, nowUs, used, freesUs, lastUs };
}

/**
 * Applies a step to `state`, in place. See {@link stepBucket} for `charge` and the return value. With `mayGrow` false
 * (the memory store is full), a new item passes only if it replaces an expired one, or if the key has no items.
 */
function stepDistinct(
  { op, rule, cost, receipt, items = [] }: DistinctAsk,
  state: DistinctState,
  nowUs: number,
  charge: boolean,
  mayGrow = true,
): boolean {
  const { windowUs } = rule;
  const limit = mayGrow
    ? rule.limit
    : Math.min(rule.limit, Math.max(1, state.items.length / WIDTH));
  const wanted = items.map(fromHex);
  let list = op === 'reset' ? '' : liveOf(state.items, nowUs - windowUs);
  const isAhead = lastOf(list) > nowUs + windowUs;
  if (isAhead) list = movedTo(list, nowUs);
  let places = placesOf(list, wanted);
  let allowed = op === 'reset' || passes(list, places, limit);
  state.dirty = op === 'reset' || (isAhead && op === 'take' && cost > 0);

  if (op === 'put') {
    const left = receipt ? without(list, places, receipt.atUs, givenBack(cost, receipt)) : list;
    allowed = left !== list;
    state.dirty = allowed;
    list = left;
    if (allowed) places = placesOf(list, wanted);
  } else if (op === 'record' || (op === 'take' && allowed && charge)) {
    const before = list;
    list = withItems(list, wanted, places, nowUs);
    state.dirty ||= list !== before;
    const most = Math.max(limit, before.length / WIDTH) * WIDTH;
    if (list.length > most) list = list.slice(-most);
    places = op === 'record' ? placesOf(list, wanted) : []; // after a take, the list has all items
  }
  state.items = list;
  state.used = list.length / WIDTH;
  state.lastUs = lastOf(list);
  const canPass = wanted.length <= Math.min(rule.limit, MAX_ITEMS_PER_STEP);
  state.freesUs = canPass ? freesOf(list, places, limit, nowUs) : -1;
  return allowed;
}

type DistinctAsk = Pick<Ask<DistinctRule>, 'op' | 'rule' | 'cost' | 'receipt' | 'items'>;

/**
 * Where in the list each wanted item is; -1 if it is not there. Most entries are skipped by their first two bytes. A
 * map finds the others, so a client can't slow this down with many items that share these bytes.
 */
function placesOf(list: string, wanted: readonly string[]): readonly number[] {
  const places = new Map(wanted.map((item) => [item, -1]));
  const heads = new Uint8Array(512);
  for (const item of wanted) {
    heads[item.charCodeAt(0)] = 1;
    heads[item.charCodeAt(1) + 256] = 1;
  }
  for (let at = 0; wanted[0] && at < list.length; at += WIDTH) {
    if (heads[list.charCodeAt(at)] && heads[list.charCodeAt(at + 1) + 256]) {
      const item = list.slice(at, at + FINGERPRINT);
      if (places.has(item)) places.set(item, at);
    }
  }
  return wanted.map((item) => places.get(item) as number);
}

function passes(list: string, places: readonly number[], limit: number): boolean {
  const fresh = freshOf(places);
  const fits = fresh === 0 || list.length / WIDTH + fresh <= limit;
  return fits && places.length <= MAX_ITEMS_PER_STEP;
}

function freshOf(places: readonly number[]): number {
  return places.filter((at) => at < 0).length;
}

/**
 * Before all wanted items pass, some others may have to expire. Returns when the last of these was added; -1 if none
 * must; `nowUs` if a full memory store has no room.
 */
function freesOf(list: string, places: readonly number[], limit: number, nowUs: number): number {
  const known = new Set(places);
  const fresh = freshOf(places);
  let excess = fresh > 0 ? list.length / WIDTH + fresh - limit : 0;
  if (excess <= 0) return -1;
  for (let at = 0; at < list.length; at += WIDTH) {
    // A wanted item that expires makes no room, because it is needed again.
    if (!known.has(at)) excess -= 1;
    if (excess === 0) return timeAt(list, at);
  }
  return nowUs; // a full memory store has no room for all wanted items
}

function withItems(
  list: string,
  wanted: readonly string[],
  places: readonly number[],
  nowUs: number,
): string {
  const time = timeOf(Math.max(nowUs, lastOf(list)), false);
  const fresh = wanted.map((item, i) => ((places[i] as number) < 0 ? item + time : '')).join('');
  return edited(list, unsharedOf(list, places), true) + fresh;
}

/** Removes up to `most` items that the grant at `us` added and no other request has repeated. */
function without(list: string, places: readonly number[], us: number, most: number): string {
  const own = unsharedOf(list, places).filter((at) => timeAt(list, at) === us);
  return edited(list, own.slice(0, most), false);
}

function unsharedOf(list: string, places: readonly number[]): number[] {
  return places.filter((at) => at >= 0 && !isShared(list, at));
}

/**
 * If `marks`, marks the items at `places` as repeated by another request. Otherwise removes them. Builds the new list
 * only once, because building it once per item took 60 times as long for 100 items.
 */
function edited(list: string, places: number[], marks: boolean): string {
  let text = '';
  let from = 0;
  for (const at of places.sort((a, b) => a - b)) {
    text += list.slice(from, at);
    if (marks) text += list.slice(at, at + FINGERPRINT) + timeOf(timeAt(list, at), true);
    from = at + WIDTH;
  }
  return text + list.slice(from);
}

function liveOf(list: string, sinceUs: number): string {
  let at = 0;
  while (at < list.length && timeAt(list, at) <= sinceUs) at += WIDTH;
  return list.slice(at);
}

function movedTo(list: string, us: number): string {
  let moved = '';
  for (let at = 0; at < list.length; at += WIDTH) {
    moved += list.slice(at, at + FINGERPRINT) + timeOf(us, isShared(list, at));
  }
  return moved;
}

function isShared(list: string, at: number): boolean {
  return list.charCodeAt(at + FINGERPRINT) >= SHARED;
}

function timeAt(list: string, at: number): number {
  let us = list.charCodeAt(at + FINGERPRINT) % SHARED;
  for (let i = FINGERPRINT + 1; i < WIDTH; i += 1) us = us * 256 + list.charCodeAt(at + i);
  return us;
}

function lastOf(list: string): number {
  return list === '' ? 0 : timeAt(list, list.length - WIDTH);
}

function timeOf(us: number, shared: boolean): string {
  let text = '';
  let rest = us;
  for (let i = FINGERPRINT + 1; i < WIDTH; i += 1) {
    text = String.fromCharCode(rest % 256) + text;
    rest = Math.floor(rest / 256);
  }
  return String.fromCharCode(rest + (shared ? SHARED : 0)) + text;
}

function fromHex(item: string): string {
  return item.replace(/../g, (byte) => String.fromCharCode(Number.parseInt(byte, 16)));
}

interface DistinctEntry extends Expiring {
  items: string;
}

class DistinctShelf extends KeyedShelf<DistinctRule, DistinctEntry> {
  override readonly grows = true;
  private characters = 0;
  private readonly working = noItems();

  override get size(): number {
    return this.characters / WIDTH;
  }

  override step(step: ShelfStep<DistinctRule, DistinctEntry>): LogAnswer {
    const { ask, nowUs, charge, mayGrow, count, other } = step;
    const { working: state } = this;
    state.items = (count ?? other)?.items ?? '';
    // A shared count may grow too. With room for only one item, it would reject nearly all its keys.
    const grows = mayGrow || 'other' in step;
    const allowed = stepDistinct(ask, state, nowUs, charge, grows);
    if (state.dirty) this.keep(ask, count, state.items, state.lastUs + ask.rule.windowUs);
    return distinctAnswer(state, nowUs, allowed);
  }

  override expiresAtUs({ windowUs }: DistinctRule, { lastUs }: LogAnswer): number {
    return lastUs + windowUs;
  }

  protected override evicted({ items }: DistinctEntry): void {
    this.characters -= items.length;
  }

  private keep(
    ask: Ask<DistinctRule>,
    stored: DistinctEntry | undefined,
    items: string,
    expiresUs: number,
  ): void {
    this.characters += items.length - (stored?.items.length ?? 0);
    if (items === '') this.delete(ask);
    else if (stored) {
      stored.items = items;
      stored.expiresUs = expiresUs;
    } else {
      this.set(ask, { items, expiresUs });
    }
  }
}

declare function btoa(binary: string): string;
declare function atob(base64: string): string;

export const distinctForm: TextForm<DistinctState> = {
  copies: true,
  unused: noItems,
  read(text) {
    let items: string | undefined;
    try {
      if (text.startsWith('1')) items = atob(text.slice(1));
    } catch {
      // The text is not base64.
    }
    if (!items || items.length % WIDTH > 0) throw unknownFormat();
    return { ...noItems(), items };
  },
  step: (ask: Ask<DistinctRule>, state, nowUs, charge) =>
    distinctAnswer(state, nowUs, stepDistinct(ask, state, nowUs, charge)),
  expiresUs: ({ used, lastUs }, { windowUs }: DistinctRule) => (used > 0 ? lastUs + windowUs : 0),
  text: ({ items }) => `1${btoa(items)}`,
};
