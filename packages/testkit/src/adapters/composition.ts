import { type DecisionEvent, type GuardOptions, memoryStore } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { expect, it } from 'vitest';
import type { Reply } from '../http.js';
import { type App, type Driver, HELLO, type MiddlewareDriver, serveLimit } from './driver.js';

export function exemptions<Guard>(driver: Driver<Guard>): void {
  it('charges none of the limiters of one guard when one refuses', async () => {
    const decisions: DecisionEvent[] = [];
    const limiters = [
      driver.rateLimit({ name: 'wide', limit: 5, window: '1h' }),
      driver.rateLimit({ name: 'tight', limit: 1, window: '1h' }),
    ];
    const guard = driver.guard(limiters, { onDecision: (event) => decisions.push(event) });
    const { get } = await driver.serve({ guards: [guard] });
    await get();
    await get();
    await get();
    const told = decisions.map(({ limiter, outcome, remaining }) => [limiter, outcome, remaining]);
    expect(told).toEqual([
      ['wide', 'allowed', 4],
      ['tight', 'allowed', 0],
      ['wide', 'allowed', 4],
      ['tight', 'denied', 0],
      ['wide', 'allowed', 4],
      ['tight', 'denied', 0],
    ]);
  });

  it('changes nothing a client can see in shadow mode, and says what it would have done', async () => {
    const outcomes: string[] = [];
    const limiters = [
      driver.rateLimit({ name: 'dark', limit: 1, window: '1h', mode: 'shadow' }),
      driver.concurrencyLimit({ name: 'dark too', limit: 9, mode: 'shadow' }),
    ];
    const guard = driver.guard(limiters, {
      headers: ['draft-11', 'legacy'],
      onDecision: ({ outcome, limiter }) => {
        if (limiter === 'dark') outcomes.push(outcome);
      },
    });
    expect(await thrice(driver, { guards: [guard] })).toEqual(await thrice(driver, {}));
    expect(outcomes).toEqual(['allowed', 'would-deny', 'would-deny']);
  });

  it('does not even ask a limiter that is off, and asks again when it is on', async () => {
    let mode: 'off' | 'enforce' = 'off';
    const { get } = await serveLimit(driver, { limit: 1, window: '1h', mode: () => mode });
    expect([(await get()).status, (await get()).status]).toEqual([200, 200]);
    expect((await get()).headers['ratelimit']).toBeUndefined();
    mode = 'enforce';
    expect([(await get()).status, (await get()).status]).toEqual([200, 429]);
  });

  it('skips what the app exempts, and CORS preflights', async () => {
    const skip: GuardOptions['skip'] = ({ path }) => path === '/healthz';
    const { get } = await serveLimit(driver, { limit: 1, window: '1h' }, { skip });
    const preflight = {
      method: 'OPTIONS',
      headers: { origin: 'https://a.example', 'access-control-request-method': 'PUT' },
    };
    for (let i = 0; i < 3; i += 1) {
      const exempt = await get('/healthz?x=1');
      expect(exempt.status).toBe(200);
      expect(exempt.headers['ratelimit']).toBeUndefined();
      expect((await get('/', preflight)).status).toBe(200);
    }
    expect((await get()).status).toBe(200);
    expect((await get('/', { method: 'OPTIONS' })).status).toBe(429);
    const noOrigin = { 'access-control-request-method': 'PUT' };
    expect((await get('/', { method: 'OPTIONS', headers: noOrigin })).status).toBe(429);
  });
}

async function thrice<Guard>(driver: Driver<Guard>, app: App<Guard>): Promise<object[]> {
  const { get } = await driver.serve(app);
  const replies: Reply[] = [await get(), await get(), await get('/', { method: 'HEAD' })];
  return replies.map(({ status, fields, body }) => ({ status, fields, body }));
}

/** Tests for adapters whose guards can be mounted on the app and on routes. */
export function composition(driver: MiddlewareDriver): void {
  it('joins the fields of guards on the app and on a route into lists, in their order', async () => {
    const options = { store: memoryStore({ clock: new ManualClock() }) };
    const app = driver.rateLimit({ name: 'app', limit: 3, window: '1m' });
    const route = driver.rateLimit({ name: 'route', limit: 1, window: '1h' });
    const { get } = await driver.serve({
      guards: [driver.guard(app, options)],
      routes: [{ ...HELLO, path: '/', guards: [driver.guard(route, options)] }],
    });
    const policy = ['RateLimit-Policy', '"app";q=3;w=60, "route";q=1;w=3600'] as const;
    const { fields } = await get();
    expect(driver.shown(fields.filter(([name]) => /^ratelimit/i.test(name)))).toEqual(
      driver.shown([policy, ['RateLimit', '"app";r=2;t=20, "route";r=0;t=3600']]),
    );
    const { status, headers, body } = await get();
    expect(status).toBe(429);
    expect(headers).toMatchObject({
      'ratelimit-policy': policy[1],
      ratelimit: '"app";r=1;t=40, "route";r=0;t=3600',
      'retry-after': '3600',
      'content-type': 'application/problem+json',
    });
    expect(JSON.parse(body)['violated-policies']).toEqual(['route']);
  });

  it.each([
    ['legacy', 'x-ratelimit-limit'],
    ['draft-6', 'ratelimit-limit'],
  ] as const)(
    'shows of the %s fields those of the guard with less left, whichever ran first',
    async (style, field) => {
      const options: GuardOptions = { store: memoryStore(), headers: [style] };
      const guard = (name: string, limit: number) =>
        driver.guard(driver.rateLimit({ name, limit, window: '1m' }), options);
      const { get } = await driver.serve({
        routes: [
          { ...HELLO, path: '/a', guards: [guard('few', 3), guard('many', 9)] },
          { ...HELLO, path: '/b', guards: [guard('many', 9), guard('few', 3)] },
        ],
      });
      expect((await get('/a')).headers[field]).toBe('3');
      expect((await get('/b')).headers[field]).toBe('3');
      if (style === 'draft-6') {
        expect((await get('/a')).headers['ratelimit-policy']).toBe('3;w=60, 9;w=60');
        expect((await get('/b')).headers['ratelimit-policy']).toBe('9;w=60, 3;w=60');
      }
    },
  );

  it('shows handlers the decisions of every guard that ran', async () => {
    const guard = (name: string, limit: number) =>
      driver.guard(driver.rateLimit({ name, limit, window: '1m' }));
    const { get } = await driver.serve({
      guards: [guard('app', 9)],
      routes: [
        {
          path: '/',
          guards: [guard('route', 5)],
          handle: ({ admissions }) => ({
            json: admissions
              .flatMap(({ decisions }) => decisions)
              .map(({ limiter, remaining }) => [limiter, remaining]),
          }),
        },
      ],
    });
    expect(JSON.parse((await get()).body)).toEqual([
      ['app', 8],
      ['route', 4],
    ]);
  });
}
