/** Stores whose anchored windows begin, or end, at the wrong moment. */

import type { Answer, Step, Store } from '@spillway/core';
import type { WindowRule } from '@spillway/core/store';
import type { OpenStore } from '../src/index.js';
import { type Mutant, steps } from './mutant.js';

interface Wrong {
  /** A rejected take begins a window. */
  readonly beginsRefused?: boolean;
  /** A window continues although all its units were given back. */
  readonly keepsEmpty?: boolean;
  /** Each charge begins a new window, as in a store that sets the expiry with each. */
  readonly beginsEachTime?: boolean;
  /** A put with a receipt always gives back, whatever window the receipt is of. */
  readonly givesBackAny?: boolean;
}

/** A store for steps of one key each, as often written: a count and its end. */
function openCounter(wrong: Wrong): OpenStore {
  const counts = new Map<string, { startUs: number; current: number }>();
  let nowUs = 0;
  const act = ({ op, rule, limiter, key, cost, receipt }: Step): Answer => {
    const { windowUs, limit } = rule as WindowRule;
    const id = JSON.stringify([limiter, key]);
    let kept = counts.get(id);
    if (kept && nowUs >= kept.startUs + windowUs) kept = undefined;
    let { startUs, current } = kept ?? { startUs: nowUs, current: 0 };
    let allowed = current + cost <= limit;
    if (op === 'put') {
      allowed = current > 0 && (receipt?.atUs === startUs || wrong.givesBackAny === true);
      if (allowed) current = Math.max(0, current - cost);
    } else if (cost > 0 && op !== 'look') {
      if (allowed && wrong.beginsEachTime) startUs = nowUs;
      if (allowed) current += cost;
    }
    const began = current > 0 || (wrong.beginsRefused && op === 'take' && cost > 0);
    if (began || (kept && wrong.keepsEmpty)) counts.set(id, { startUs, current });
    else if (op === 'put') counts.delete(id);
    return { allowed, nowUs, startUs, current, previous: 0 };
  };
  const store: Store = { sync: true, apply: (group) => group.map(act) };
  return {
    store,
    setTimeUs(us) {
      nowUs = us;
    },
  };
}

/** The same store without a mistake, which shows that each mutant is caught for its own mistake. */
export const rightCounter = (): OpenStore => openCounter({});

export const anchoredMutants: readonly Mutant[] = [
  steps('aligns an anchored window to the epoch', 'begins an anchored', (step) =>
    step.rule.machine === 'window' && step.rule.kind === 'anchored'
      ? { ...step, rule: { ...step.rule, kind: 'fixed' } }
      : step,
  ),
  steps('aligns anchored windows (in a generated trace)', 'replays anchored-window', (step) =>
    step.rule.machine === 'window' && step.rule.kind === 'anchored'
      ? { ...step, rule: { ...step.rule, kind: 'fixed' } }
      : step,
  ),
  {
    name: 'begins an anchored window with each charge',
    caughtBy: 'begins an anchored',
    open: () => openCounter({ beginsEachTime: true }),
  },
  {
    name: 'begins an anchored window with what it refuses',
    caughtBy: 'begins no anchored',
    open: () => openCounter({ beginsRefused: true }),
  },
  {
    name: 'keeps an anchored window whose units were all given back',
    caughtBy: 'ends an anchored',
    open: () => openCounter({ keepsEmpty: true }),
  },
  {
    name: 'gives back what a window before has charged',
    caughtBy: 'ends an anchored',
    open: () => openCounter({ givesBackAny: true }),
  },
];
