/**
 * A limit of 0 from a plan or a `capacity` function rejects everyone, without calling the store. A constant 0 throws.
 */

import {
  type Admission,
  concurrencyLimit,
  createGuard,
  createLimiter,
  type DecisionEvent,
  type Fault,
  fixedWindow,
  fleetShedder,
  type GuardOptions,
  type Limiter,
  type LimitRequest,
  memoryControl,
  memoryStore,
  rateLimit,
  type Step,
  type Store,
  slidingLog,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';

const request = (path = '/'): LimitRequest => ({
  method: 'GET',
  path,
  clientIp: '203.0.113.7',
  header: () => undefined,
  raw: undefined,
});

const nobody = () => 0;
const closed = () => ({ limit: 0 });
const note = { by: 'ada', because: 'a test' } as const;
const rate = { name: 'plan', limit: 1_000, window: '1m' } as const;

/** A guard whose store, synchronous or not, records its steps. */
function setUp(limiters: Limiter | readonly Limiter[], options: GuardOptions = {}, sync = true) {
  const clock = new ManualClock();
  const memory = memoryStore({ clock });
  const steps: Step[] = [];
  const note = (asked: readonly Step[]) => {
    steps.push(...asked);
    return memory.apply(asked);
  };
  const store: Store = sync
    ? remoteStore({ sync: true, apply: note })
    : remoteStore({ sync: false, apply: async (asked: readonly Step[]) => note(asked) });
  const events: DecisionEvent[] = [];
  const faults: Fault[] = [];
  const guard = createGuard(limiters, {
    store,
    onDecision: (event) => events.push(event),
    onFault: (fault) => faults.push(fault),
    ...options,
  });
  const admit = async (path?: string): Promise<Admission> => guard.admit(request(path));
  return { admit, steps, events, faults };
}

const KINDS: readonly [string, Limiter][] = [
  ['token bucket', rateLimit({ ...rate, plan: closed })],
  ['fixed window', rateLimit({ ...rate, plan: closed, algorithm: fixedWindow })],
  ['log', rateLimit({ ...rate, plan: closed, algorithm: slidingLog })],
  ['cost of 0', rateLimit({ ...rate, plan: closed, cost: 0 })],
  ['concurrency limit', concurrencyLimit({ name: 'plan', limit: 5, plan: closed })],
];

describe.each(KINDS)('0 from the function of a %s', (_, limiter) => {
  it.each([true, false])('lets nobody pass, and asks no store (at once: %s)', async (sync) => {
    const { admit, steps, events, faults } = setUp(limiter, {}, sync);
    const admission = await admit();
    expect(admission).toMatchObject({ allowed: false, status: 429, pending: false });
    expect(admission.binding).toMatchObject({ reason: 'never', retryAfterMs: Infinity });
    expect(new Map(admission.headers).has('Retry-After')).toBe(false);
    const { detail } = JSON.parse(admission.body);
    expect(detail).toBe('Policy "plan" allows you no requests. Waiting does not help.');
    expect(events).toMatchObject([{ outcome: 'denied', reason: 'never' }]);
    expect([steps, faults]).toEqual([[], []]);
  });

  it('passes in shadow as would-deny', async () => {
    const { admit, steps, events } = setUp(limiter, { mode: 'shadow' });
    expect(await admit()).toMatchObject({ allowed: true, status: 200 });
    expect(events).toMatchObject([{ outcome: 'would-deny', reason: 'never' }]);
    expect(steps).toEqual([]);
  });

  it('is outranked by allow for that key only, not by limits set live', async () => {
    const control = memoryControl();
    control.set('plan', { limits: { limit: 50 } }, { ...note, for: '1d' });
    const { admit } = setUp(limiter, { control });
    expect((await admit()).binding?.reason).toBe('never');
    control.allow('plan', '@203.0.113.7', note);
    expect((await admit()).allowed).toBe(true);
  });
});

it('charges none of the other limits of the guard, and in shadow all of them', async () => {
  const other = rateLimit({ name: 'other', limit: 1, window: '1m' });
  const banned = rateLimit({
    ...rate,
    plan: ({ path }) => ({ limit: path === '/banned' ? 0 : 9 }),
  });
  const { admit } = setUp([other, banned]);
  expect((await admit('/banned')).allowed).toBe(false);
  expect((await admit()).allowed).toBe(true);
  const dark = rateLimit({ ...rate, plan: closed, mode: 'shadow' });
  const shadowed = setUp([other, dark]);
  expect([(await shadowed.admit()).allowed, (await shadowed.admit()).allowed]).toEqual([
    true,
    false,
  ]);
  expect(shadowed.steps.map(({ limiter }) => limiter)).toEqual(['other', 'other']);
});

it('refuses only the share of keys for which the limit is enforced', async () => {
  const { admit, events } = setUp(rateLimit({ ...rate, plan: closed, share: 0 }));
  expect((await admit()).allowed).toBe(true);
  expect(events).toMatchObject([{ outcome: 'would-deny', reason: 'never', mode: 'shadow' }]);
});

it('never refuses what is critical for a capacity of 0, and counts it', async () => {
  const priority = ({ path }: LimitRequest) => (path === '/charges' ? 'critical' : undefined);
  const fleet = fleetShedder({ name: 'fleet', capacity: nobody, defaultCapacity: 5, priority });
  const { admit, steps } = setUp(fleet);
  expect(await admit('/charges')).toMatchObject({ allowed: true, pending: true });
  expect(steps).toHaveLength(1);
  expect((await admit('/')).binding?.reason).toBe('capacity');
});

describe('0 from the capacity of a fleet', () => {
  const fleet = fleetShedder({ name: 'fleet', capacity: nobody, defaultCapacity: 5 });

  it.each([true, false])(
    'is an overload of the service, which may end (at once: %s)',
    async (sync) => {
      const { admit, steps, events, faults } = setUp(fleet, {}, sync);
      const admission = await admit();
      expect(admission).toMatchObject({ allowed: false, status: 503, pending: false });
      expect(admission.binding?.reason).toBe('capacity');
      expect(new Map(admission.headers).get('Retry-After')).toMatch(/^[12]$/);
      expect(JSON.parse(admission.body)).toMatchObject({
        type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
        'violated-policies': ['fleet'],
      });
      expect(events).toMatchObject([{ outcome: 'denied', reason: 'capacity' }]);
      expect([steps, faults]).toEqual([[], []]);
    },
  );

  it('passes in shadow as would-deny', async () => {
    const { admit, steps, events } = setUp(fleet, { mode: 'shadow' });
    expect(await admit()).toMatchObject({ allowed: true, status: 200 });
    expect(events).toMatchObject([{ outcome: 'would-deny', reason: 'capacity' }]);
    expect(steps).toEqual([]);
  });

  it('is outranked by allow for its key only, not by limits set live', async () => {
    const control = memoryControl();
    control.set('fleet', { limits: { limit: 50 } }, { ...note, for: '1d' });
    const { admit } = setUp(fleet, { control });
    expect((await admit()).binding?.reason).toBe('capacity');
    control.allow('fleet', 'fleet', note);
    expect((await admit()).allowed).toBe(true);
  });
});

describe('a constant 0', () => {
  const note = { by: 'ada', because: 'a test', for: '1h' } as const;
  it.each<[string, () => unknown]>([
    ['limit', () => rateLimit({ limit: 0, window: '1m' })],
    ['limit', () => createLimiter({ limit: 0, window: '1m' })],
    ['limit', () => concurrencyLimit({ limit: 0 })],
    ['capacity', () => fleetShedder({ name: 'fleet', capacity: 0 })],
    ['limit', () => memoryControl().set('api', { limits: { limit: 0 } }, note)],
  ])('as %s is refused by a message that names block and mode', (option, make) => {
    expect(make).toThrow(`${option} must be an integer from 1 to 1,000,000,000`);
    expect(make).toThrow("got 0: to reject a key use block, to turn a limit off use mode: 'off'");
    expect(make).toThrow('SPW_LIMIT_INVALID');
  });
});
