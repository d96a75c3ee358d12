import {
  concurrencyLimit,
  createGuard,
  type LimitRequest,
  type LocalLimiter,
  memoryStore,
  rateLimit,
  type Store,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { setUp, two } from './guard-set-up.js';

const PREFLIGHT = { origin: 'https://a.example', 'access-control-request-method': 'PUT' };

describe('a guard', () => {
  it('admits up to the limit, then refuses with 429, fields and a problem', () => {
    const { admit } = setUp(rateLimit(two));
    expect(admit()).toMatchObject({
      allowed: true,
      status: 200,
      body: '',
      headers: [
        ['RateLimit-Policy', '"two";q=2;w=60'],
        ['RateLimit', '"two";r=1;t=30'],
      ],
    });
    expect(admit().headers).toContainEqual(['RateLimit', '"two";r=0;t=30']);
    const refused = admit();
    expect(refused).toMatchObject({
      allowed: false,
      status: 429,
      headers: [
        ['RateLimit-Policy', '"two";q=2;w=60'],
        ['RateLimit', '"two";r=0;t=30'],
        ['Retry-After', '30'],
        ['Cache-Control', 'no-store'],
        ['Content-Type', 'application/problem+json'],
      ],
    });
    expect(JSON.parse(refused.body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota exceeded',
      status: 429,
      detail: 'You have used up the quota of policy "two". Try again in 30 seconds.',
      'violated-policies': ['two'],
    });
  });

  it('charges none when one refuses, names the one that binds and lists all violated', () => {
    const hour = { name: 'hour', limit: 2, window: '1h' } as const;
    const wide = { name: 'wide', limit: 100, window: '1h' } as const;
    const { admit } = setUp([rateLimit(two), rateLimit(wide), rateLimit(hour)]);
    admit();
    admit();
    const refused = admit();
    expect(refused.binding?.limiter).toBe('hour');
    expect(JSON.parse(refused.body)['violated-policies']).toEqual(['two', 'hour']);
    expect(refused.headers).toContainEqual(['Retry-After', '1800']);
    expect(refused.decisions[1]).toMatchObject({ allowed: true, remaining: 98 });
  });

  it('tells burst and its own window where the burst differs from the limit', () => {
    const { admit } = setUp(rateLimit({ name: 'b', limit: 100, window: '1s', burst: 500 }));
    expect(admit().headers[0]).toEqual(['RateLimit-Policy', '"b";q=500;w=5']);
  });

  it('leaves out a window that is no whole number of seconds', () => {
    const { admit } = setUp(rateLimit({ name: 'b', limit: 5, window: '250ms' }));
    expect(admit().headers).toEqual([
      ['RateLimit-Policy', '"b";q=5'],
      ['RateLimit', '"b";r=4;t=1'],
    ]);
  });

  it('escapes a name in fields', () => {
    const { admit } = setUp(rateLimit({ ...two, name: 'a"b\\c' }));
    expect(admit().headers[0]).toEqual(['RateLimit-Policy', '"a\\"b\\\\c";q=2;w=60']);
  });

  it('does not tell a request to wait that can never pass', () => {
    const { admit } = setUp(rateLimit({ ...two, cost: () => 3 }));
    const refused = admit();
    expect(refused.status).toBe(429);
    expect(refused.headers.map(([name]) => name)).not.toContain('Retry-After');
    expect(refused.binding?.reason).toBe('never');
    expect(refused.body).toContain('Make it smaller');
  });

  it('adds the legacy fields of the tightest limit if asked', () => {
    const limiters = [rateLimit(two), rateLimit({ name: 'wide', limit: 9, window: '1h' })];
    const { admit } = setUp(limiters, { headers: ['legacy'] });
    const fields = Object.fromEntries(admit().headers);
    expect(Object.keys(fields)).toEqual([
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
    ]);
    expect(fields['X-RateLimit-Remaining']).toBe('1');
    expect(Number(fields['X-RateLimit-Reset']) - Date.now() / 1000).toBeLessThan(32);
    expect(setUp(limiters, { headers: [] }).admit().headers).toEqual([]);
  });

  it('tells in the fields of draft 6 of the tightest limit, and of all policies, in whole seconds', () => {
    const limiters = [
      rateLimit(two),
      rateLimit({ name: 'wide', limit: 9, window: '1h', burst: 4 }),
      rateLimit({ name: 'short', limit: 100, window: 1500 }),
      concurrencyLimit({ name: 'in-progress', limit: 1 }),
      rateLimit({ name: 'unseen', limit: 1, window: '1m', mode: 'shadow' }),
    ];
    const { admit } = setUp(limiters, { headers: ['draft-6', 'legacy'], validate: false });
    const first = admit();
    first.release({ status: 200 });
    expect(first.headers.slice(0, 4)).toEqual([
      ['RateLimit-Policy', '2;w=60, 4;w=1600, 100;w=2'],
      ['RateLimit-Limit', '2'],
      ['RateLimit-Remaining', '1'],
      ['RateLimit-Reset', '30'],
    ]);
    expect(first.headers.slice(4).map(([name]) => name)).toEqual([
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
    ]);
    admit().release({ status: 200 });
    expect(Object.fromEntries(admit().headers)).toMatchObject({
      'RateLimit-Remaining': '0',
      'RateLimit-Reset': '30',
      'Retry-After': '30',
    });
  });

  it('tells in the fields of draft 6 the window of a limit of 0', () => {
    const limiter = rateLimit({ ...two, overage: 'allow', plan: () => ({ limit: 0 }) });
    const { admit } = setUp(limiter, { headers: ['draft-6'] });
    expect(admit().headers).toContainEqual(['RateLimit-Policy', '0;w=60']);
  });

  it('tells in the fields of draft 6 when the quota is whole where waiting does not help', () => {
    const limiter = rateLimit({ ...two, cost: ({ path }) => (path === '/large' ? 3 : 1) });
    const { admit } = setUp(limiter, { headers: ['draft-6'] });
    admit();
    const fields = Object.fromEntries(admit({ path: '/large' }).headers);
    expect(fields).toMatchObject({ 'RateLimit-Remaining': '0', 'RateLimit-Reset': '30' });
    expect(fields).not.toHaveProperty('Retry-After');
  });

  it('in shadow mode shows nothing and counts as an enforcing twin would', () => {
    const shadow = rateLimit({ ...two, mode: 'shadow' });
    const dark = setUp([shadow, rateLimit({ name: 'wide', limit: 100, window: '1h' })]);
    const outcomes = Array.from({ length: 4 }, () => dark.admit());
    expect(outcomes.every((one) => one.allowed)).toBe(true);
    expect(JSON.stringify(outcomes.map((one) => one.headers))).not.toContain('two');
    const said = dark.events.filter((event) => event.limiter === 'two');
    expect(said.map((event) => event.outcome)).toEqual([
      'allowed',
      'allowed',
      'would-deny',
      'would-deny',
    ]);
    expect(said.map((event) => event.mode)).toEqual(Array(4).fill('shadow'));
    expect(said[3]?.reason).toBe('rate');
  });

  it('does not ask a limiter that is off', () => {
    const { admit, events, store } = setUp(rateLimit({ ...two, mode: 'off' }));
    for (let i = 0; i < 5; i += 1) expect(admit()).toMatchObject({ allowed: true, headers: [] });
    expect(events.map((event) => event.outcome)).toEqual(Array(5).fill('skipped'));
    expect(store.size).toBe(0);
  });

  it('reads the mode per request, and enforces when it throws or says an unknown word', () => {
    let mode: () => 'off' | 'enforce' = () => 'off';
    const { admit, faults } = setUp(rateLimit({ ...two, cost: 2, mode: () => mode() }));
    expect(admit().allowed && admit().allowed).toBe(true);
    mode = () => {
      throw new Error('no');
    };
    expect(admit().allowed).toBe(true);
    expect(admit().allowed).toBe(false);
    mode = () => 'on' as 'off';
    expect(admit().allowed).toBe(false);
    expect(faults.map((fault) => fault.source)).toEqual(['mode', 'mode', 'mode']);
  });

  it('passes preflights and what is to be skipped', () => {
    const skip = (of: LimitRequest) => of.path === '/healthz';
    const { admit, store } = setUp(rateLimit(two), { skip });
    admit({ path: '/healthz' });
    admit({ method: 'OPTIONS', headers: PREFLIGHT });
    expect(store.size).toBe(0);
    admit({ method: 'OPTIONS' });
    expect(store.size).toBe(1);
  });

  it.each<[string, Parameters<typeof request>[0]]>([
    ['has no Origin', { method: 'OPTIONS', headers: { 'access-control-request-method': 'PUT' } }],
    ['names no method', { method: 'OPTIONS', headers: { origin: 'https://a.example' } }],
    ['is a GET', { method: 'GET', headers: PREFLIGHT }],
  ])('counts what looks like a preflight but %s', (_, like) => {
    const { admit } = setUp(rateLimit(two));
    expect([1, 2, 3].map(() => admit(like).allowed)).toEqual([true, true, false]);
  });

  it('counts preflights where it is told to', () => {
    const { admit } = setUp(rateLimit(two), { preflights: 'count' });
    const preflight = () => admit({ method: 'OPTIONS', headers: PREFLIGHT }).allowed;
    expect([1, 2, 3].map(preflight)).toEqual([true, true, false]);
    const options = { preflights: 'counted' as 'count' };
    expect(() => setUp(rateLimit(two), options)).toThrow('SPW_OPTION_INVALID');
  });

  it('gives each plan its own limit', () => {
    const plan = (of: LimitRequest) =>
      of.header('x-plan') === 'pro' ? { name: 'pro', limit: 3 } : undefined;
    const { admit } = setUp(
      rateLimit({
        name: 'plan',
        limit: 1,
        plan,
        window: '1m',
        key: (of) => of.header('x-plan'),
      }),
    );
    const pro = [1, 2, 3, 4].map(() => admit({ headers: { 'x-plan': 'pro' } }));
    const free = [1, 2].map(() => admit({ headers: { 'x-plan': 'free' } }));
    expect(pro.map((one) => one.allowed)).toEqual([true, true, true, false]);
    expect(free.map((one) => one.allowed)).toEqual([true, false]);
    expect(pro[0]?.headers[0]).toEqual(['RateLimit-Policy', '"plan";q=3;w=60']);
  });

  it('asks local limiters first, and the store nothing if one refuses', () => {
    const full: LocalLimiter = {
      kind: 'local',
      name: 'full',
      mode: 'enforce',
      decide: () => ({
        limiter: 'full',
        allowed: false,
        outcome: 'denied',
        reason: 'overload',
        cost: 1,
        used: Number.NaN,
        remaining: Number.NaN,
        retryAfterMs: 2_000,
        resetMs: Number.NaN,
      }),
    };
    const { admit, store } = setUp([rateLimit(two), full]);
    expect(admit()).toMatchObject({ status: 503, binding: { limiter: 'full' } });
    expect(JSON.parse(admit().body).type).toMatch(/#temporary-reduced-capacity$/);
    expect(store.size).toBe(0);
    const shadow = setUp({ ...full, mode: 'shadow' });
    expect(shadow.admit().decisions[0]?.outcome).toBe('would-deny');
  });

  it('counts failures only, with refundIf', () => {
    const { admit } = setUp(
      rateLimit({ ...two, refundIf: (_, { status, aborted }) => status === 200 && !aborted }),
    );
    for (let i = 0; i < 5; i += 1) {
      const admission = admit();
      expect(admission.pending).toBe(true);
      admission.release({ status: 200 });
      admission.release({ status: 200 });
      expect(admission.pending).toBe(false);
    }
    admit().release({ status: 401 });
    admit().release({ status: 401 });
    expect(admit()).toMatchObject({ allowed: false, pending: false });
  });

  it('has nothing to release without refundIf', () => {
    expect(setUp(rateLimit(two)).admit().pending).toBe(false);
  });

  it('waits for a store that answers later, once for all its limiters', async () => {
    const memory = memoryStore();
    let calls = 0;
    const later: Store = remoteStore({
      sync: false,
      apply: async (steps) => {
        calls += 1;
        return memory.apply(steps);
      },
    });
    const limiters = [rateLimit(two), rateLimit({ name: 'wide', limit: 9, window: '1h' })];
    const guard = createGuard(limiters, { store: later });
    expect((await guard.admit(request())).decisions.map((one) => one.remaining)).toEqual([1, 8]);
    expect(calls).toBe(1);
  });
});
