/** The sliding window log: pure steps on its state (docs/algorithms.md; twin: packages/redis/src/lua/log.lua). */

import type { LogRule } from '../rule.js';
import type { Op, Receipt } from '../store.js';

/** Admitted requests, oldest first; those before `head` are gone. `total` is the cost of all from `head` on, expired or not. */
export interface LogState {
  times: number[];
  costs: number[];
  head: number;
  total: number;
}

/** What a step found, beside its verdict. */
export interface LogView {
  used: number;
  freesUs: number;
  lastUs: number;
}

/**
 * Does `op` to `state`, in place; see {@link stepBucket} for `charge` and the return value. `view` receives the numbers
 * after the step. `mayGrow` false lets the newest entry absorb a new one: it then expires later than exactly, never sooner.
 */
export function stepLog(
  rule: LogRule,
  state: LogState,
  op: Op,
  cost: number,
  nowUs: number,
  charge: boolean,
  view: LogView,
  receipt?: Receipt,
  mayGrow = true,
): boolean {
  if (op === 'reset') clear(state);
  // Expired entries stay until a grant purges them: a refusal writes nothing.
  let live = firstLive(rule, state, nowUs);
  let used = state.total - sum(state, state.head, live);
  if (lastTime(state) > nowUs + rule.windowUs) {
    // The clock went back by more than a window: the live units become one entry at now.
    clear(state);
    append(state, used, nowUs, true);
    live = state.head;
  }
  let allowed = op === 'reset' || cost === 0 || used + cost <= rule.limit;

  if (op === 'put') allowed = cost > 0 && removeEntry(state, live, receipt?.atUs, cost);
  else if (cost > 0 && (op === 'record' || (op === 'take' && allowed && charge))) {
    purge(state, live);
    append(state, Math.min(cost, rule.limit), nowUs, mayGrow);
    if (op === 'record') dropOldest(state, rule.limit);
    live = state.head;
  }
  used = state.total - sum(state, state.head, live);

  view.used = used;
  view.lastUs = used > 0 ? lastTime(state) : 0;
  view.freesUs = freesAt(state, live, used + cost - rule.limit, cost <= rule.limit);
  return allowed;
}

/** Time of the newest entry, 0 if there is none. */
function lastTime(state: LogState): number {
  const last = state.times.length - 1;
  return last >= state.head ? (state.times[last] as number) : 0;
}

function firstLive(rule: LogRule, state: LogState, nowUs: number): number {
  let index = state.head;
  while (index < state.times.length && (state.times[index] as number) <= nowUs - rule.windowUs) {
    index += 1;
  }
  return index;
}

function sum(state: LogState, from: number, to: number): number {
  let units = 0;
  for (let index = from; index < to; index += 1) units += state.costs[index] as number;
  return units;
}

/** The time of the entry whose expiry frees `excess` units; 0 if none need be freed or the cost can never pass. */
function freesAt(state: LogState, live: number, excess: number, possible: boolean): number {
  if (excess <= 0 || !possible) return 0;
  let freed = 0;
  for (let index = live; index < state.times.length; index += 1) {
    freed += state.costs[index] as number;
    if (freed >= excess) return state.times[index] as number;
  }
  return 0;
}

function append(state: LogState, cost: number, nowUs: number, mayGrow: boolean): void {
  const last = state.times.length - 1;
  const timeUs = Math.max(nowUs, lastTime(state));
  if (!mayGrow && last >= state.head) {
    state.times[last] = timeUs;
    state.costs[last] = (state.costs[last] as number) + cost;
  } else {
    state.times.push(timeUs);
    state.costs.push(cost);
  }
  state.total += cost;
}

function dropOldest(state: LogState, limit: number): void {
  while (state.total > limit) {
    const over = state.total - limit;
    const cost = state.costs[state.head] as number;
    state.total -= Math.min(cost, over);
    if (cost > over) state.costs[state.head] = cost - over;
    else state.head += 1;
  }
}

function removeEntry(
  state: LogState,
  live: number,
  atUs: number | undefined,
  cost: number,
): boolean {
  for (let index = state.times.length - 1; index >= live; index -= 1) {
    if (state.times[index] !== atUs || state.costs[index] !== cost) continue;
    state.times.splice(index, 1);
    state.costs.splice(index, 1);
    state.total -= cost;
    return true;
  }
  return false;
}

/** Forgets the entries before `live`; moves the rest down once they are fewer than those forgotten. */
function purge(state: LogState, live: number): void {
  state.total -= sum(state, state.head, live);
  state.head = live;
  if (live > 16 && live * 2 > state.times.length) {
    state.times.splice(0, live);
    state.costs.splice(0, live);
    state.head = 0;
  }
}

function clear(state: LogState): void {
  state.times.length = 0;
  state.costs.length = 0;
  state.head = 0;
  state.total = 0;
}
