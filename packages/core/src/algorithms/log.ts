/** The sliding window log: pure steps on its entries (docs/algorithms.md; twin: packages/redis/src/lua/log.lua). */

import type { LogRule } from '../contract/rule.js';
import type { Op, Receipt } from '../contract/store.js';
import type { Entries } from './entries.js';

/** What a step found, beside its verdict. */
export interface LogView {
  used: number;
  freesUs: number;
  lastUs: number;
}

/**
 * Does `op` to `entries`, in place; see {@link stepBucket} for `charge` and the return value. `view` receives the
 * numbers after the step. `mayGrow` false lets the newest entry absorb a new one: it then expires later than exactly,
 * never sooner.
 */
export function stepLog(
  rule: LogRule,
  entries: Entries,
  op: Op,
  cost: number,
  nowUs: number,
  charge: boolean,
  view: LogView,
  receipt?: Receipt,
  mayGrow = true,
): boolean {
  if (op === 'reset') entries.clear();
  const sinceUs = nowUs - rule.windowUs;
  const used = entries.total - entries.unitsUntil(sinceUs);
  let allowed = op === 'reset' || cost === 0 || used + cost <= rule.limit;

  if (op === 'put') {
    allowed = cost > 0 && receipt !== undefined && put(rule, entries, receipt.atUs, cost, nowUs);
  } else if (cost > 0 && (op === 'record' || op === 'take')) {
    if (isAhead(rule, entries, nowUs)) gather(entries, used, nowUs);
    if (op === 'record' || (allowed && charge)) append(rule, entries, cost, nowUs, mayGrow);
  }
  look(rule, entries, cost, nowUs, view);
  return allowed;
}

/** Whether the clock went back by so much that all live units count as one entry of now. */
function isAhead(rule: LogRule, entries: Entries, nowUs: number): boolean {
  return entries.lastUs > nowUs + rule.windowUs;
}

/** Writes what {@link isAhead} says. */
function gather(entries: Entries, used: number, nowUs: number): void {
  entries.clear();
  entries.add(nowUs, used);
}

/** Expired entries stay until something is written: a refusal writes nothing. */
function append(
  rule: LogRule,
  entries: Entries,
  cost: number,
  nowUs: number,
  mayGrow: boolean,
): void {
  entries.drop(entries.unitsUntil(nowUs - rule.windowUs));
  const units = Math.min(cost, rule.limit);
  if (mayGrow || entries.total === 0) entries.add(nowUs, units);
  else entries.absorb(Math.max(nowUs, entries.lastUs), units);
  entries.drop(Math.max(0, entries.total - rule.limit)); // only a record comes so far
}

function put(rule: LogRule, entries: Entries, atUs: number, cost: number, nowUs: number): boolean {
  const sinceUs = nowUs - rule.windowUs;
  if (atUs <= sinceUs) return false;
  if (isAhead(rule, entries, nowUs)) {
    if (atUs !== nowUs) return false;
    gather(entries, entries.total - entries.unitsUntil(sinceUs), nowUs);
  }
  if (entries.takeBack(atUs, cost) === 0) return false;
  entries.drop(entries.unitsUntil(sinceUs));
  return true;
}

function look(rule: LogRule, entries: Entries, cost: number, nowUs: number, view: LogView): void {
  const expired = entries.unitsUntil(nowUs - rule.windowUs);
  const used = entries.total - expired;
  const ahead = isAhead(rule, entries, nowUs);
  const excess = used + cost - rule.limit;
  view.used = used;
  view.lastUs = 0;
  if (used > 0) view.lastUs = ahead ? nowUs : entries.lastUs;
  view.freesUs = -1;
  if (excess > 0 && cost <= rule.limit) {
    view.freesUs = ahead ? nowUs : entries.instantOf(expired + excess);
  }
}
