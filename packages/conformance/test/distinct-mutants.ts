/** Stores that count distinct items wrongly. */

import type { Answer, Step } from '@spillway/core';
import { makeDistinctRule, makeRule } from '@spillway/core/store';
import { type Mutant, mutant, steps } from './mutant.js';

/** A store that changes each step on distinct items. */
function things(name: string, caughtBy: string, change: (step: Step) => Step): Mutant {
  return steps(name, caughtBy, (step) => (step.rule.machine === 'distinct' ? change(step) : step));
}

/** A store that changes the items of each step. */
function items(name: string, caughtBy: string, change: (item: string) => string): Mutant {
  return things(name, caughtBy, (step) => {
    const changed = step.items && [...new Set(step.items.map(change))];
    return changed ? { ...step, items: changed } : step;
  });
}

export const distinctMutants: readonly Mutant[] = [
  things('counts requests, not things', 'counts a thing until', ({ items: _, ...step }) => {
    const { limit, windowUs } = step.rule as ReturnType<typeof makeDistinctRule>;
    return { ...step, rule: makeRule('sliding-window-log', limit, windowUs) };
  }),
  things('forgets things after half a window', 'counts a thing until', (step) => {
    const { limit, windowUs } = step.rule as ReturnType<typeof makeDistinctRule>;
    return { ...step, rule: makeDistinctRule(limit, windowUs / 2) };
  }),
  things('adds what fits', 'adds all things of a step', (step) =>
    step.op === 'take' ? { ...step, op: 'record' } : step,
  ),
  things(
    'looks at the first thing only',
    'adds all things of a step',
    ({ items = [], ...step }) => ({
      ...step,
      items: items.slice(0, 1),
    }),
  ),
  mutant('extends what is repeated', 'counts a thing until', (right, group) => {
    const isTake = group.every(({ op, rule }) => op === 'take' && rule.machine === 'distinct');
    if (isTake && right.apply(group).every(({ allowed }) => allowed)) {
      right.apply(group.map((step) => ({ ...step, op: 'reset' })));
    }
    return right.apply(group);
  }),
  mutant('refunds what others have repeated', 'keeps a thing that a refunded', (right, group) => {
    const alone = group.filter(({ op, rule }) => op === 'take' && rule.machine === 'distinct');
    const known = right.apply(alone.map((step) => ({ ...step, op: 'look', binding: false })));
    // A repeat becomes a look, so nothing is marked as shared.
    const repeats = new Set(alone.filter((_, at) => isRepeat(alone[at], known[at])));
    return right.apply(group.map((step) => (repeats.has(step) ? { ...step, op: 'look' } : step)));
  }),
  things('gives back whatever its time', 'gives back only what', (step) =>
    step.op === 'put' ? { ...step, op: 'reset' } : step,
  ),
  things('drops things above a lower limit', 'keeps things when the limit', (step) =>
    step.op === 'take' && step.rule.limit === 1 ? { ...step, op: 'record' } : step,
  ),
  things('does not bound a step', 'passes no step of more than 100', (step) => ({
    ...step,
    items: step.items?.slice(0, 100),
  })),
  items('keeps 8 bytes of a thing', 'finds a thing only where', (item) =>
    item.slice(0, 16).repeat(2),
  ),
  mutant('sums the things of two steps', 'joins the things of two', (right, group) => {
    const isTwice = group.length > 1 && group.every(({ rule }) => rule.machine === 'distinct');
    if (!isTwice) return right.apply(group);
    return right.apply(
      group.map((step, at) => ({
        ...step,
        items: step.items?.map((one) => `${at}${one.slice(1)}`),
      })),
    );
  }),
  things('records only what fits', 'records things in place', (step) =>
    step.op === 'record' ? { ...step, op: 'take', binding: false } : step,
  ),
  mutant('waits for the oldest thing', 'waits for things to leave', (right, group) =>
    right.apply(group).map((answer, at) => {
      const isThings = group[at]?.rule.machine === 'distinct';
      const waits = isThings && 'freesUs' in answer && answer.freesUs >= 0;
      return waits ? { ...answer, freesUs: answer.lastUs - (answer.used - 1) * 1_000 } : answer;
    }),
  ),
];

function isRepeat(step: Step | undefined, answer: Answer | undefined): boolean {
  return step?.items?.length === 1 && answer !== undefined && 'used' in answer && answer.used > 0;
}
