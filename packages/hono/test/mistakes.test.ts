/** An app may be put together wrongly: what is in shadow, off or skipped fails no request because of it. */

import { remoteStore } from '@spillway/core/store';
import { type Fault, memoryStore, rateLimit, type SpillwayOptions, spillway } from '@spillway/hono';
import { type Context, Hono } from 'hono';
import { SlowStore, until } from 'spillway-testkit';
import { mistakes } from 'spillway-testkit/adapters';
import { describe, expect, it } from 'vitest';
import { WAYS } from './service.js';

const limit = (options: Partial<Parameters<typeof rateLimit>[0]> = {}) =>
  rateLimit({ name: 'a', limit: 9, window: '1h', ...options });

/** An app whose guard has no option that says how to find the address. */
function addressless(limiters: Parameters<typeof spillway>[0], options: SpillwayOptions = {}) {
  const faults: Fault[] = [];
  const app = new Hono();
  app.use(spillway(limiters, { ...options, onFault: (fault) => faults.push(fault) }));
  app.get('/', (c) => c.text('hello'));
  app.onError((error, c) => c.text((error as { code?: string }).code ?? '', 500));
  return { app, faults };
}

const REQUIRED = { source: 'adapter', error: { code: 'SPW_ADDRESS_REQUIRED' } };

describe.each(WAYS)('over %s', (_, { driver }) => {
  mistakes(driver);
});

describe.each(WAYS)('over %s', (_, { serve }) => {
  it.each<[string, Parameters<typeof limit>[0], SpillwayOptions, unknown[]]>([
    ['in shadow', { mode: 'shadow' }, {}, [REQUIRED]],
    ['in shadow for every key', { share: 0 }, {}, [REQUIRED]],
    ['of a guard in shadow', {}, { mode: 'shadow' }, [REQUIRED]],
    ['off', { mode: 'off' }, {}, []],
    ['skipped', {}, { skip: () => true }, []],
    ['whose skip looks', {}, { skip: ({ clientIp }) => clientIp === undefined }, [REQUIRED]],
    ['whose own key looks', { key: (r) => r.clientIp ?? 'nobody' }, {}, [REQUIRED]],
  ])('serves without an address where a limit is %s', async (_, options, guard, expected) => {
    const { app, faults } = addressless(limit(options), guard);
    const { get } = await serve(app);
    expect(await get()).toMatchObject({ status: 200, body: 'hello' });
    expect(faults).toMatchObject(expected);
  });

  it('fails for a limiter that enforces, though one in shadow asked for the address first', async () => {
    const limiters = [limit({ name: 'dark', mode: 'shadow' }), limit()];
    for (const store of [memoryStore(), undefined]) {
      const { app, faults } = addressless(limiters, store ? { store } : {});
      const { get } = await serve(app);
      expect(await get()).toMatchObject({ status: 500, body: 'SPW_ADDRESS_REQUIRED' });
      expect(faults).toEqual([]);
    }
  });

  it('serves where a limiter in shadow lacks the address and one that enforces does not', async () => {
    const { app, faults } = addressless([
      limit({ key: 'all' }),
      limit({ name: 'dark', mode: 'shadow' }),
    ]);
    const { get } = await serve(app);
    expect((await get()).status).toBe(200);
    expect(faults).toMatchObject([REQUIRED]);
  });

  it('counts it once though the store answers later', async () => {
    const store = remoteStore(new SlowStore());
    const guard = spillway(limit({ key: 'all' }), { store, logger: false });
    const app = new Hono();
    app.get('/', guard, guard, (c) => c.text('hello'));
    const { get } = await serve(app);
    const reply = get();
    await until(() => store.calls.length === 1);
    store.answer();
    expect((await reply).status).toBe(200);
    expect(store.calls).toHaveLength(1);
  });
});

describe.each(WAYS)('an own answer over %s', (_, { serve }) => {
  const refusing = (onRejected: NonNullable<SpillwayOptions['onRejected']>) => {
    const app = new Hono();
    app.use(spillway(limit({ limit: 1, key: 'all', cost: () => 2 }), { onRejected }));
    return app;
  };

  it.each<[string, (c: Context) => unknown, string]>([
    ['a response', (c) => c.text('sorry'), 'sorry'],
    ['a promise of one', async (c) => c.text('later'), 'later'],
    ['nothing, having set c.res', (c) => void Reflect.set(c, 'res', c.text('set')), 'set'],
  ])('may return %s', async (_, answer, expected) => {
    const { get } = await serve(refusing((_admission, c) => answer(c)));
    const { status, body, headers } = await get();
    expect({ status, body }).toEqual({ status: 429, body: expected });
    expect(headers['ratelimit']).toBe('"a";r=0');
  });

  it.each([[undefined], [7], ['sorry'], [null]])(
    'that returns %j leaves the problem document to us',
    async (value) => {
      const { get } = await serve(refusing(() => value));
      const { status, body, headers } = await get();
      expect(status).toBe(429);
      expect(JSON.parse(body)).toMatchObject({ status: 429 });
      expect(headers['ratelimit']).toBe('"a";r=0');
    },
  );

  it.each([
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
    ['rejects', () => Promise.reject(new Error('mine'))],
  ])('that %s is a 500, also where the error handler names no status', async (_, onRejected) => {
    const app = refusing(onRejected);
    app.onError((error, c) => c.text(error.message));
    const { get } = await serve(app);
    expect(await get()).toMatchObject({ status: 500, body: 'mine' });
  });
});
