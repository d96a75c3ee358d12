/**
 * Keys of several parts: two different lists are never one key, a list never equals a string, and a list with a missing
 * part is no key.
 */

import {
  concurrencyLimit,
  createGuard,
  type DecisionEvent,
  type Fault,
  type KeyParts,
  type Limiter,
  rateLimit,
} from '@spillway/core';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { pick, seeded } from './net/random.js';

const limit = { name: 'api', limit: 5, window: '1h' } as const;

/** What a key option returns for a request: the counted key, and the faults. */
async function counted(
  own: unknown,
  make = (key: () => never): Limiter => rateLimit({ ...limit, key }),
) {
  const keys: (string | undefined)[] = [];
  const faults: Fault[] = [];
  const guard = createGuard(
    make(() => own as never),
    {
      onDecision: (_: DecisionEvent, key) => keys.push(key),
      onFault: (fault) => faults.push(fault),
    },
  );
  await guard.admit(request({ clientIp: '203.0.113.7' }));
  return { key: keys[0], faults };
}

const ADDRESS = '@203.0.113.7';

describe('a key of several parts', () => {
  it.each([
    [['acme', 'ada'], '@["acme","ada"]'],
    [['acme'], '@["acme"]'],
    [['a","b', 'c'], '@["a\\",\\"b","c"]'],
    [['\ud800', 'x'], '@["\\ud800","x"]'],
  ])('is counted as JSON: %j', async (parts, key) => {
    expect(await counted(parts)).toEqual({ key, faults: [] });
    expect(await counted(Promise.resolve(parts))).toEqual({ key, faults: [] });
  });

  it('is the same for a concurrencyLimit', async () => {
    const make = (key: () => KeyParts) => concurrencyLimit({ name: 'busy', limit: 2, key });
    expect((await counted(['acme', 'ada'], make)).key).toBe('@["acme","ada"]');
  });

  it.each([[['acme', undefined]], [['acme', '']], [[undefined]]])(
    'is none if a part is missing: the address counts, %j',
    async (parts) => {
      expect(await counted(parts)).toEqual({ key: ADDRESS, faults: [] });
    },
  );

  it.each([[[]], [['acme', 7]], [['acme', ['ada']]], [['x'.repeat(8_190)]]])(
    'is a fault if it is junk, and the address counts',
    async (parts) => {
      const { key, faults } = await counted(parts);
      expect(key).toBe(ADDRESS);
      expect(faults).toMatchObject([{ source: 'key', limiter: 'api' }]);
    },
  );

  it('is never the key of another list, of a text or of an address', async () => {
    const random = seeded(7);
    const texts = [
      '@',
      '@["a"]',
      '["a"]',
      'a',
      '"',
      '\\',
      ',',
      '@203.0.113.7',
      '@@',
      '\ud800',
      'é',
    ];
    const text = (): string => pick(random, texts) + (random(3) === 0 ? pick(random, texts) : '');
    const own = (): string | string[] =>
      random(2) === 0 ? text() : Array.from({ length: 1 + random(3) }, text);
    const seen = new Map<string, string>();
    for (let i = 0; i < 2_000; i += 1) {
      const one = own();
      const { key = '', faults } = await counted(one);
      expect(faults).toEqual([]);
      expect(key).not.toBe(ADDRESS);
      expect(seen.get(key) ?? JSON.stringify(one)).toBe(JSON.stringify(one));
      seen.set(key, JSON.stringify(one));
    }
    expect(seen.size).toBeGreaterThan(500);
  });
});
