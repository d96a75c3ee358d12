/** The oracle's distinct items: each with the time at which it was added, and whether it was repeated since. */

import type { DistinctRule } from '@spillway/core/store';
import { larger, leastWait, type Machine } from './machine.js';

type Ruled = DistinctRule & { readonly items?: readonly string[] | undefined };

interface Thing {
  readonly id: string;
  readonly time: bigint;
  readonly shared: boolean;
}

interface DistinctState {
  readonly things: readonly Thing[];
}

const MOST_AT_ONCE = 100;

function live({ windowUs }: Ruled, { things }: DistinctState, now: bigint): readonly Thing[] {
  return things.filter(({ time }) => time > now - BigInt(windowUs));
}

function uncounted(rule: Ruled, view: DistinctState, now: bigint): readonly string[] {
  const counted = new Set(live(rule, view, now).map(({ id }) => id));
  return (rule.items ?? []).filter((id) => !counted.has(id));
}

function passesAt(rule: Ruled, view: DistinctState, now: bigint): boolean {
  const missing = uncounted(rule, view, now).length;
  const isFull = live(rule, view, now).length + missing > rule.limit;
  return (rule.items ?? []).length <= MOST_AT_ONCE && !(missing > 0 && isFull);
}

/** The state after a charge of the rule's items; undefined if nothing changes. */
function touched(rule: Ruled, view: DistinctState, now: bigint): DistinctState | undefined {
  const counted = live(rule, view, now);
  const time = larger(now, counted.at(-1)?.time ?? now);
  const added = uncounted(rule, view, now).map((id) => ({ id, time, shared: false }));
  const repeats = (one: Thing): boolean => !one.shared && (rule.items ?? []).includes(one.id);
  if (added.length === 0 && !counted.some(repeats)) return undefined;
  const before = view.things.map((one) =>
    counted.includes(one) && repeats(one) ? { ...one, shared: true } : one,
  );
  return { things: [...before, ...added] };
}

export const distinctMachine: Machine<Ruled, DistinctState> = {
  shareCount: (a, b) => a.windowUs === b.windowUs,

  view(rule, state, now) {
    if (!state) return { things: [] };
    if (!distinctMachine.impossible(rule, state, now)) return state;
    return { things: live(rule, state, now).map((one) => ({ ...one, time: now })) };
  },

  impossible({ windowUs }, { things }, now) {
    const last = things.at(-1);
    return last !== undefined && last.time > now + BigInt(windowUs);
  },

  passes: (rule, view, now) => passesAt(rule, view, now),

  charge: (rule, view, now) => touched(rule, view, now),

  record(rule, view, now) {
    const after = touched(rule, view, now);
    if (!after) return undefined;
    const most = Math.max(rule.limit, live(rule, view, now).length);
    return { things: live(rule, after, now).slice(-most) };
  },

  put(rule, view, now, cost, receipt) {
    if (!receipt) return undefined;
    const mine = live(rule, view, now).filter(
      ({ time, shared }) => !shared && time === BigInt(receipt.atUs),
    );
    const given = (rule.items ?? [])
      .filter((item) => mine.some(({ id }) => id === item))
      .slice(0, Number(cost));
    if (given.length === 0) return undefined;
    return { things: view.things.filter((one) => !mine.includes(one) || !given.includes(one.id)) };
  },

  numbers(rule, view, now, cost, allowed) {
    const counted = live(rule, view, now);
    const used = BigInt(counted.length);
    const last = counted.at(-1);
    const resetUs = last ? last.time + BigInt(rule.windowUs) - now : 0n;
    const most = Math.min(rule.limit, MOST_AT_ONCE);
    let retryUs: bigint | null = 0n;
    if (cost > BigInt(most) && !allowed) retryUs = null;
    else if ((rule.items ?? []).length <= most && !passesAt(rule, view, now)) {
      retryUs = leastWait(resetUs, (waitUs) => passesAt(rule, view, now + waitUs));
    }
    return { used, remaining: larger(0n, BigInt(rule.limit) - used), retryUs, resetUs };
  },

  answer(rule, view, nowUs, retryUs) {
    const counted = live(rule, view, BigInt(nowUs));
    return {
      nowUs,
      used: counted.length,
      freesUs: retryUs ? nowUs + Number(retryUs) - rule.windowUs : -1,
      lastUs: Number(counted.at(-1)?.time ?? 0n),
    };
  },

  forgettable({ windowUs }, { things }, now, earlier) {
    const window = BigInt(windowUs);
    return things.some(({ time }) => time <= now - window && time > earlier - window);
  },
};
