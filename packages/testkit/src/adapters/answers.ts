import { memoryStore } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { expect, it } from 'vitest';
import { type Driver, failing, HELLO, type MiddlewareDriver, serveLimit } from './driver.js';

const PROBLEM =
  '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota exceeded","status":429,' +
  '"detail":"You have used up the quota of policy \\"2-per-1m\\". Try again in 30 seconds.","violated-policies":["2-per-1m"]}';

const POLICY = ['RateLimit-Policy', '"2-per-1m";q=2;w=60'] as const;

export function answers<Guard>(driver: Driver<Guard>): void {
  it('answers up to the limit, then refuses with 429, all fields and a problem document', async () => {
    const store = memoryStore({ clock: new ManualClock() });
    const { get } = await serveLimit(
      driver,
      { name: '2-per-1m', limit: 2, window: '1m' },
      { store },
    );
    const plain = await (await driver.serve({})).get();

    const { status, fields, body } = await get();
    expect({ status, body }).toEqual({ status: 200, body: 'hello' });
    expect(driver.shown(fields)).toEqual(
      driver.shown([POLICY, ['RateLimit', '"2-per-1m";r=1;t=30'], ...plain.fields]),
    );
    expect((await get()).headers['ratelimit']).toBe('"2-per-1m";r=0;t=30');
    const refused = await get();
    expect(refused).toMatchObject({ status: 429, body: PROBLEM });
    expect(driver.shown(refused.fields)).toEqual(
      driver.shown([
        POLICY,
        ['RateLimit', '"2-per-1m";r=0;t=30'],
        ['Retry-After', '30'],
        ['Cache-Control', 'no-store'],
        ['Content-Type', 'application/problem+json'],
        ['Content-Length', String(PROBLEM.length)],
      ]),
    );
  });

  it('refuses until exactly the promised moment, then admits', async () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const { get } = await serveLimit(driver, { name: 'a', limit: 1, window: '10s' }, { store });
    expect((await get()).status).toBe(200);
    expect((await get()).headers['retry-after']).toBe('10');
    clock.advance(9_999.999);
    expect((await get()).status).toBe(429);
    clock.advance(0.001);
    expect((await get()).status).toBe(200);
  });

  it('needs one line, without a name or a store', async () => {
    const { get } = await serveLimit(driver, { limit: 1, window: '1h' });
    expect([(await get()).status, (await get()).status]).toEqual([200, 429]);
    expect((await get()).headers['ratelimit-policy']).toBe('"1-per-1h";q=1;w=3600');
  });

  it('sends the length of the body but no body to a refused HEAD', async () => {
    const store = memoryStore({ clock: new ManualClock() });
    const { get } = await serveLimit(driver, { name: 'a', limit: 1, window: '1h' }, { store });
    expect(await get('/', { method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
    const whole = await get();
    const head = await get('/', { method: 'HEAD' });
    expect(head).toMatchObject({ status: 429, body: '' });
    expect(head.headers['content-length']).toBe(String(whole.body.length));
    expect(driver.shown(head.fields)).toEqual(driver.shown(whole.fields));
  });

  it('sends the legacy fields when asked, and none when told so', async () => {
    const limit = (name: string) => ({ name, limit: 5, window: '1m' }) as const;
    const legacy = await serveLimit(driver, limit('a'), { headers: ['legacy'] });
    const none = await serveLimit(driver, limit('b'), { headers: [] });
    const { headers } = await legacy.get();
    expect(headers).toMatchObject({ 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4' });
    const seconds = Number(headers['x-ratelimit-reset']) - Date.now() / 1000;
    expect(seconds).toBeGreaterThan(10);
    expect(seconds).toBeLessThan(14);
    expect(headers['ratelimit']).toBeUndefined();
    const names = Object.keys((await none.get()).headers);
    expect(names.filter((name) => name.includes('ratelimit'))).toEqual([]);
  });

  it('sends the fields of draft 6 in place of the others when asked', async () => {
    const store = memoryStore({ clock: new ManualClock() });
    const limit = { name: 'a', limit: 2, window: '1m' } as const;
    const { get } = await serveLimit(driver, limit, { store, headers: ['draft-6'] });
    const plain = await (await driver.serve({})).get();
    const fields = (remaining: number, seconds: number) =>
      [
        ['RateLimit-Policy', '2;w=60'],
        ['RateLimit-Limit', '2'],
        ['RateLimit-Remaining', `${remaining}`],
        ['RateLimit-Reset', `${seconds}`],
      ] as const;
    expect(driver.shown((await get()).fields)).toEqual(
      driver.shown([...fields(1, 30), ...plain.fields]),
    );
    await get();
    const refused = await get();
    expect(refused).toMatchObject({
      status: 429,
      body: PROBLEM.replace('2-per-1m', 'a').replace('2-per-1m', 'a'),
    });
    expect(driver.shown(refused.fields)).toEqual(
      driver.shown([
        ...fields(0, 30),
        ['Retry-After', '30'],
        ['Cache-Control', 'no-store'],
        ['Content-Type', 'application/problem+json'],
        ['Content-Length', String(refused.body.length)],
      ]),
    );
  });

  it('never tells a client to wait for what can never pass', async () => {
    const { get } = await serveLimit(driver, {
      name: 'small',
      limit: 2,
      window: '1m',
      cost: () => 3,
    });
    const { status, headers } = await get();
    expect(status).toBe(429);
    expect(headers['retry-after']).toBeUndefined();
    expect(headers['ratelimit']).toBe('"small";r=0');
  });

  it('shows nothing of hostile keys and paths', async () => {
    const { get } = await serveLimit(driver, {
      name: 'hostile',
      limit: 1,
      window: '1h',
      key: (request) => request.header('x-key'),
    });
    for (const value of ['é\t"\\', '__proto__', 'a'.repeat(8_000), '<script>']) {
      const ask = () => get('/%0d%0aX-Evil:%201?<script>', { headers: { 'x-key': value } });
      expect((await ask()).status).toBe(200);
      const { status, headers, body } = await ask();
      expect(status).toBe(429);
      expect(headers['ratelimit']).toBe('"hostile";r=0;t=3600');
      expect(headers['x-evil']).toBeUndefined();
      expect(body).not.toContain('script');
      expect(body).not.toContain(value.slice(0, 9));
    }
  });
}

export function ownAnswers(driver: MiddlewareDriver): void {
  it('counts what no route answers', async () => {
    const guard = driver.guard(driver.rateLimit({ limit: 1, window: '1h' }));
    const { get } = await driver.serve({ guards: [guard], routes: [] });
    expect([(await get()).status, (await get()).status]).toEqual([404, 429]);
  });

  it('lets the app answer a refusal, with the status and the fields already set', async () => {
    const store = memoryStore({ clock: new ManualClock() });
    const limiter = driver.rateLimit({ name: 'own', limit: 1, window: '1h' });
    const guard = driver.guard(limiter, { store }, ({ binding }) => ({
      json: { sorry: binding?.limiter },
    }));
    const { get } = await driver.serve({ guards: [guard] });
    await get();
    const { status, headers, body } = await get();
    expect({ status, body }).toEqual({ status: 429, body: '{"sorry":"own"}' });
    expect(headers['content-type']).toMatch(/^application\/json(; charset=utf-8)?$/);
    expect(headers).toMatchObject({
      'retry-after': '3600',
      'cache-control': 'no-store',
      ratelimit: '"own";r=0;t=3600',
    });
  });

  it.each(failing)('hands on to the error handler what the own answer %s', async (_, own) => {
    const guard = driver.guard(driver.rateLimit({ limit: 1, window: '1h' }), {}, own);
    const onError = (error: Error) => ({ status: 500, body: error.message });
    const { get } = await driver.serve({ guards: [guard], routes: [HELLO], onError });
    await get();
    expect(await get()).toMatchObject({ status: 500, body: 'mine' });
  });
}
