/** The id of a billing period may have any character, in stores of texts too. */

import { type BillingPeriod, calendar, createLimiter } from '@spillway/core';
import { type StateText, stateStore } from '@spillway/core/store';
import { expect, it } from 'vitest';

it.each(['a\u2028b', '\u2029', '\n', '\0', '\ud800', '5 6 7 8', ' ', '%'])(
  'counts on in the period %j',
  async (id) => {
    const texts = new Map<string, StateText | undefined>();
    const store = stateStore({
      transact: async (names, decide) => {
        const own = names.map((name) => texts.get(name)?.text);
        for (const [name, text] of decide(own, Date.now() * 1000)) texts.set(name, text);
      },
    });
    const now = Date.now();
    const period: BillingPeriod = { id, start: now - 100_000_000, end: now + 100_000_000 };
    const limiter = createLimiter(
      { name: 'quota', limit: 9, window: calendar(() => period) },
      { store, logger: false },
    );
    await limiter.consume('ada', { period });
    expect(await limiter.consume('ada', { period })).toMatchObject({ outcome: 'allowed', used: 2 });
  },
);
