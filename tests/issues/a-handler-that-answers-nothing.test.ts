/** A fetch handler that resolves to no response fails as it would without a guard, and leaves no permit behind. */

import { concurrencyLimit } from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { expect, it } from 'vitest';

it.each([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'hello'],
  ['an object that is none', {}],
])('a handler that gives %s holds no permit', async (_, given) => {
  const limits = fetchGuard(concurrencyLimit({ name: 'one', limit: 1, key: 'all' }));
  const handler = limits.wrap(async () => given as unknown as Response);
  for (let i = 0; i < 3; i += 1) {
    // The runtime rejects the value with its own message.
    expect(await handler(new Request('http://a.example/'))).toBe(given);
    expect(limits.inProgress).toBe(0);
  }
});

it('a response whose parts cannot be read holds no permit', async () => {
  const limits = fetchGuard(concurrencyLimit({ name: 'one', limit: 1, key: 'all' }));
  const broken = {
    get status(): number {
      throw new Error('broken');
    },
  };
  const handler = limits.wrap(() => broken as unknown as Response);
  await expect(handler(new Request('http://a.example/'))).rejects.toThrow('broken');
  expect(limits.inProgress).toBe(0);
});
