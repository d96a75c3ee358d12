/** Without a store, a limiter object is one limit wherever it is used, as with Redis. Two objects are two limits. */

import {
  type Admission,
  concurrencyLimit,
  createGuard,
  createLimiter,
  type DecisionEvent,
  fleetShedder,
  type LimitRequest,
  rateLimit,
  type StoredLimiter,
} from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { spillway } from '@spillway/express';
import express from 'express';
import { serveListener } from 'spillway-testkit/http';
import { describe, expect, it } from 'vitest';

const request: LimitRequest = {
  method: 'GET',
  path: '/',
  clientIp: '203.0.113.7',
  header: () => undefined,
  raw: undefined,
};

const admit = (guard: ReturnType<typeof createGuard>) => guard.admit(request) as Admission;
const three = { name: 'three', limit: 3, window: '1h' } as const;

it.each([
  ['with a name', three],
  ['without one', { limit: 3, window: '1h' } as const],
])('one object %s on two routes is one limit', async (_, options) => {
  const limiter = rateLimit<express.Request>(options);
  const app = express();
  app.get('/a', spillway(limiter), (_req, res) => void res.end());
  app.get('/b', spillway(limiter), (_req, res) => void res.end());
  const { get } = await serveListener(app);
  const statuses = [];
  for (const path of ['/a', '/b', '/a', '/b', '/a']) statuses.push((await get(path)).status);
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
});

it('one object under two adapters is one limit', async () => {
  const limiter = rateLimit({ ...three, key: 'all' });
  const limits = fetchGuard<Request>(limiter);
  const ask = async () => (await limits.check(new Request('http://a.example'))).admission.allowed;
  expect([await ask(), await ask(), admit(createGuard(limiter)).allowed, await ask()]).toEqual([
    true,
    true,
    true,
    false,
  ]);
});

it('two objects of one name are two limits, each called by its name', () => {
  const events: DecisionEvent[] = [];
  const make = () =>
    createGuard([rateLimit(three), concurrencyLimit({ name: 'at-once', limit: 9 })], {
      onDecision: (event) => events.push(event),
    });
  for (const guard of [make(), make()]) {
    const admissions = [1, 2, 3, 4].map(() => admit(guard));
    expect(admissions.map(({ allowed }) => allowed)).toEqual([true, true, true, false]);
    expect(admissions[0]?.headers).toContainEqual([
      'RateLimit-Policy',
      '"three";q=3;w=3600, "at-once";q=9;qu="concurrent-requests"',
    ]);
    expect(admissions[3]?.binding?.limiter).toBe('three');
    expect(JSON.parse(admissions[3]?.body ?? '')['violated-policies']).toEqual(['three']);
    for (const admission of admissions) admission.release({});
  }
  expect(new Set(events.map(({ limiter }) => limiter))).toEqual(new Set(['three', 'at-once']));
});

it('other numbers may have the same name where there is no store', () => {
  expect(admit(createGuard(rateLimit(three))).allowed).toBe(true);
  expect(admit(createGuard(rateLimit({ ...three, limit: 9 }))).allowed).toBe(true);
});

it('permits of one object are shared by its guards, and each guard gives back its own', async () => {
  const limiter = concurrencyLimit({ name: 'at-once', limit: 2 });
  const [one, other] = [createGuard(limiter), createGuard(limiter)];
  const held = admit(one);
  admit(other);
  expect(admit(one).allowed).toBe(false);
  expect([one.inProgress, other.inProgress]).toEqual([1, 1]);
  await other.close();
  expect(admit(one).allowed).toBe(true);
  expect(admit(one).allowed).toBe(false);
  held.release({});
  expect(admit(other).allowed).toBe(true);
});

it('a fleet is that of its object, and names no limiter that it is not', () => {
  const fleet = () => fleetShedder({ name: 'fleet', capacity: 1, reserve: 0 });
  const [one, other] = [createGuard(fleet()), createGuard(fleet())];
  expect([admit(one), admit(one), admit(other)].map(({ allowed }) => allowed)).toEqual([
    true,
    false,
    true,
  ]);
  expect(admit(one).binding?.limiter).toBe('fleet');
});

it('refunds are of the count that was charged', () => {
  const limiter = rateLimit({ ...three, limit: 1, refundIf: (_, { status }) => status === 200 });
  const [one, other] = [createGuard(limiter), createGuard(limiter)];
  const first = admit(one);
  expect(admit(other).allowed).toBe(false);
  first.release({ status: 200 });
  expect(admit(other).allowed).toBe(true);
});

describe('createLimiter without a store', () => {
  it('counts apart from every other of its name, and refunds only its own decisions', () => {
    const [one, other] = [createLimiter(three), createLimiter(three)];
    const decision = one.consume('ada', { cost: 3 });
    expect(decision).toMatchObject({ limiter: 'three', allowed: true, remaining: 0 });
    expect(other.consume('ada').remaining).toBe(2);
    expect(other.refund(decision)).toBe(false);
    expect(one.peek('ada').remaining).toBe(0);
    expect(one.refund(decision)).toBe(true);
    expect(one.peek('ada').remaining).toBe(3);
    expect(other.peek('ada').remaining).toBe(2);
  });
});

it("a limiter of one's own counts by its object too, though it writes its name into steps", () => {
  const made = (): StoredLimiter => {
    const { rule, step, decide } = rateLimit(three) as StoredLimiter;
    const inner = rateLimit(three);
    return {
      kind: 'stored',
      name: 'own',
      mode: 'enforce',
      rule,
      named: true,
      step: (of, binding, context) => ({
        ...step.call(inner, of, binding, context),
        limiter: 'own',
      }),
      decide: (asked, answer) => ({
        ...decide.call(inner, asked, answer),
        limiter: asked.limiter,
      }),
    };
  };
  const [one, other] = [made(), made()];
  const guards = [createGuard(one), createGuard(one), createGuard(other)];
  const admissions = guards.flatMap((guard) => [admit(guard), admit(guard)]);
  expect(admissions.map(({ allowed }) => allowed)).toEqual([true, true, true, false, true, true]);
  expect(admissions.map(({ decisions }) => decisions[0]?.limiter)).toEqual(Array(6).fill('own'));
});
