/**
 * The steps of a sliding window log. If you change them, also change the same code in Lua: log.lua and log-put.lua in
 * packages/redis/src/algorithms/log.
 */

import type { Ask, Receipt } from '../../contract/ask.js';
import type { LogRule } from '../../contract/rule.js';
import { givenBack } from '../receipt.js';
import type { LogEntries } from './log-entries.js';

export interface LogView {
  used: number;
  freesUs: number;
  lastUs: number;
}

/**
 * Applies a step to `entries`, in place. See {@link stepBucket} for `charge` and the return value. Writes the resulting
 * numbers into `view`. With `mayGrow` false (the memory store is full, or the stored text has 10,000 entries), new
 * units join the newest entry. Units may then expire too late, but never too early.
 */
export function stepLog(
  { op, rule, cost, receipt }: Ask<LogRule>,
  entries: LogEntries,
  nowUs: number,
  charge: boolean,
  view: LogView,
  mayGrow = true,
): boolean {
  if (op === 'reset') entries.clear();
  const sinceUs = nowUs - rule.windowUs;
  let expired = entries.unitsUntil(sinceUs);
  const used = entries.total - expired;
  let allowed = op === 'reset' || cost === 0 || used + cost <= rule.limit;

  if (op === 'put') {
    allowed = receipt !== undefined && put(rule, entries, receipt, cost, nowUs);
    if (allowed) expired = 0;
  } else if (cost > 0 && (op === 'record' || op === 'take')) {
    if (isAhead(rule, entries, nowUs)) {
      gather(entries, used, nowUs);
      expired = 0;
    }
    if (op === 'record' || (allowed && charge)) {
      // Expired entries stay stored until the next charge or refund, because a rejection must not write.
      entries.drop(expired);
      expired = 0;
      append(rule, entries, cost, nowUs, mayGrow);
    }
  }
  previewTake(rule, entries, expired, cost, nowUs, view);
  return allowed;
}

/** If the clock went back by more than a window, a take or record merges all units into one entry at `nowUs`. */
export function isAhead(rule: LogRule, entries: LogEntries, nowUs: number): boolean {
  return entries.lastUs > nowUs + rule.windowUs;
}

function gather(entries: LogEntries, used: number, nowUs: number): void {
  entries.clear();
  entries.add(nowUs, used);
}

function append(
  rule: LogRule,
  entries: LogEntries,
  cost: number,
  nowUs: number,
  mayGrow: boolean,
): void {
  const units = Math.min(cost, rule.limit);
  if (units === 0) {
    entries.clear(); // with limit 0, the entry would have no units: it would take room, but could not be found
    return;
  }
  if (mayGrow || entries.total === 0) entries.add(nowUs, units);
  else entries.absorb(Math.max(nowUs, entries.lastUs), units);
  if (entries.total > rule.limit) entries.drop(entries.total - rule.limit);
}

function put(
  rule: LogRule,
  entries: LogEntries,
  receipt: Receipt,
  cost: number,
  nowUs: number,
): boolean {
  const { atUs } = receipt;
  const given = givenBack(cost, receipt);
  if (given === 0) return false;
  const sinceUs = nowUs - rule.windowUs;
  if (atUs <= sinceUs) return false;
  if (isAhead(rule, entries, nowUs)) {
    if (atUs !== nowUs) return false;
    gather(entries, entries.total - entries.unitsUntil(sinceUs), nowUs);
  }
  if (entries.takeBack(atUs, given) === 0) return false;
  entries.drop(entries.unitsUntil(sinceUs));
  return true;
}

function previewTake(
  rule: LogRule,
  entries: LogEntries,
  expired: number,
  cost: number,
  nowUs: number,
  view: LogView,
): void {
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
