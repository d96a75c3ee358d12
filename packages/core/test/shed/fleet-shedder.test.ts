import { concurrencyLimit, fleetShedder } from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { setUp } from '../guard-set-up.js';

describe('a fleet shedder', () => {
  const fleet = fleetShedder({
    name: 'fleet',
    capacity: 10,
    priority: ({ path }) => (path === '/charges' ? 'critical' : undefined),
  });

  it('keeps its reserve for critical requests, which it never refuses', () => {
    const { admit } = setUp(fleet);
    for (let i = 0; i < 8; i += 1) expect(admit().allowed).toBe(true);
    const refused = admit();
    expect(refused).toMatchObject({
      status: 503,
      binding: { limiter: 'fleet', reason: 'capacity' },
    });
    expect(refused.headers.map(([name]) => name)).toEqual([
      'Retry-After',
      'Cache-Control',
      'Content-Type',
    ]);
    expect(JSON.parse(refused.body)).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      status: 503,
      'violated-policies': ['fleet'],
    });
    for (let i = 0; i < 20; i += 1) expect(admit({ path: '/charges' }).allowed).toBe(true);
  });

  it('has no room for others while critical requests fill it', () => {
    const { admit } = setUp(fleet);
    const critical = Array.from({ length: 10 }, () => admit({ path: '/charges' }));
    expect(admit().allowed).toBe(false);
    critical[0]?.release({});
    expect(admit().allowed).toBe(true);
  });

  it('follows a capacity that changes, and keeps the default while it is junk', () => {
    let capacity: number = 2;
    const { admit, faults } = setUp(
      fleetShedder({ name: 'fleet', capacity: () => capacity, defaultCapacity: 4, reserve: 0 }),
    );
    const admitted = (): number => {
      const admissions = Array.from({ length: 10 }, () => admit());
      for (const one of admissions) one.release({});
      return admissions.filter(({ allowed }) => allowed).length;
    };
    expect(admitted()).toBe(2);
    capacity = 7;
    expect(admitted()).toBe(7);
    capacity = Number.NaN;
    expect(admitted()).toBe(4);
    expect(faults[0]).toMatchObject({ limiter: 'fleet', source: 'capacity' });
  });

  it('tells of a classifier that throws, and goes by the method', () => {
    const { admit, faults } = setUp(
      fleetShedder({
        name: 'fleet',
        capacity: 1,
        priority: () => {
          throw new Error('bug');
        },
      }),
    );
    expect(admit().allowed).toBe(true);
    expect(admit().allowed).toBe(false);
    expect(faults[0]).toMatchObject({ limiter: 'fleet', source: 'priority' });
  });

  it.each<[string, object, RegExp]>([
    ['a capacity of 0', { capacity: 0 }, /SPW_LIMIT_INVALID/],
    ['a capacity function without a default', { capacity: () => 3 }, /defaultCapacity/],
    ['a reserve above 1', { capacity: 1, reserve: 1.5 }, /SPW_OPTION_INVALID/],
    ['a reserve that is none', { capacity: 1, reserve: '20%' }, /SPW_OPTION_INVALID/],
  ])('refuses %s', (_, options, error) => {
    expect(() => fleetShedder({ name: 'fleet', ...options } as never)).toThrow(error);
  });

  it('blames the caller first: 429 where both refuse, all of them listed', () => {
    const one = fleetShedder({ name: 'fleet', capacity: 1, retryAfter: '1h' });
    const { admit } = setUp([one, concurrencyLimit({ name: 'one', limit: 1 })]);
    admit();
    const refused = admit();
    expect(refused).toMatchObject({ status: 429, binding: { limiter: 'one' } });
    expect(JSON.parse(refused.body)['violated-policies']).toEqual(['fleet', 'one']);
  });
});
