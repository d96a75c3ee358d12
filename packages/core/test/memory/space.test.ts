/** How much memory counts take, measured: docs/benchmark-tables.md has it for a million keys. */

import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  cached,
  createLimiter,
  idempotency,
  lockFor,
  memoryStore,
  type Plan,
  type Step,
} from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { makeDistinctRule, makeRule } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { expect, it } from 'vitest';

const HOUR = 3_600_000_000;
/** 0.71 of the slots of their table. A table that has just grown is at least half full. */
const KEYS = 140_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function bytesHeld(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

it.each([
  ['token-bucket', HOUR, 1, 1, 32],
  ['fixed-window', HOUR, 1, 1, 48],
  ['sliding-window-counter', HOUR, 1, 1, 48],
  ['sliding-window-log', HOUR, 1, 1, 48],
  ['sliding-window-log', HOUR, 10, 1, 120],
  ['sliding-window-log', HOUR, 10, 5, 120],
  ['sliding-window-log', 400 * 24 * HOUR, 10, 1, 120],
] as const)('a %s of %i us with %i entries of %i takes at most %i bytes', (...row) => {
  const [algorithm, windowUs, entries, cost, most] = row;
  const clock = new ManualClock();
  const rule = makeRule(algorithm, 1_000_000, windowUs);
  const step: Step = { op: 'take', limiter: 'a', key: '', rule, cost, binding: true };
  const before = bytesHeld();
  const store = memoryStore({ clock, maxEntries: 100_000_000 });
  // In rounds, so that each key outgrows its block when all others do.
  for (let round = 0; round < entries; round += 1) {
    clock.advance(1);
    for (let i = 0; i < KEYS; i += 1) store.apply([{ ...step, key: `key ${i}` }]);
  }
  expect((bytesHeld() - before) / KEYS).toBeLessThan(most);
  expect(store.size).toBe(KEYS * (algorithm === 'sliding-window-log' ? entries : 1));
});

it('a caller of a limit with a penalty takes at most 220 bytes', () => {
  const store = memoryStore({ clock: new ManualClock(), maxEntries: 100_000_000 });
  const penalty = lockFor(['1d']);
  const limiter = createLimiter({ name: 'logins', limit: 5, window: '1h', penalty }, { store });
  const before = bytesHeld();
  for (let i = 0; i < KEYS; i += 1) limiter.consume(`key ${i}`);
  expect((bytesHeld() - before) / KEYS).toBeLessThan(220);
  expect(store.size).toBe(KEYS);
});

it.each([
  [1, 230, 50_000],
  [10, 480, 20_000],
  [100, 2_700, 5_000],
])('%i different things of a key take at most %i bytes', (things, most, keys) => {
  const clock = new ManualClock();
  const rule = makeDistinctRule(1_000, HOUR);
  const step: Step = { op: 'take', limiter: 'a', key: '', rule, cost: 1, binding: true };
  const before = bytesHeld();
  const store = memoryStore({ clock, maxEntries: 100_000_000 });
  for (let round = 0; round < things; round += 1) {
    clock.advance(1);
    const items = [((round * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, '0').repeat(4)];
    for (let i = 0; i < keys; i += 1) store.apply([{ ...step, key: `key ${i}`, items }]);
  }
  const bytes = (bytesHeld() - before) / keys;
  console.info(`${things} different things: ${Math.round(bytes)} bytes per key`);
  expect(bytes).toBeLessThan(most);
  expect(store.size).toBe(keys * things);
});

it('a claim of an idempotency key takes about 900 bytes, without its answer', async () => {
  const claims = 10_000;
  const store = memoryStore({ clock: new ManualClock(), valueBytes: 1 }); // keeps no answer
  const once = idempotency<Request>({ scope: ({ raw }) => raw.headers.get('x-user') ?? undefined });
  const charge = fetchGuard(once, { store, logger: false }).wrap(async (request: Request) => {
    await request.text();
    return new Response(null, { status: 201 });
  });
  const claim = async (at: number): Promise<void> => {
    const headers = { 'x-user': `user-${at % 1_000}`, 'idempotency-key': randomUUID() };
    await charge(new Request('http://localhost/', { method: 'POST', body: `${at}`, headers }));
  };
  const collected = async (): Promise<number> => {
    // Requests and responses are freed only after their streams.
    for (let i = 0; i < 3; i += 1) await new Promise((resolve) => setImmediate(resolve));
    return bytesHeld();
  };
  for (let i = 0; i < 3_000; i += 1) await claim(i);
  const before = await collected();
  for (let i = 0; i < claims; i += 1) await claim(i);
  const each = ((await collected()) - before) / claims;
  expect(store.size).toBe(claims + 3_000);
  expect(each).toBeGreaterThan(500);
  expect(each).toBeLessThan(1_300);
});

it('keeps nothing for long logs that are gone', () => {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const rule = makeRule('sliding-window-log', 1_000_000, HOUR);
  const step: Step = { op: 'take', limiter: 'a', key: 'ada', rule, cost: 1, binding: true };
  const comeAndGo = (times: number): void => {
    for (let i = 0; i < times; i += 1) {
      for (let entry = 0; entry < 260; entry += 1) {
        clock.setUs(clock.nowUs() + 1);
        store.apply([step]);
      }
      store.apply([{ ...step, op: 'reset' }]);
    }
  };
  comeAndGo(2_000);
  const before = bytesHeld();
  comeAndGo(20_000);
  expect(bytesHeld() - before).toBeLessThan(80_000);
});

it('gives back most of the blocks of logs that have become short', () => {
  const keys = 10_000;
  const clock = new ManualClock();
  const rule = makeRule('sliding-window-log', 1_000_000, HOUR);
  const before = bytesHeld();
  const store = memoryStore({ clock });
  const takeAll = (): void => {
    clock.advance(1);
    for (let i = 0; i < keys; i += 1) {
      const key = `key ${i}`;
      store.apply([{ op: 'take', limiter: 'a', key, rule, cost: 1, binding: true }]);
    }
  };
  for (let round = 0; round < 60; round += 1) takeAll();
  expect((bytesHeld() - before) / keys).toBeGreaterThan(400);
  clock.setUs(clock.nowUs() + HOUR - 3_000);
  takeAll();
  expect(store.size).toBe(3 * keys);
  expect((bytesHeld() - before) / keys).toBeLessThan(300);
});

it('the plans of 10,000 tenants, cached and used, take about 3 MB', async () => {
  const tenants = Array.from({ length: 10_000 }, () => randomUUID());
  const limiter = createLimiter({ name: 'api', limit: 10, window: '1m' });
  for (const tenant of tenants) limiter.consume(tenant);
  const before = bytesHeld();
  // Like a database: an object for each tenant, and some numbers for one tenant only.
  const load = async (tenant: string): Promise<Plan> => {
    return { name: 'paid', limit: 100 + (Number.parseInt(tenant.slice(0, 2), 16) % 50) };
  };
  const planOf = cached(load, { ttl: '1h' });
  await Promise.all(tenants.map((tenant) => planOf(tenant)));
  for (const tenant of tenants) limiter.consume(tenant, { plan: (await planOf(tenant)) ?? null });
  const held = bytesHeld() - before;
  expect(await planOf(tenants[0] ?? '')).toMatchObject({ name: 'paid' });
  expect(held).toBeGreaterThan(1_500_000);
  expect(held).toBeLessThan(5_000_000);
});
