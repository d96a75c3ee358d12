/** The same is charged however a request ends, and in whatever order its costs are reported. */

import { calendar, type Limiter, meter, partial, rateLimit, tokenBucket } from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { setUp } from './set-up.js';

const RESERVED = 20;
const AT_LEAST = 5;

type Event =
  | { readonly add: number }
  | { readonly settle: number }
  | { readonly end: { readonly status?: number; readonly aborted?: boolean } };

const EVENTS: readonly Event[] = [
  { add: 10 },
  { add: 30 },
  { settle: 7 },
  { settle: 66 },
  { end: { aborted: true } },
  { end: { status: 200 } },
];

/** The units charged in the end. */
function expected(events: readonly Event[], isPartial: boolean): number {
  const settled = events.find((event) => 'settle' in event);
  if (settled) return settled.settle;
  let owed = AT_LEAST;
  for (const event of events) {
    if ('add' in event) owed += event.add;
    if ('end' in event) return event.end.aborted && isPartial ? owed : Math.max(owed, RESERVED);
  }
  throw new Error('a history without an end');
}

/** All orders of some of the events, each of which may occur twice, with at least one end. */
function histories(): Event[][] {
  const all: Event[][] = [];
  const extend = (history: Event[]): void => {
    if (history.some((event) => 'end' in event)) all.push(history);
    if (history.length === 4) return;
    for (const event of EVENTS) {
      if (history.filter((other) => other === event).length < 2) extend([...history, event]);
    }
  };
  extend([]);
  return all;
}

describe.each([
  ['a calendar', { window: calendar('month') }, 0],
  ['a token bucket', { window: '1000s', algorithm: tokenBucket }, 1],
] as const)('%s', (_, numbers, refilled) => {
  it.each([false, true])(
    'has the same books after every order of events, partial: %s',
    (isPartial) => {
      const usage = meter<number>({
        reserve: () => RESERVED,
        atLeast: () => AT_LEAST,
        ...(isPartial && { onCut: partial() }),
      });
      const limit = rateLimit<string>({
        name: 'rows',
        limit: 1_000,
        key: ({ raw }) => raw,
        cost: usage.cost((n) => n),
        ...numbers,
      });
      let count = 0;
      const { admit, numbers: look, clock, units } = setUp(limit as Limiter);
      for (const history of histories()) {
        const raw = `${count}`;
        // Other requests keep the bucket from being full, which would end the refill.
        const other = admit({ raw });
        usage.of(other).settle(500);
        other.release({});
        const admission = admit({ raw });
        const spent = usage.of(admission);
        for (const event of history) {
          clock.advance('1s');
          if ('add' in event) spent.add(event.add);
          else if ('settle' in event) spent.settle(event.settle);
          else admission.release(event.end);
        }
        const used = 500 + expected(history, isPartial) - refilled * history.length;
        if (look(raw)?.used !== used) expect({ history, used: look(raw)?.used }).toEqual({ used });
        count += 1;
      }
      expect(count).toBeGreaterThan(800);
      expect(units('forgiven') + units('lost')).toBe(0);
    },
  );
});
