/**
 * The steps of a limit on distinct items. If you change them, also change the same code in Lua:
 * packages/redis/src/algorithms/distinct/distinct.lua.
 *
 * The list of a key's items is a string with one byte per character, oldest item first. Each item takes 16 bytes for
 * its fingerprint and 7 for the time at which it was added, high byte first. The first bit of the time is set if
 * another request has repeated the item.
 */

import type { Ask } from '../../contract/ask.js';
import type { DistinctRule } from '../../contract/rule.js';
import { givenBack } from '../receipt.js';

export const MAX_ITEMS_PER_STEP = 100;

const FINGERPRINT = 16;
export const WIDTH = 23;
const SHARED = 128;

export interface DistinctState {
  dirty: boolean;
  items: string;
  used: number;
  freesUs: number;
  lastUs: number;
}

export function noItems(): DistinctState {
  return { dirty: false, items: '', used: 0, freesUs: -1, lastUs: 0 };
}

/**
 * Applies a step to `state`, in place. See {@link stepBucket} for `charge` and the return value. With `mayGrow` false
 * (the memory store is full), a new item passes only if it replaces an expired one, or if the key has no items.
 */
export function stepDistinct(
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
 * must.
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

/**
 * Removes up to `most` of the items at `places`. It removes only items that the grant at `us` added and that no other
 * request has repeated.
 */
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
