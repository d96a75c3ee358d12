/**
 * A guard and createLimiters share one engine: with the same input they make the same decisions, store calls and
 * reports.
 */

import {
  createGuard,
  createLimiters,
  type DecisionEvent,
  fixedWindow,
  type MemoryControl,
  memoryControl,
  memoryStore,
  type OverrideNote,
  rateLimit,
  rateLimitHeaders,
  type Step,
  type Store,
  tokenBucket,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { expect, it } from 'vitest';
import { pick, type Random, seeded } from './net/random.js';

const START_US = 1_767_225_600_000_000;
const note = { by: 'ada', because: 'a test', for: 'forever' } as const satisfies OverrideNote;

const users = { limit: 5, window: '10s', burst: 3, algorithm: tokenBucket } as const;
const tenants = { limit: 8, window: '1m', algorithm: fixedWindow } as const;

/** A store with a clock, which may be down, and the calls that it got. */
function storeBy(clock: ManualClock, isRemote: boolean) {
  const memory = memoryStore({ clock });
  const asked: string[] = [];
  const state = { isDown: false };
  const ask = (steps: readonly Step[]) => {
    asked.push(
      steps
        .map(({ op, limiter, key, cost, binding, rule }) =>
          [op, limiter, key, cost, binding, rule.limit].join(' '),
        )
        .join(', '),
    );
    if (state.isDown) throw new Error('down');
    return memory.apply(steps);
  };
  const store: Store = isRemote
    ? remoteStore({ sync: false, testClock: clock, apply: async (steps) => ask(steps) })
    : remoteStore({ sync: true, apply: ask });
  return { store, asked, state };
}

type Told = (limiter: string, key: string | undefined, mode: string, outcome: string) => void;

function told(events: string[]): { onDecision: (event: DecisionEvent, key?: string) => void } {
  const tell: Told = (...all) => events.push(all.join(' '));
  return {
    onDecision: ({ limiter, mode, outcome }, key) => tell(limiter, key, mode, outcome),
  };
}

function change(control: MemoryControl, limiter: 'user' | 'tenant', what: number, key: string) {
  const limits = [{ limit: 2 }, { factor: 2 }, { window: '5s' }] as const;
  if (what === 0) control.set(limiter, { mode: 'shadow' }, note);
  else if (what === 1) control.set(limiter, { mode: 'off' }, note);
  else if (what === 2) control.set(limiter, { share: 0.5 }, note);
  else if (what === 3) control.block(limiter, key, note);
  else if (what === 4) control.allow(limiter, key, note);
  else if (what === 5) control.limitKey(limiter, key, { limit: 1 }, note);
  else if (what <= 8) control.set(limiter, { limits: limits[what - 6] as object }, note);
  else if (what === 9) control.clearKey(limiter, key, note);
  else control.clear(limiter, note);
}

async function runBoth(random: Random, isRemote: boolean): Promise<void> {
  const clock = new ManualClock(START_US);
  const events = { guard: [] as string[], limiters: [] as string[] };
  const stores = { guard: storeBy(clock, isRemote), limiters: storeBy(clock, isRemote) };
  const controls = { guard: memoryControl({ clock }), limiters: memoryControl({ clock }) };
  const onStoreError = pick(random, ['local', 'allow', 'deny'] as const);
  const own = {
    user: { mode: pick(random, ['enforce', 'enforce', 'shadow'] as const), share: 0.7 },
    tenant: { mode: 'enforce', share: 1 },
  } as const;
  const common = { onStoreError, breaker: false, logger: false, clock } as const;
  const guard = createGuard(
    [
      rateLimit({
        name: 'user',
        ...users,
        ...own.user,
        key: (r) => r.header('user'),
        cost: costOf,
      }),
      rateLimit({ name: 'tenant', ...tenants, key: (r) => r.header('tenant') }),
    ],
    { ...common, ...told(events.guard), store: stores.guard.store, control: controls.guard },
  );
  const limiters = createLimiters(
    { user: { ...users, ...own.user }, tenant: tenants },
    {
      ...common,
      ...told(events.limiters),
      headers: rateLimitHeaders(),
      store: stores.limiters.store,
      control: controls.limiters,
    },
  );
  for (let at = 0; at < 60; at += 1) {
    const user = pick(random, ['ada', 'bob', 'eve']);
    const tenant = pick(random, ['acme', 'umbrella']);
    const what = random(20);
    if (what < 3) clock.advance(random(4_000));
    else if (what === 3) {
      for (const { state } of Object.values(stores)) state.isDown = !state.isDown;
    } else if (what < 7) {
      const [limiter, kind] = [pick(random, ['user', 'tenant'] as const), random(12)];
      const key = limiter === 'user' ? user : tenant;
      for (const control of Object.values(controls)) change(control, limiter, kind, key);
    } else {
      const cost = pick(random, [0, 1, 1, 1, 2, 4]);
      const headers = { user, tenant, cost: `${cost}` };
      const admission = await guard.admit(request({ headers }));
      const decided = await limiters.consume({ user, tenant }, { cost: { user: cost } });
      expect({ ...decided.decisions.user }).toEqual({ ...admission.decisions[0] });
      expect({ ...decided.decisions.tenant }).toEqual({ ...admission.decisions[1] });
      expect(decided.allowed).toBe(admission.allowed);
      const ofBody = ['Cache-Control', 'Content-Type'];
      expect(decided.headers).toEqual(admission.headers.filter(([name]) => !ofBody.includes(name)));
    }
    expect(stores.limiters.asked).toEqual(stores.guard.asked);
    expect(events.limiters).toEqual(events.guard);
  }
}

const costOf = (r: { header(name: string): string | undefined }): number =>
  Number(r.header('cost'));

it.each([
  ['a store that answers later', true],
  ['a store that answers at once', false],
])('over %s, that comes and goes, while operators change everything', async (_, isRemote) => {
  for (let seed = 0; seed < 60; seed += 1) await runBoth(seeded(seed), isRemote);
});
