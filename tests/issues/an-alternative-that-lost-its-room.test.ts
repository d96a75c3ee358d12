/** A full memory store: two keys of an alternative share a count with room for one. Then the next one is charged. */

import { createLimiters, memoryStore } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { expect, it } from 'vitest';

const hourly = { limit: 1, window: '1h' } as const;

/** Limiters of a full store, an alternative whose keys share one count there, and one whose keys do not. */
function fullStore() {
  const clock = new ManualClock();
  const store = memoryStore({ maxEntries: 1, clock });
  const limiters = createLimiters({ customer: hourly, carrier: hourly }, { store });
  const fill = () => limiters.consume({ customer: 'has a count of its own' });
  fill();
  limiters.consume({ customer: 'c1' });
  const carrier = first((key) => limiters.peek({ carrier: key }).decisions.carrier.used === 1);
  const customer = first((key) => limiters.consume({ customer: key }).allowed);
  const other = first((key) => limiters.peek({ carrier: key }).decisions.carrier.used === 0);
  clock.advance(3_600_000);
  fill();
  return { limiters, shared: { customer: 'c1', carrier }, apart: { customer, carrier: other } };
}

function first(fits: (key: string) => boolean): string {
  let at = 0;
  while (!fits(`k${at}`)) at += 1;
  return `k${at}`;
}

it('names the alternative of which all was charged', () => {
  const { limiters, shared, apart } = fullStore();
  const sent = limiters.consumeFirst([shared, apart]);
  expect(sent).toMatchObject({ allowed: true, alternative: 1 });
  const { customer, carrier } = limiters.peek(apart).decisions;
  expect([customer.used, carrier.used]).toEqual([1, 1]);
  expect(limiters.consumeFirst([shared])).toMatchObject({ allowed: false, alternative: -1 });
});
