/** How much more than its limit a meter admits: the bound in the docs. */

import { type Admission, meter, rateLimit } from '@spillway/core';
import { expect, it } from 'vitest';
import { key, setUp } from './set-up.js';

const ACTUAL = [58, 80, 175, 175, 175];

it('admits at most the burst and what those in flight use beyond their reservations', () => {
  for (let reserve = 1; reserve <= 100; reserve += 1) {
    const tokens = meter({ reserve: () => reserve });
    const cost = tokens.cost((n) => n, { maxReserve: 100 });
    const limit = rateLimit({ name: 'tokens', limit: 100, window: '1h', key, cost });
    const { admit, numbers, units } = setUp(limit);
    const all = ACTUAL.map((actual) => ({ actual, admission: admit() as Admission }));
    const admitted = all.filter(({ admission }) => admission.allowed);
    for (const { actual, admission } of admitted) {
      tokens.of(admission).settle(actual);
      admission.release({ status: 200 });
    }
    const used = admitted.reduce((sum, { actual }) => sum + actual, 0);
    const beyond = admitted.reduce((sum, { actual }) => sum + Math.max(0, actual - reserve), 0);
    const bound = 100 + beyond;
    const charged = numbers()?.used ?? Number.NaN;
    const forgiven = units('forgiven');
    const shown = `reserve ${reserve}: admitted ${admitted.length}, used ${used}, bound ${bound}, charged ${charged}, forgiven ${forgiven}`;
    if (reserve % 20 === 0 || reserve === 1) console.info(shown);
    expect(used, shown).toBeLessThanOrEqual(bound);
    expect(charged + forgiven, shown).toBe(used);
    expect(admitted.length, shown).toBe(Math.min(5, Math.floor(100 / reserve)));
  }
});

it('charges what a request used, whatever maximum its body named', () => {
  const tokens = meter<number, { max_tokens: number }>({ reserve: ({ raw }) => raw.max_tokens });
  const limit = rateLimit({
    name: 'tokens',
    limit: 1_000,
    window: '1h',
    key,
    cost: tokens.cost((n) => n),
  });
  const { admit, numbers, units } = setUp(limit as never);
  const admission = admit({ raw: { max_tokens: 1 } });
  tokens.of(admission).settle(4_096);
  admission.release({ status: 200 });
  expect((numbers()?.used ?? 0) + units('forgiven')).toBe(4_096);
  expect(numbers()?.used).toBe(2_000);
});
