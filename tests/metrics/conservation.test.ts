/** No request is lost or counted twice: at each limiter the outcomes add up to the requests, and agree with the statuses. */

import {
  type Admission,
  type Clock,
  type Control,
  concurrencyLimit,
  createGuard,
  type DecisionEvent,
  fleetShedder,
  type GuardOptions,
  type Limiter,
  type Mode,
  memoryStore,
  type OnStoreError,
  rateLimit,
  type Store,
  workerShedder,
} from '@spillway/core';
import { Tally } from '@spillway/core/adapter';
import { liveControl } from '@spillway/core/control';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FlakyStore, request } from './story.js';

interface Arrival {
  readonly path: '/' | '/skipped' | '/throws';
  readonly key: string;
  readonly away: boolean;
  readonly release: boolean;
}

const modes = fc.constantFrom<Mode>('enforce', 'shadow', 'off');
const arrivals = fc.array(
  fc.record<Arrival>({
    path: fc.constantFrom('/', '/', '/', '/skipped', '/throws'),
    key: fc.constantFrom('ada', 'bob', 'blocked', 'allowed'),
    away: fc.boolean(),
    release: fc.boolean(),
  }),
  { minLength: 1, maxLength: 60 },
);
const setting = fc.record({
  modes: fc.tuple(modes, modes, modes, modes, modes),
  guardMode: fc.constantFrom<Mode>('enforce', 'enforce', 'shadow', 'off'),
  share: fc.constantFrom(0, 0.5, 1),
  onStoreError: fc.constantFrom<OnStoreError>('allow', 'deny', 'local'),
  own: fc.constantFrom<OnStoreError | undefined>(undefined, 'allow', 'deny', 'local'),
  load: fc.constantFrom(0, 3),
  store: fc.constantFrom('memory', 'failing', 'breaking'),
});
type Setting = typeof setting extends fc.Arbitrary<infer Value> ? Value : never;

/** Blocks one key and allows another. */
const control: Control = liveControl({
  settingsOf: () => undefined,
  overrideOf: (_limiter, key) =>
    key === 'blocked' || key === 'allowed'
      ? { verdict: key === 'blocked' ? 'block' : 'allow', endsInMs: 1000 }
      : undefined,
});

function limitersOf(
  { modes: [a, b, c, d, e], share, own, load }: Setting,
  clock: Clock,
): Limiter[] {
  const signal = { name: 'load', read: () => ({ value: load, ageMs: 0 }) };
  const key = (r: { header(name: string): string | undefined }) => r.header('x-key');
  const policy = own && { onStoreError: own };
  return [
    workerShedder({
      name: 'workers',
      mode: a,
      signal,
      brake: { signal },
      clock,
      random: () => 0.1,
    }),
    fleetShedder({ name: 'fleet', mode: b, capacity: 6, reserve: 0.2, ...policy }),
    concurrencyLimit({ name: 'at-once', mode: c, limit: 1, key }),
    rateLimit({ name: 'rate', mode: d, limit: 2, window: '1h', key, share, ...policy }),
    {
      kind: 'local',
      name: 'own',
      mode: e,
      decide: ({ path }) => {
        if (path === '/throws') throw new Error('mine');
        const unknown = { used: Number.NaN, remaining: Number.NaN, resetMs: Number.NaN };
        const rest = { cost: 1, retryAfterMs: 0, ...unknown };
        return { limiter: 'own', allowed: true, outcome: 'allowed', reason: null, ...rest };
      },
    },
  ];
}

async function run(settings: Setting, traffic: readonly Arrival[]) {
  const { guardMode, onStoreError, store: kind } = settings;
  const flaky = kind === 'memory' ? undefined : remoteStore(new FlakyStore());
  const store: Store = flaky ?? memoryStore();
  const events: DecisionEvent[] = [];
  const tally = new Tally();
  const clock = new ManualClock();
  const limiters = limitersOf(settings, clock);
  const options: GuardOptions = {
    store,
    onStoreError,
    mode: guardMode,
    control,
    breaker: kind === 'breaking' ? { failures: 2, probeEvery: '1ms' } : false,
    logger: false,
    skip: ({ path }) => path === '/skipped',
    onDecision: (event) => events.push(event),
    observers: [tally],
  };
  const guard = createGuard(limiters, options);
  const admissions: Admission[] = [];
  for (const { path, key, away, release } of traffic) {
    if (flaky) flaky.away = away;
    clock.advance('1s'); // shedders measure over time
    const header = (name: string) => (name === 'x-key' ? key : undefined);
    const admission = await guard.admit({ ...request(path), header });
    admissions.push(admission);
    if (release) await admission.release({ status: admission.status });
  }
  await guard.close();
  return { limiters, events, tally, admissions };
}

/** How often each outcome was counted for a limiter. */
function outcomesOf(tally: Tally, limiter: string): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { labels, value } of tally.decisions()) {
    if (labels.limiter === limiter) sums[labels.outcome] = (sums[labels.outcome] ?? 0) + value;
  }
  return sums;
}

const OUTCOMES = ['allowed', 'denied', 'would-deny', 'skipped', 'error'];

describe('under any traffic', () => {
  it('allowed + denied + would-deny + skipped + error = requests, at each limiter', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(setting, arrivals, async (settings, traffic) => {
        const { limiters, tally } = await run(settings, traffic);
        for (const { name } of limiters) {
          const outcomes = outcomesOf(tally, name);
          for (const outcome of Object.keys(outcomes)) seen.add(`${name} ${outcome}`);
          expect(OUTCOMES).toEqual(expect.arrayContaining(Object.keys(outcomes)));
          const sum = Object.values(outcomes).reduce((total, count) => total + count, 0);
          expect(sum, `${name}: ${JSON.stringify(outcomes)}`).toBe(traffic.length);
        }
      }),
      { numRuns: 400, seed: 20_260_101 },
    );
    // The traffic covered every outcome that a limiter can have.
    for (const name of ['fleet', 'at-once', 'rate']) {
      for (const outcome of OUTCOMES) expect(seen).toContain(`${name} ${outcome}`);
    }
    for (const outcome of ['allowed', 'denied', 'would-deny', 'skipped']) {
      expect(seen).toContain(`workers ${outcome}`);
    }
  });

  it('a request is refused exactly if a decision refused it, with the status of its reason', async () => {
    const statuses = new Set<number>();
    await fc.assert(
      fc.asyncProperty(setting, arrivals, async (settings, traffic) => {
        const { limiters, events, admissions } = await run(settings, traffic);
        expect(events).toHaveLength(limiters.length * traffic.length);
        admissions.forEach((admission, index) => {
          const own = events.slice(index * limiters.length, (index + 1) * limiters.length);
          expect(own.map(({ limiter }) => limiter)).toEqual(limiters.map(({ name }) => name));
          const refusals = own.filter(({ allowed }) => !allowed);
          expect(admission.allowed).toBe(refusals.length === 0);
          expect(statusesOf(refusals)).toContain(admission.status);
          statuses.add(admission.status);
        });
      }),
      { numRuns: 300, seed: 20_260_102 },
    );
    expect([...statuses].sort()).toEqual([200, 403, 429, 503]);
  });

  it('a limiter has as many errors as times that its store failed', async () => {
    await fc.assert(
      fc.asyncProperty(setting, arrivals, async (settings, traffic) => {
        const { limiters, tally } = await run(settings, traffic);
        const failures = tally.faults().filter(({ labels }) => labels.source === 'store');
        for (const { name } of limiters) {
          const failed = failures.find(({ labels }) => labels.limiter === name)?.value ?? 0;
          expect(outcomesOf(tally, name)['error'] ?? 0, name).toBe(failed);
        }
      }),
      { numRuns: 200, seed: 20_260_104 },
    );
  });

  it('a decision has a reason exactly if it refused, or would have', async () => {
    await fc.assert(
      fc.asyncProperty(setting, arrivals, async (settings, traffic) => {
        const { events } = await run(settings, traffic);
        for (const { outcome, reason, allowed, mode } of events) {
          if (outcome === 'denied') expect(allowed).toBe(false);
          if (outcome === 'denied' || outcome === 'would-deny') expect(reason).not.toBeNull();
          if (outcome === 'allowed' || outcome === 'skipped') expect(reason).toBeNull();
          if (outcome === 'error' && mode === 'enforce') expect(reason === null).toBe(allowed);
        }
      }),
      { numRuns: 200, seed: 20_260_103 },
    );
  });
});

/** The possible statuses: if limits of the caller reject, that of the one with the longest wait; otherwise 503. */
function statusesOf(refusals: readonly DecisionEvent[]): readonly number[] {
  if (refusals.length === 0) return [200];
  const own = refusals.filter(
    ({ reason }) => reason === 'rate' || reason === 'concurrency' || reason === 'blocked',
  );
  const longestMs = Math.max(...own.map(({ retryAfterMs }) => retryAfterMs));
  const longest = own.filter(({ retryAfterMs }) => retryAfterMs === longestMs);
  return own.length === 0 ? [503] : longest.map(({ reason }) => (reason === 'blocked' ? 403 : 429));
}
