/** The limiter over the platform's own: what it decides, and that it never delays requests for long. */

import { type ApproximateLimitOptions, approximateLimit } from '@spillway/cloudflare';
import {
  createGuard,
  type Fault,
  type Guard,
  type LimitRequest,
  memoryControl,
  memoryStore,
  rateLimit,
} from '@spillway/core';
import { fakeTime } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';

const request = (clientIp?: string): LimitRequest => ({
  method: 'GET',
  path: '/',
  clientIp,
  header: () => undefined,
  raw: undefined,
});

/** A binding that admits this many requests of each key. */
function bindingOf(limit: number) {
  const counts = new Map<string, number>();
  return {
    counts,
    limit: async ({ key }: { key: string }) => {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      return { success: (counts.get(key) ?? 0) <= limit };
    },
  };
}

function guardOf(options: Partial<ApproximateLimitOptions>) {
  const faults: Fault[] = [];
  const binding = bindingOf(1);
  const flood = approximateLimit({ name: 'flood', binding, limit: 1, period: 10, ...options });
  const api = rateLimit({ name: 'api', limit: 10, window: '1h' });
  const onFault = (fault: Fault) => void faults.push(fault);
  const control = memoryControl();
  const guard = createGuard([flood, api], { store: memoryStore(), onFault, control });
  return { guard, binding, faults, control };
}

describe('an approximate limit', () => {
  it('refuses without the store, for the period of the binding', async () => {
    const { guard, faults } = guardOf({});
    expect((await guard.admit(request('192.0.2.1'))).status).toBe(200);
    const refused = await guard.admit(request('192.0.2.1'));
    expect(refused.status).toBe(429);
    expect(refused.decisions).toMatchObject([
      { limiter: 'flood', outcome: 'denied', reason: 'rate', remaining: NaN, retryAfterMs: 10_000 },
      { limiter: 'api', outcome: 'skipped' },
    ]);
    expect(refused.decisions[0]?.policy).toBeUndefined();
    expect((await guard.admit(request('192.0.2.2'))).decisions[1]).toMatchObject({ remaining: 9 });
    expect(faults).toEqual([]);
  });

  it('tells the platform no key, and counts for each name and key apart', async () => {
    const { guard, binding } = guardOf({ key: ({ clientIp }) => `user ${clientIp}` });
    for (const address of ['192.0.2.1', '192.0.2.2']) await guard.admit(request(address));
    expect(binding.counts.size).toBe(2);
    for (const key of binding.counts.keys()) expect(key).toMatch(/^flood:[0-9a-f]{32}$/);
  });

  it('refuses nobody in shadow, and asks nothing when it is off', async () => {
    const shadow = guardOf({ mode: 'shadow' });
    await shadow.guard.admit(request('192.0.2.1'));
    const second = await shadow.guard.admit(request('192.0.2.1'));
    expect(second.status).toBe(200);
    expect(second.decisions).toMatchObject([
      { outcome: 'would-deny', allowed: true },
      { remaining: 8 },
    ]);
    const off = guardOf({ mode: 'off' });
    await off.guard.admit(request('192.0.2.1'));
    expect(off.binding.counts.size).toBe(0);
  });

  it.each(['flood', '*'])('follows modes that are set live for %s', async (limiter) => {
    const { guard, binding, control, faults } = guardOf({ mode: 'shadow' });
    const outcomes = async () => (await guard.admit(request('192.0.2.1'))).decisions[0]?.outcome;
    const note = { by: 'ada', because: 'a test' };
    expect([await outcomes(), await outcomes()]).toEqual(['allowed', 'would-deny']);
    control.set(limiter, { mode: 'enforce' }, note);
    expect(await outcomes()).toBe('denied');
    control.set(limiter, { mode: 'shadow' }, note);
    expect(await outcomes()).toBe('would-deny');
    const asked = [...binding.counts.values()];
    control.set(limiter, { mode: 'off' }, note);
    expect(await outcomes()).toBe('skipped');
    expect([...binding.counts.values()]).toEqual(asked);
    control.clear(limiter, note);
    expect(await outcomes()).toBe('would-deny');
    expect(faults).toEqual([]);
  });

  it.each([
    ['rejects', () => Promise.reject(new Error('mine'))],
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
    ['answers nothing', async () => undefined as never],
    ['answers without a verdict', async () => ({}) as never],
  ])('lets pass where the binding %s, and tells it', async (_, limit) => {
    const { guard, faults } = guardOf({ binding: { limit } });
    const { status, decisions } = await guard.admit(request('192.0.2.1'));
    expect(status).toBe(200);
    expect(decisions).toMatchObject([{ outcome: 'error', allowed: true }, { remaining: 9 }]);
    expect(faults).toMatchObject([{ limiter: 'flood', source: 'step' }]);
  });

  describe('whose binding hangs', () => {
    fakeTime();

    /** How many of several concurrent requests are decided at once. */
    async function decidedAtOnce(guard: Guard, requests: number): Promise<number> {
      let decided = 0;
      const count = ({ status }: { status: number }) => {
        expect(status).toBe(200);
        decided += 1;
      };
      for (let i = 0; i < requests; i += 1)
        void Promise.resolve(guard.admit(request(`192.0.2.${i}`))).then(count);
      await vi.advanceTimersByTimeAsync(0);
      const atOnce = decided;
      await vi.advanceTimersByTimeAsync(150);
      expect(decided).toBe(requests);
      return atOnce;
    }

    it('delays requests by a tenth of a second at most, and after five only one in a second', async () => {
      let hangs = true;
      const limit = () =>
        hangs ? new Promise<never>(() => {}) : Promise.resolve({ success: false });
      const { guard, faults } = guardOf({ binding: { limit } });
      expect(await decidedAtOnce(guard, 5)).toBe(0);
      expect(await decidedAtOnce(guard, 10)).toBe(10);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await decidedAtOnce(guard, 10)).toBe(9);
      expect(faults).toHaveLength(6);
      hangs = false;
      await vi.advanceTimersByTimeAsync(1_000);
      expect((await guard.admit(request('192.0.2.1'))).status).toBe(429);
      expect((await guard.admit(request('192.0.2.1'))).status).toBe(429);
    });
  });

  it('tells the adapter of an address that nobody knows', async () => {
    const told: boolean[] = [];
    const { guard } = guardOf({});
    const missesAddress = (enforced: boolean) => told.push(enforced) > 0;
    await guard.admit({ ...request(), missesAddress });
    expect(told).toContain(true);
  });

  it.each([
    ['no binding', { binding: undefined }, 'env.FLOOD, got undefined'],
    ['a period that the platform does not have', { period: 30 }, 'period must be 10 or 60, got 30'],
    ['no name', { name: undefined }, 'name must be a text'],
    ['no limit', { limit: 0 }, 'limit'],
    ['an unknown option', { window: '1m' }, 'window'],
  ])('throws for %s', (_, wrong, message) => {
    expect(() => guardOf(wrong as never)).toThrow(message);
  });
});
