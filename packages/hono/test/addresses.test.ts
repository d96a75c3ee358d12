/** Which key a request counts for: the given key, or the client's address where no key is given. */

import { getConnInfo } from '@hono/node-server/conninfo';
import {
  concurrencyLimit,
  type Fault,
  memoryStore,
  rateLimit,
  type SpillwayOptions,
  spillway,
} from '@spillway/hono';
import { Hono } from 'hono';
import { getConnInfo as getWorkerConnInfo } from 'hono/cloudflare-workers';
import { brokenStore } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { listen, WAYS } from './service.js';

const byAddress = (limit = 2) => rateLimit({ name: 'a', limit, window: '1h' });

/** An app behind a limit of 2; records the addresses that the limiter saw. */
function watched(options: SpillwayOptions): { app: Hono; seen: (string | undefined)[] } {
  const seen: (string | undefined)[] = [];
  const limiter = rateLimit({
    limit: 2,
    window: '1h',
    key: (request) => {
      seen.push(request.clientIp);
      return undefined;
    },
  });
  const app = new Hono();
  app.use(spillway(limiter, options));
  app.get('/', (c) => c.text('hello'));
  return { app, seen };
}

const forwarded = (value: string) => ({ headers: { 'x-forwarded-for': value } });

describe.each(WAYS)('over %s', (_, { serve }) => {
  it('fails with a code at the first use when nobody says how to find the address', async () => {
    const app = new Hono();
    app.use(spillway(byAddress()));
    app.onError((error, c) =>
      c.text(`${(error as { code?: string }).code}: ${error.message}`, 500),
    );
    const { get } = await serve(app);
    for (let i = 0; i < 2; i += 1) {
      const { status, body } = await get();
      expect(status).toBe(500);
      expect(body).toMatch(/^SPW_ADDRESS_REQUIRED: clientIp is required/);
    }
  });

  it('fails so too when the store is down or answers later', async () => {
    const app = new Hono();
    app.use(spillway(byAddress(), { store: { ...brokenStore } }));
    app.onError((error, c) => c.text(error.message, 500));
    const { get } = await serve(app);
    expect((await get()).body).toContain('SPW_ADDRESS_REQUIRED');
  });

  it('holds no permit of a request that failed so', async () => {
    const store = memoryStore();
    const one = concurrencyLimit({ name: 'one', limit: 1, key: 'all' });
    const app = new Hono();
    app.get('/', spillway([one, byAddress()], { store }));
    app.get('/free', spillway(one, { store }), (c) => c.text('free'));
    app.onError((_error, c) => c.text('', 500));
    const { get } = await serve(app);
    expect((await get()).status).toBe(500);
    expect((await get('/free')).status).toBe(200);
  });

  it('needs no address where a key is given for every request, or no limiter asks', async () => {
    const app = new Hono();
    app.use(spillway(rateLimit({ limit: 9, window: '1h', key: 'all' })));
    app.use(spillway(rateLimit({ limit: 1, window: '1h', mode: 'off' })));
    const { get } = await serve(app);
    expect((await get()).status).toBe(404);
  });

  it.each<[string, SpillwayOptions, string, string | undefined]>([
    ['nobody', {}, '6.6.6.6', '10.0.0.1'],
    ['our hop count', { trustProxy: 1 }, '6.6.6.6, 192.0.2.1', '192.0.2.1'],
    ['our addresses', { trustProxy: ['10.0.0.0/8'] }, '6.6.6.6, 192.0.2.1', '192.0.2.1'],
    ['one IPv6 client for its /64', { trustProxy: 1 }, '2001:db8::1:2:3:4', '2001:db8::/64'],
    [
      'IPv6 by another prefix',
      { trustProxy: 1, ipv6Prefix: 48 },
      '2001:db8:1:2::3',
      '2001:db8:1::/48',
    ],
    ['IPv4 in IPv6 as IPv4', { trustProxy: 1 }, '::ffff:192.0.2.9', '192.0.2.9'],
    ['no address where there is none', { trustProxy: 1 }, '<script>', undefined],
  ])('believes %s', async (_, options, claim, expected) => {
    const { app, seen } = watched({ clientIp: () => '::ffff:10.0.0.1', ...options });
    const { get } = await serve(app);
    await get('/', forwarded(claim));
    expect(seen).toEqual([expected]);
  });

  it.each<[string, () => string | undefined, number]>([
    ['knows none', () => undefined, 0],
    ['gives no address', () => '<script>', 0],
    [
      'throws',
      () => {
        throw new Error('mine');
      },
      1,
    ],
  ])('counts all together when clientIp %s', async (_, clientIp, faulty) => {
    const faults: Fault[] = [];
    const observed: Fault[] = [];
    const { app } = watched({
      clientIp,
      onFault: (fault) => faults.push(fault),
      observers: [{ onFault: (fault) => void observed.push(fault) }],
    });
    const { get } = await serve(app);
    expect([await get(), await get(), await get()].map(({ status }) => status)).toEqual([
      200, 200, 429,
    ]);
    expect(faults.map(({ source }) => source)).toEqual(Array(3 * faulty).fill('adapter'));
    expect(observed).toEqual(faults);
  });

  it('cannot be made to count a key as an address', async () => {
    const app = new Hono();
    const limiter = rateLimit({ limit: 1, window: '1h', key: (r) => r.header('X-Key') });
    app.use(spillway(limiter, { clientIp: () => '127.0.0.1' }));
    const { get } = await serve(app);
    const by = async (key: string) => (await get('/', { headers: { 'x-key': key } })).status;
    expect([await by('@127.0.0.1'), (await get()).status]).toEqual([404, 404]);
    expect([await by('@127.0.0.1'), (await get()).status]).toEqual([429, 429]);
  });
});

it('takes the address of the socket from @hono/node-server', async () => {
  const { app, seen } = watched({ clientIp: (c) => getConnInfo(c).remote.address });
  const { get } = await listen(app);
  await get('/', forwarded('6.6.6.6'));
  expect(seen).toEqual(['127.0.0.1']);
});

it('takes the address from Cloudflare', async () => {
  const { app, seen } = watched({ clientIp: (c) => getWorkerConnInfo(c).remote.address });
  await app.request('/', { headers: { 'cf-connecting-ip': '2001:db8::9' } });
  expect(seen).toEqual(['2001:db8::/64']);
});

describe('wrong options', () => {
  it.each([
    [{ trustProxy: true }, 'SPW_TRUST_PROXY_UNSAFE'],
    [{ trustProxy: ['everyone'] }, 'SPW_CIDR_INVALID'],
    [{ ipv6Prefix: 129 }, 'SPW_OPTION_INVALID'],
    [{ onStoreError: 'ignore' }, 'SPW_OPTION_INVALID'],
  ])('%j is refused at once', (options, code) => {
    expect(() => spillway(byAddress(), options as SpillwayOptions)).toThrow(code);
  });
});
