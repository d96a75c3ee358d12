/** The recipe for quotas by month, as it is printed. */

import { describe, expect, it } from 'vitest';
import { exampleOf, repeat, serveExample } from './pages.js';
import { authenticate } from './users.js';

describe('docs/recipes/billing.md', () => {
  const as = (user: string, plan: string) => ({ headers: { 'x-user': user, 'x-plan': plan } });

  it('rejects free customers with 402, and counts what paying ones use beyond their quota', async () => {
    const page = exampleOf('docs/recipes/billing.md', '10,000 a month, then pay per use');
    const replace = { 'limit: 1_000': 'limit: 2', 'limit: 10_000': 'limit: 3' };
    const { ask, statuses } = await serveExample(page, { yours: { authenticate }, replace });
    expect(await statuses(3, '/things', as('ada', 'free'))).toEqual([200, 200, 402]);
    const rejected = await ask('/things', as('ada', 'free'));
    expect(rejected.headers.get('ratelimit')).toMatch(/"free";r=0;t=\d+/);
    expect(Number(rejected.headers.get('retry-after'))).toBeLessThanOrEqual(31 * 86_400);

    expect(await statuses(3, '/things', as('acme', 'paid'))).toEqual(repeat(3, 200));
    const over = await ask('/things', as('acme', 'paid'));
    expect(await over.json()).toEqual({ billed: true });
    expect(over.headers.get('ratelimit')).toMatch(/"paid";r=0;t=\d+/);
    const other = await ask('/things', as('bob', 'paid'));
    expect(await other.json()).toEqual({ billed: false });
  });
});
