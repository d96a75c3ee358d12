/** The recipe for different items, as it is printed. */

import { describe, expect, it } from 'vitest';
import { exampleOf, serveExample } from './pages.js';
import { authenticate } from './users.js';

describe('docs/recipes/different-items.md', () => {
  it('stops who walks through ids, cards and recipients, and lets repeats pass', async () => {
    const heading = 'Enumeration, card testing, invitations';
    const page = exampleOf('docs/recipes/different-items.md', heading);
    const replace = { 'limit: 200': 'limit: 2', 'limit: 50': 'limit: 3' };
    const { ask } = await serveExample(page, { yours: { authenticate }, replace });
    const ada = { 'x-user': 'ada' };
    const order = async (id: string) => (await ask(`/orders/${id}`, { headers: ada })).status;
    const post = async (path: string, body: object) => {
      const headers = { ...ada, 'content-type': 'application/json' };
      return (await ask(path, { method: 'POST', headers, body: JSON.stringify(body) })).status;
    };
    const statuses: number[] = [];
    for (const id of ['1', '2', '3', '1']) statuses.push(await order(id));
    expect(statuses.splice(0)).toEqual([200, 200, 429, 200]);
    for (const fingerprint of ['a', 'b', 'c', 'd', 'a']) {
      statuses.push(await post('/payments', { fingerprint }));
    }
    expect(statuses.splice(0)).toEqual([200, 200, 200, 429, 200]);
    for (const emails of [
      ['a', 'b'],
      ['c', 'd'],
      ['b', 'c'],
    ]) {
      statuses.push(await post('/invitations', { emails }));
    }
    expect(statuses).toEqual([200, 429, 200]);
  });
});
