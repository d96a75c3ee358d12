/** How limiters learn of the end of a request, and what they give back then. */

import {
  concurrencyLimit,
  createGuard,
  type Decision,
  type LimiterTurn,
  type LocalLimiter,
  memoryStore,
  type RequestOutcome,
  rateLimit,
  type Store,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { setUp, two } from './guard-set-up.js';

const passing: Decision = {
  limiter: 'own',
  allowed: true,
  outcome: 'allowed',
  reason: null,
  cost: 1,
  used: Number.NaN,
  remaining: Number.NaN,
  retryAfterMs: 0,
  resetMs: Number.NaN,
};

/** A local limiter that holds a permit for each request, and records the calls of its `finish`. */
function holding(decide: () => Decision = () => passing, mode: LocalLimiter['mode'] = 'enforce') {
  const heard: { turn: LimiterTurn; outcome: RequestOutcome }[] = [];
  const limiter: LocalLimiter = {
    kind: 'local',
    name: 'own',
    mode,
    decide,
    finish: (turn, outcome) => void heard.push({ turn, outcome }),
  };
  return { limiter, heard };
}

describe('a local limiter with finish', () => {
  it('hears once how each request that passed ended, and how long it took', () => {
    const clock = new ManualClock();
    const { limiter, heard } = holding();
    const guard = createGuard(limiter, { clock });
    const asked = request();
    const admission = guard.admit(asked);
    if (admission instanceof Promise) throw new Error('a promise in memory');
    expect(admission.pending).toBe(true);
    clock.advance('1500ms');
    admission.release({ status: 201, aborted: false });
    admission.release({ status: 500, aborted: true });
    expect(heard).toEqual([
      {
        turn: expect.objectContaining({ request: asked, mode: 'enforce', decision: passing }),
        outcome: { status: 201, aborted: false, durationMs: 1_500 },
      },
    ]);
  });

  it('hears at once, with the status of the refusal, that another limiter refused', () => {
    const { limiter, heard } = holding();
    const { admit } = setUp([limiter, rateLimit({ ...two, limit: 1 })]);
    admit();
    const refusal = admit();
    expect(heard).toMatchObject([{ outcome: { status: 429, rejected: true } }]);
    expect(refusal.pending).toBe(false);
    refusal.release({ status: 429 });
    expect(heard).toHaveLength(1);
  });

  it('hears nothing of what it refused, nor of what it was not asked about', () => {
    const refusing = holding(() => ({ ...passing, allowed: false, outcome: 'denied' }));
    setUp(refusing.limiter).admit().release({ status: 503 });
    const off = holding(undefined, 'off');
    setUp(off.limiter).admit().release({ status: 200 });
    const skipped = holding();
    setUp(skipped.limiter, { skip: () => true })
      .admit()
      .release({ status: 200 });
    expect([refusing.heard, off.heard, skipped.heard]).toEqual([[], [], []]);
  });

  it('hears in shadow the end of what it would have refused: it ran', () => {
    const { limiter, heard } = holding(
      () => ({ ...passing, allowed: false, outcome: 'denied' }),
      'shadow',
    );
    setUp(limiter).admit().release({ status: 200 });
    expect(heard).toMatchObject([
      { turn: { mode: 'shadow', decision: { outcome: 'would-deny' } } },
    ]);
  });

  it('that throws, or rejects, makes a fault and nothing else', async () => {
    for (const finish of [
      () => {
        throw new Error('bug');
      },
      () => Promise.reject(new Error('bug')),
    ]) {
      const { admit, faults } = setUp({ ...holding().limiter, finish });
      await admit().release({ status: 200 });
      expect(faults).toMatchObject([
        { limiter: 'own', source: 'finish', error: { message: 'bug' } },
      ]);
    }
  });
});

describe('a finish that answers what are no steps', () => {
  const junk = [7, true, 'abc', {}, [null], [{}]];
  const answers = [...junk, ...junk.map((value) => Promise.resolve(value))];

  it.each(answers)('is a fault, and the permit goes back: %s', async (answer) => {
    const { admit, faults } = setUp([
      concurrencyLimit({ name: 'permit', limit: 1 }),
      { ...holding().limiter, finish: () => answer as never },
    ]);
    await admit().release({ status: 200 });
    expect(faults).toMatchObject([{ limiter: 'own', source: 'finish' }]);
    expect(admit().allowed).toBe(true);
  });

  it.each([null, Promise.resolve(null)])('may answer %s for none', async (answer) => {
    const { admit, faults } = setUp({ ...holding().limiter, finish: () => answer as never });
    await admit().release({ status: 200 });
    expect(faults).toEqual([]);
  });
});

it('what ends together goes to the store in one call', async () => {
  const memory = memoryStore();
  const calls: string[][] = [];
  const store: Store = remoteStore({
    sync: false,
    apply: async (steps) => {
      calls.push(steps.map(({ op, limiter }) => `${op} ${limiter}`));
      return memory.apply(steps);
    },
  });
  const refundIf = () => true;
  const guard = createGuard(
    [
      concurrencyLimit({ name: 'permit', limit: 2 }),
      rateLimit({ ...two, name: 'a', refundIf }),
      rateLimit({ ...two, name: 'b', refundIf: async () => true }),
      rateLimit({ ...two, name: 'c', refundIf: async () => true }),
    ],
    { store },
  );
  const admission = await guard.admit(request());
  calls.length = 0;
  await admission.release({ status: 200 });
  expect(calls).toEqual([
    ['put permit', 'put a'],
    ['put b', 'put c'],
  ]);
});

it('refundIf is told how long the request took', () => {
  const clock = new ManualClock();
  const seen: RequestOutcome[] = [];
  const refundIf = (_: unknown, outcome: RequestOutcome) => seen.push(outcome) > 9;
  const guard = createGuard(rateLimit({ ...two, refundIf }), { clock });
  const admission = guard.admit(request());
  if (admission instanceof Promise) throw new Error('a promise in memory');
  clock.advance('30ms');
  admission.release({ status: 200, aborted: false });
  expect(seen).toEqual([{ status: 200, aborted: false, durationMs: 30 }]);
});
