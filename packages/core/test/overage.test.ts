/** Limits that count and admit what exceeds them, and statuses other than 429. */

import {
  type Admission,
  calendar,
  createLimiter,
  createLimiters,
  type Decision,
  fixedWindow,
  type LimiterOptions,
  memoryControl,
  memoryStore,
  rateLimit,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';
import { setUp } from './guard-set-up.js';

const NUMBERS = { name: 'api', limit: 3, overage: 'allow' } as const;

const WINDOWS = {
  calendar: { ...NUMBERS, window: calendar('month') },
  'fixed window': { ...NUMBERS, window: '1h', algorithm: fixedWindow },
  'anchored window': { ...NUMBERS, window: '1h', algorithm: fixedWindow, anchor: 'first-request' },
  'sliding window': { ...NUMBERS, window: '1h', algorithm: slidingWindow },
} satisfies Record<string, LimiterOptions>;

const shown = ({ allowed, outcome, over, used, remaining }: Decision) =>
  `${allowed} ${outcome} ${over} ${used} ${remaining}`;

function limiterOf(options: LimiterOptions) {
  const clock = new ManualClock(Date.UTC(2026, 10, 15) * 1000);
  return { clock, limiter: createLimiter(options, { store: memoryStore({ clock }) }) };
}

describe.each(Object.entries(WINDOWS))('overage in a %s', (_, options) => {
  it('counts on, admits, and says so', () => {
    const { limiter } = limiterOf(options);
    expect(shown(limiter.consume('ada', { cost: 3 }))).toBe('true allowed undefined 3 0');
    expect(shown(limiter.consume('ada'))).toBe('true allowed true 4 0');
    expect(shown(limiter.consume('ada', { cost: 1e9 }))).toBe('true allowed true 1000000004 0');
    expect(shown(limiter.peek('ada'))).toBe('true allowed true 1000000004 0');
    expect(shown(limiter.record('ada').binding)).toBe('true allowed true 1000000005 0');
  });

  it('tells the limit that was declared, and when the cost passes within it', () => {
    const { clock, limiter } = limiterOf(options);
    limiter.consume('ada', { cost: 3 });
    const { policy, retryAfterMs, resetMs } = limiter.consume('ada');
    expect(policy).toMatchObject({ limit: 3, burst: 3 });
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(resetMs);
    clock.advance(retryAfterMs);
    expect(limiter.consume('ada').over).toBeUndefined();
  });

  it('refunds, and shares its count with the limit without overage', () => {
    const { limiter } = limiterOf(options);
    limiter.consume('ada', { cost: 3 });
    expect(limiter.refund(limiter.consume('ada', { cost: 2 }))).toBe(true);
    expect(limiter.peek('ada').used).toBe(3);
    expect(limiterOf({ ...options, overage: undefined }).limiter.rule.code).toBe(limiter.rule.code);
  });
});

describe('overage of a plan that includes nothing', () => {
  const NOTHING = { plan: { limit: 0 } };

  it.each(Object.entries(WINDOWS))('counts every unit as over in a %s', (_, options) => {
    const { clock, limiter } = limiterOf(options);
    const first = limiter.consume('ada', { cost: 2, ...NOTHING });
    expect(shown(first)).toBe('true allowed true 2 0');
    expect(first.policy).toMatchObject({ limit: 0 });
    expect(shown(limiter.consume('ada', NOTHING))).toBe('true allowed true 3 0');
    expect(shown(limiter.peek('ada', NOTHING))).toBe('true allowed true 3 0');
    expect(shown(limiter.peek('ada'))).toBe('true allowed undefined 3 0');
    expect(limiter.refund(first)).toBe(true);
    expect(limiter.peek('ada', NOTHING).used).toBe(1);
    clock.advance('40d');
    expect(shown(limiter.peek('ada', NOTHING))).toBe('true allowed undefined 0 0');
  });

  it('admits all in a token bucket, which counts two units at most', () => {
    const { limiter } = limiterOf({ ...NUMBERS, window: '3s' });
    const take = () => shown(limiter.consume('ada', NOTHING));
    expect([take(), take(), take()]).toEqual([
      'true allowed true 1 0',
      'true allowed true 2 0',
      'true allowed true 2 0',
    ]);
  });

  it('is not changed by live numbers', () => {
    const control = memoryControl();
    const limiter = createLimiter({ ...NUMBERS, window: calendar('day') }, { control });
    const note = { by: 'ada', because: 'a test' };
    control.set('api', { limits: { factor: 2 } }, note);
    expect(shown(limiter.consume('ada', NOTHING))).toBe('true allowed true 1 0');
  });

  it('passes in a guard, and the headers have nothing left', () => {
    const { admit, events } = setUp(
      rateLimit({ ...NUMBERS, window: calendar('day'), plan: () => NOTHING.plan }),
    );
    const { allowed, decisions, headers } = admit();
    expect([allowed, decisions[0]?.over, events[0]?.over]).toEqual([true, true, true]);
    expect(Object.fromEntries(headers).RateLimit).toMatch(/^"api";r=0;t=\d+$/);
  });

  it('is counted here in an outage', async () => {
    const apply = async () => {
      throw new Error('down');
    };
    const store = remoteStore({ sync: false as const, apply });
    const options = { ...NUMBERS, window: calendar('day') };
    const local = createLimiter(options, { store, logger: false, localShare: 0.5 });
    await local.consume('ada', NOTHING);
    expect(await local.consume('ada', NOTHING)).toMatchObject({
      allowed: true,
      over: true,
      used: 2,
    });
  });
});

describe('overage in a token bucket', () => {
  it('counts one limit beyond the burst, and admits everything', () => {
    const { clock, limiter } = limiterOf({ ...NUMBERS, window: '3s', burst: 5 });
    expect(shown(limiter.consume('ada', { cost: 5 }))).toBe('true allowed undefined 5 0');
    const over = limiter.consume('ada', { cost: 2 });
    expect(shown(over)).toBe('true allowed true 7 0');
    expect(over.retryAfterMs).toBe(4_000);
    expect(shown(limiter.consume('ada', { cost: 2 }))).toBe('true allowed true 7 0');
    expect(shown(limiter.consume('ada'))).toBe('true allowed true 8 0');
    expect(shown(limiter.consume('ada'))).toBe('true allowed true 8 0');
    clock.advance('3s');
    expect(shown(limiter.peek('ada'))).toBe('true allowed undefined 5 0');
    clock.advance('4s');
    expect(shown(limiter.consume('ada'))).toBe('true allowed undefined 2 3');
  });

  it('says so of a cost that is too large to be counted', () => {
    const { limiter } = limiterOf({ ...NUMBERS, window: '3s' });
    expect(shown(limiter.peek('ada', { cost: 7 }))).toBe('true allowed true 0 3');
    expect(shown(limiter.consume('ada', { cost: 7 }))).toBe('true allowed true 0 3');
    expect(shown(limiter.consume('ada', { cost: 6 }))).toBe('true allowed true 6 0');
  });

  it.each(['1s', '3s'] as const)('always has room for a cost of 0, by %s', (window) => {
    const { limiter } = limiterOf({ ...NUMBERS, window, algorithm: tokenBucket });
    limiter.consume('ada', { cost: 5 });
    expect(limiter.consume('ada', { cost: 0 })).toMatchObject({ used: 5, retryAfterMs: 0 });
    expect(limiter.peek('ada', { cost: 0 })).toMatchObject({ used: 5, retryAfterMs: 0 });
  });

  it('is exact with fractions', () => {
    const { limiter } = limiterOf({ ...NUMBERS, window: '1s', algorithm: tokenBucket });
    limiter.consume('ada', { cost: 3 });
    expect(limiter.consume('ada', { cost: 3 })).toMatchObject({
      over: true,
      used: 6,
      retryAfterMs: 2_000,
    });
  });
});

describe('overage', () => {
  it('is none of a sliding log, and has one word', () => {
    const limit = (more: object) => () => rateLimit({ ...NUMBERS, window: '1h', ...more });
    expect(limit({ algorithm: slidingLog })).toThrow(
      'overage must be left out for sliding-window-log, got "allow"',
    );
    expect(limit({ overage: true })).toThrow('overage must be one of allow, got true');
  });

  it('charges nothing beside a limit that rejects', () => {
    const limits = createLimiters({
      quota: { limit: 1, window: calendar('month'), overage: 'allow' },
      rate: { limit: 2, window: '1m' },
    });
    const keys = { quota: 'ada', rate: 'ada' };
    limits.consume(keys);
    expect(limits.consume(keys).decisions.quota).toMatchObject({ over: true, used: 2 });
    expect(limits.consume(keys).binding.limiter).toBe('rate');
    expect(limits.peek({ quota: 'ada' }).decisions.quota.used).toBe(2);
  });

  it('follows live limits and plans, and blocked keys are still rejected', () => {
    const control = memoryControl();
    const limiter = createLimiter({ ...NUMBERS, window: calendar('day') }, { control });
    const note = { by: 'ada', because: 'a test' };
    limiter.consume('ada', { cost: 3 });
    control.set('api', { limits: { limit: 2 } }, note);
    expect(limiter.peek('ada').over).toBe(true);
    expect(limiter.peek('ada', { plan: { limit: 10 } }).over).toBeUndefined();
    control.block('api', 'ada', note);
    expect(limiter.consume('ada')).toMatchObject({ allowed: false, reason: 'blocked' });
  });

  it('rejects nobody in an outage, whatever onStoreError says, and counts here', async () => {
    const apply = async () => {
      throw new Error('down');
    };
    const store = remoteStore({ sync: false as const, apply });
    const options = { ...NUMBERS, limit: 1, window: calendar('day') };
    const local = createLimiter(options, { store, logger: false });
    await local.consume('ada');
    expect(await local.consume('ada')).toMatchObject({ allowed: true, over: true, used: 2 });
    const settings = { store, logger: false, onStoreError: 'deny' } as const;
    const denying = createLimiter({ ...options, name: 'other' }, settings);
    expect(await denying.consume('ada')).toMatchObject({ allowed: true, outcome: 'error' });
  });

  it('is told in headers as nothing left until the end of the period', () => {
    const { admit } = setUp(rateLimit({ ...NUMBERS, limit: 1, window: calendar('day') }));
    const headers = (admission: Admission) => Object.fromEntries(admission.headers);
    admit();
    const over = admit();
    expect(over.allowed).toBe(true);
    expect(headers(over).RateLimit).toMatch(/^"api";r=0;t=\d+$/);
    expect(headers(over)['RateLimit-Policy']).toBe('"api";q=1;w=86400');
    expect(headers(over)['Retry-After']).toBeUndefined();
  });
});

describe('the status of a limit', () => {
  it('is sent with its rejections, also of what can never pass', () => {
    const limiters = [
      rateLimit({ name: 'paid', limit: 1, window: calendar('month'), status: 402 }),
      rateLimit({ name: 'rate', limit: 9, window: '1m' }),
    ];
    const { admit } = setUp(limiters);
    admit();
    const rejected = admit();
    expect(rejected.status).toBe(402);
    expect(JSON.parse(rejected.body)).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      status: 402,
      'violated-policies': ['paid'],
    });
    const none = rateLimit({
      name: 'none',
      limit: 1,
      window: '1m',
      plan: () => ({ limit: 0 }),
      status: 403,
    });
    expect(setUp(none).admit().status).toBe(403);
  });

  it('is one of three', () => {
    const wrong = () => rateLimit({ limit: 1, window: '1m', status: 400 as 402 });
    expect(wrong).toThrow('status must be one of 402, 403, 429, got 400');
  });
});
