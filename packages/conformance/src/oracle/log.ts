import type { LogRule } from '@spillway/core/store';
import { larger, leastWait, type Machine, smaller } from './machine.js';

interface Entry {
  readonly time: bigint;
  readonly cost: bigint;
}

interface LogState {
  readonly entries: readonly Entry[];
  /**
   * The time of the newest entry among those that were removed when units were granted; undefined if none was removed.
   */
  readonly purged?: bigint;
}

function live(rule: LogRule, state: LogState, now: bigint): readonly Entry[] {
  return state.entries.filter((entry) => entry.time > now - BigInt(rule.windowUs));
}

function units(entries: readonly Entry[]): bigint {
  return entries.reduce((sum, entry) => sum + entry.cost, 0n);
}

function append(rule: LogRule, view: LogState, now: bigint, cost: bigint): LogState {
  const entries = live(rule, view, now);
  const purged = view.entries[view.entries.length - entries.length - 1]?.time ?? view.purged;
  const time = larger(now, entries.at(-1)?.time ?? now);
  const same = entries.at(-1)?.time === time ? entries.at(-1) : undefined;
  const next = same
    ? [...entries.slice(0, -1), { time, cost: same.cost + cost }]
    : [...entries, { time, cost }];
  return purged === undefined ? { entries: next } : { entries: next, purged };
}

function newest(entries: readonly Entry[], limit: bigint): readonly Entry[] {
  const kept: Entry[] = [];
  let room = limit;
  for (const { time, cost } of entries.toReversed()) {
    if (room > 0n) kept.push({ time, cost: smaller(cost, room) });
    room -= cost;
  }
  return kept.reverse();
}

export const logMachine: Machine<LogRule, LogState> = {
  shareCount: (a, b) => a.windowUs === b.windowUs,

  view(rule, state, now) {
    if (!state) return { entries: [] };
    if (!logMachine.impossible(rule, state, now)) return state;
    return { ...state, entries: [{ time: now, cost: units(live(rule, state, now)) }] };
  },

  impossible(rule, state, now) {
    const last = state.entries.at(-1);
    return last !== undefined && last.time > now + BigInt(rule.windowUs);
  },

  passes(rule, view, now, cost) {
    return units(live(rule, view, now)) + cost <= BigInt(rule.limit);
  },

  charge(rule, view, now, cost) {
    return append(rule, view, now, cost);
  },

  record(rule, view, now, cost) {
    const limit = BigInt(rule.limit);
    const grown = append(rule, view, now, smaller(cost, limit));
    return { ...grown, entries: newest(grown.entries, limit) };
  },

  put(rule, view, now, cost, receipt) {
    if (!receipt) return undefined;
    const found = live(rule, view, now).find(({ time }) => time === BigInt(receipt.atUs));
    if (!found) return undefined;
    const left = { ...found, cost: found.cost - smaller(cost, found.cost) };
    const entries = view.entries.map((entry) => (entry === found ? left : entry));
    return { ...view, entries: entries.filter((entry) => entry.cost > 0n) };
  },

  numbers(rule, view, now, cost) {
    const limit = BigInt(rule.limit);
    const window = BigInt(rule.windowUs);
    const entries = live(rule, view, now);
    const last = entries.at(-1);
    const resetUs = last ? last.time + window - now : 0n;
    let retryUs: bigint | null = 0n;
    if (cost > limit) retryUs = null;
    else if (cost > 0n) {
      retryUs = leastWait(resetUs, (waitUs) => logMachine.passes(rule, view, now + waitUs, cost));
    }
    const used = units(entries);
    return { used, remaining: larger(0n, limit - used), retryUs, resetUs };
  },

  answer(rule, view, nowUs, retryUs) {
    const entries = live(rule, view, BigInt(nowUs));
    return {
      nowUs,
      used: Number(units(entries)),
      freesUs: retryUs ? nowUs + Number(retryUs) - rule.windowUs : -1,
      lastUs: Number(entries.at(-1)?.time ?? 0n),
    };
  },

  forgettable(rule, state, now, earlier) {
    const window = BigInt(rule.windowUs);
    const expired = state.entries.findLast((entry) => entry.time <= now - window)?.time;
    const gone = expired ?? state.purged;
    if (gone === undefined) return state.entries.length === 0;
    return gone > earlier - window || logMachine.impossible(rule, state, earlier);
  },
};
