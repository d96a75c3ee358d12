/** Limiters whose rule has debt: in outages, from the denial cache, with plans and live settings. */

import {
  type Answer,
  createGuard,
  createLimiter,
  type Decision,
  memoryControl,
  memoryStore,
  type Plan,
  type RateAlgorithm,
  rateLimit,
  type Step,
  tokenBucket,
} from '@spillway/core';
import { remoteStore, withDebt } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';

/** A token bucket of 100 with a debt of 100. */
const algorithm: RateAlgorithm = {
  name: 'token-bucket',
  makeRule: (...numbers) => withDebt(tokenBucket.makeRule(...numbers), 100, 100),
};
const OPTIONS = { name: 'tokens', limit: 100, window: '1m', algorithm } as const;

const shown = ({ allowed, used, remaining, retryAfterMs }: Decision) => [
  allowed,
  used,
  remaining,
  retryAfterMs,
];

function far() {
  const clock = new ManualClock();
  const shared = memoryStore({ clock });
  const state = { asked: 0, down: false };
  const store = remoteStore({
    sync: false as const,
    testClock: clock,
    async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
      state.asked += 1;
      if (state.down) throw new Error('down');
      return shared.apply(steps);
    },
  });
  const settings = { store, clock, breaker: false, logger: false } as const;
  return { clock, state, settings };
}

describe('a key in debt', () => {
  it('is rejected from the denial cache with the wait of its debt, until it has recovered', async () => {
    const { clock, state, settings } = far();
    const limiter = createLimiter(OPTIONS, settings);
    await limiter.record('ada', { cost: 150 });
    await limiter.consume('ada');
    clock.advance('10s');
    const asked = state.asked;
    expect(shown(await limiter.consume('ada'))).toEqual([false, 134, 0, 20_600]);
    expect(state.asked).toBe(asked);
    clock.advance(20_600);
    expect(shown(await limiter.consume('ada'))).toEqual([true, 100, 0, 600]);
  });

  it('may be charged again after a settlement gave back, by the next call of the store', async () => {
    const { settings } = far();
    const limiter = createLimiter(OPTIONS, settings);
    const granted = await limiter.consume('ada', { cost: 90 });
    await limiter.record('ada', { cost: 20 });
    expect((await limiter.consume('ada')).allowed).toBe(false);
    expect(await limiter.refund(granted, { cost: 50 })).toBe(true);
    expect(shown(await limiter.consume('ada'))).toEqual([true, 61, 39, 0]);
  });

  it('is in debt in an outage too, and what was charged in the outage counts in this process', async () => {
    const { state, settings } = far();
    const limiter = createLimiter(OPTIONS, { ...settings, denialCache: false });
    await limiter.record('ada', { cost: 130 });
    state.down = true;
    expect(shown(await limiter.consume('ada'))).toEqual([false, 130, 0, 18_600]);
    await limiter.record('ada', { cost: 500 });
    expect((await limiter.peek('ada')).used).toBe(200);
    state.down = false;
    expect((await limiter.peek('ada')).used).toBe(130);
  });

  it('is released by a reset', async () => {
    const { settings } = far();
    const limiter = createLimiter(OPTIONS, settings);
    await limiter.record('ada', { cost: 150 });
    await limiter.reset('ada');
    expect((await limiter.consume('ada', { cost: 100 })).allowed).toBe(true);
  });

  it('stays in debt under another limit, but not under another window', async () => {
    const control = memoryControl();
    const clock = new ManualClock();
    const limiter = createLimiter(OPTIONS, { store: memoryStore({ clock }), control });
    limiter.record('ada', { cost: 150 });
    const note = { by: 'ada', because: 'a test' };
    control.set('tokens', { limits: { limit: 200 } }, note);
    expect(shown(limiter.peek('ada'))).toEqual([false, 300, 0, 30_300]);
    control.set('tokens', { limits: { factor: 0.5 } }, note);
    expect(shown(limiter.peek('ada'))).toEqual([false, 75, 0, 31_200]);
    control.set('tokens', { limits: { limit: 100, window: '2m' } }, note);
    expect(limiter.peek('ada').used).toBe(0);
  });
});

describe('a plan of a bucket with debt', () => {
  async function planned(plan: Plan) {
    const faults: unknown[] = [];
    const limiter = rateLimit<{ plan: Plan }>({
      ...OPTIONS,
      key: () => 'ada',
      plan: ({ raw }) => raw.plan,
    });
    const guard = createGuard([limiter], {
      onFault: ({ error }) => void faults.push(String(error)),
    });
    const { decisions } = await guard.admit({ ...request(), raw: { plan } });
    return { faults, policy: decisions[0]?.policy };
  }

  it('may have another limit', async () => {
    const { faults, policy } = await planned({ limit: 500 });
    expect(faults).toEqual([]);
    expect(policy).toMatchObject({ limit: 500 });
  });

  it.each([{ window: '1h' }, { burst: 10 }] as const)(
    'may not have %o, which would end the debt: the declared numbers apply',
    async (numbers) => {
      const { faults, policy } = await planned({ limit: 500, ...numbers });
      expect(faults).toEqual([expect.stringContaining('plan must be without window and burst')]);
      expect(policy).toMatchObject({ limit: 100, windowMs: 60_000, burst: 100 });
    },
  );
});
