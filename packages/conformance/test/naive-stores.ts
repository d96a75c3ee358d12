/** Stores as they are often written: tokens in floating point, a rounded previous window, timers of 32 bits. */

import type { Step } from '@spillway/core';
import type { BucketAnswer, BucketRule, WindowAnswer, WindowRule } from '@spillway/core/store';
import type { OpenStore } from '../src/index.js';
import type { Mutant } from './mutant.js';
import { referenceStore } from './reference-store.js';

const SEES_PROMISES = 'admits after exactly the promised wait, one microsecond less is rejected';

function idOf(step: Step): string {
  return JSON.stringify([step.limiter, step.key]);
}

/** A store for single takes, which the checks of promises send. */
function openTakesOnly(
  take: (step: Step, nowUs: number) => BucketAnswer | WindowAnswer,
): OpenStore {
  let nowUs = 0;
  return {
    store: { sync: true, apply: (steps) => steps.map((step) => take(step, nowUs)) },
    setTimeUs(us) {
      nowUs = us;
    },
  };
}

/** Tokens and seconds as floating point numbers. */
function openFloatBucket(): OpenStore {
  const buckets = new Map<string, { tokens: number; atSeconds: number }>();
  return openTakesOnly((step, nowUs) => {
    const rule = step.rule as BucketRule;
    const perSecond = rule.limit / (rule.windowUs / 1e6);
    const atSeconds = nowUs / 1e6;
    const stored = buckets.get(idOf(step)) ?? { tokens: rule.burst, atSeconds };
    const grown = stored.tokens + (atSeconds - stored.atSeconds) * perSecond;
    let tokens = Math.min(rule.burst, grown);
    const allowed = tokens >= step.cost;
    if (allowed) {
      tokens -= step.cost;
      buckets.set(idOf(step), { tokens, atSeconds });
    }
    const debtUs = ((rule.burst - tokens) / perSecond) * 1e6;
    return { allowed, nowUs, tatUs: nowUs + Math.round(debtUs), tatNum: 0 };
  });
}

/** A sliding window counter in floating point; `weigh` rounds what still counts of the previous window. */
export function openSlidingWindow(weigh: (units: number) => number): OpenStore {
  const counts = new Map<string, { startUs: number; current: number; previous: number }>();
  return openTakesOnly((step, nowUs) => {
    const { windowUs, limit } = step.rule as WindowRule;
    const startUs = nowUs - (nowUs % windowUs);
    const stored = counts.get(idOf(step)) ?? { startUs, current: 0, previous: 0 };
    let { current, previous } = stored;
    if (startUs !== stored.startUs) {
      previous = startUs === stored.startUs + windowUs ? current : 0;
      current = 0;
    }
    const before = weigh((previous * (windowUs - (nowUs - startUs))) / windowUs);
    const allowed = before + current + step.cost <= limit;
    if (allowed) {
      current += step.cost;
      counts.set(idOf(step), { startUs, current, previous });
    }
    return { allowed, nowUs, startUs, current, previous };
  });
}

/** Counts expire by a timer with 32 bits of milliseconds. */
function openForgetful(): OpenStore {
  const right = referenceStore();
  const writtenUs = new Map<string, number>();
  const longestUs = 2 ** 31 * 1000;
  return {
    setTimeUs: (us) => right.setTimeUs(us),
    store: {
      sync: true,
      apply(steps) {
        for (const step of steps) {
          const ageUs = right.nowUs - (writtenUs.get(idOf(step)) ?? right.nowUs);
          if (ageUs > longestUs) right.apply([{ ...step, op: 'reset' }]);
          writtenUs.set(idOf(step), right.nowUs);
        }
        return right.apply(steps);
      },
    },
  };
}

export const naiveStores: readonly Mutant[] = [
  {
    name: 'keeps tokens in floating point',
    caughtBy: `${SEES_PROMISES} (token-bucket)`,
    open: openFloatBucket,
  },
  {
    name: 'rounds the window before down',
    caughtBy: `${SEES_PROMISES} (sliding-window-counter)`,
    open: () => openSlidingWindow(Math.floor),
  },
  {
    name: 'forgets after 24 days',
    caughtBy: 'is exact for a sliding-window-log of 1 ms or 400 days',
    open: openForgetful,
  },
];
