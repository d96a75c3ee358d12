/** Which key a request counts for: the given key, or the client's address where no key is given. */

import {
  type Fault,
  type LimitRequest,
  rateLimit,
  type SpillwayOptions,
  spillway,
} from '@spillway/express';
import type { Express, Request, Response } from 'express';
import { serveListener } from 'spillway-testkit/http';
import { describe, expect, it } from 'vitest';
import { EXPRESS, serve } from './service.js';

/** Puts a limit of 2 on an app; returns the addresses that the limiter saw. */
function watched(app: Express, options: SpillwayOptions = {}): (string | undefined)[] {
  const seen: (string | undefined)[] = [];
  const note = (request: LimitRequest<Request>) => {
    seen.push(request.clientIp);
    expect(request.clientIp).toBe(seen.at(-1)); // looked up once
    return undefined;
  };
  app.use(spillway(rateLimit({ limit: 2, window: '1h', key: note }), options));
  app.use((_req, res) => {
    res.end();
  });
  return seen;
}

const forwarded = (value: string) => ({ headers: { 'x-forwarded-for': value } });

describe.each(EXPRESS)('Express $major', ({ express }) => {
  it('ignores X-Forwarded-For unless a proxy is trusted', async () => {
    const app = express();
    const seen = watched(app);
    const { get } = await serve(app);
    const statuses = [];
    for (const claim of ['1.1.1.1', '2.2.2.2', '3.3.3.3']) {
      statuses.push((await get('/', forwarded(claim))).status);
    }
    expect(statuses).toEqual([200, 200, 429]);
    expect(seen).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1']);
  });

  it.each<[string, SpillwayOptions, unknown, string, string | undefined]>([
    ['our hop count', { trustProxy: 1 }, false, '6.6.6.6, 192.0.2.1', '192.0.2.1'],
    ['our addresses', { trustProxy: ['loopback'] }, false, '6.6.6.6, 192.0.2.1', '192.0.2.1'],
    ['our option above that of Express', { trustProxy: 1 }, 2, '1.1.1.1, 2.2.2.2', '2.2.2.2'],
    ['our false above that of Express', { trustProxy: false }, 1, '1.1.1.1', '127.0.0.1'],
    ['the hop count of Express', {}, 2, '1.1.1.1, 2.2.2.2', '1.1.1.1'],
    ['the names of Express', {}, 'loopback, 10.0.0.0/8', '1.1.1.1, 10.1.2.3', '1.1.1.1'],
    ['the list of Express', {}, ['127.0.0.1'], '1.1.1.1, 2.2.2.2', '2.2.2.2'],
    ['the function of Express', {}, (ip: string) => ip === '127.0.0.1', '2.2.2.2', '2.2.2.2'],
    ['a port from the function of Express', {}, () => true, '192.0.2.9:4711', '192.0.2.9'],
    ['nobody, if it is 0', {}, 0, '2.2.2.2', '127.0.0.1'],
    ['one IPv6 client for its /64', { trustProxy: 1 }, false, '2001:db8::1:2:3:4', '2001:db8::/64'],
    [
      'IPv6 by another prefix',
      { trustProxy: 1, ipv6Prefix: 48 },
      0,
      '2001:db8:1:2::3',
      '2001:db8:1::/48',
    ],
    ['IPv4 in IPv6 as IPv4', { trustProxy: 1 }, false, '::ffff:192.0.2.9', '192.0.2.9'],
    ['an address with a port', { trustProxy: 1 }, false, '192.0.2.9:4711', '192.0.2.9'],
    ['no address where there is none', { trustProxy: 1 }, false, '<script>', undefined],
    ['no address from the function of Express', {}, () => true, 'unknown', undefined],
  ])('believes %s', async (_, options, setting, claim, expected) => {
    const app = express();
    app.set('trust proxy', setting);
    const seen = watched(app, options);
    await (await serve(app)).get('/', forwarded(claim));
    expect(seen).toEqual([expected]);
  });

  it('counts the addresses of one /64 together, and IPv4 in both spellings', async () => {
    const app = express();
    watched(app, { trustProxy: 1 });
    const { get } = await serve(app);
    const statusOf = async (claim: string) => (await get('/', forwarded(claim))).status;
    expect(await statusOf('2001:db8:0:1::1')).toBe(200);
    expect(await statusOf('2001:db8:0:1:ffff::9')).toBe(200);
    expect(await statusOf('2001:DB8:0:1::7')).toBe(429);
    expect(await statusOf('2001:db8:0:2::1')).toBe(200);
    expect(await statusOf('192.0.2.1')).toBe(200);
    expect(await statusOf('::ffff:192.0.2.1')).toBe(200);
    expect(await statusOf('[::ffff:c000:201]:80')).toBe(429);
  });

  it('has one count for all whose address cannot be known', async () => {
    const app = express();
    watched(app, { trustProxy: 1 });
    const { get } = await serve(app);
    const statuses = [];
    for (const claim of ['unknown', '999.1.1.1', '_x']) {
      statuses.push((await get('/', forwarded(claim))).status);
    }
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('takes the setting of the app that it is mounted in', async () => {
    const inner = express();
    const seen = watched(inner);
    const app = express();
    app.set('trust proxy', 1);
    app.use('/inner', inner);
    await (await serve(app)).get('/inner', forwarded('192.0.2.1'));
    expect(seen).toEqual(['192.0.2.1']);
  });

  it('takes an address over IPv6 as it is', async () => {
    const app = express();
    const seen = watched(app);
    await (await serve(app, '::1')).get();
    expect(seen).toEqual(['::/64']);
  });

  it.each<[string, (request: LimitRequest<Request>) => unknown, number]>([
    ['nothing', () => undefined, 0],
    ['an empty text', () => '', 0],
    ['a number', () => 7, 1],
    [
      'an exception',
      () => {
        throw new Error('mine');
      },
      1,
    ],
  ])('counts by address when a key is %s', async (_, key, faulty) => {
    const faults: Fault[] = [];
    const app = express();
    const limiter = rateLimit({ limit: 2, window: '1h', key: key as () => string });
    app.use(spillway(limiter, { onFault: (fault) => faults.push(fault) }));
    const { get } = await serve(app);
    expect([await get(), await get(), await get()].map(({ status }) => status)).toEqual([
      404, 404, 429,
    ]);
    expect(faults.map(({ source }) => source)).toEqual(Array(3 * faulty).fill('key'));
  });

  it('cannot be made to count a key as an address', async () => {
    const app = express();
    app.use(spillway(rateLimit({ limit: 1, window: '1h', key: (r) => r.header('X-Key') })));
    const { get } = await serve(app);
    const by = async (key: string) => (await get('/', { headers: { 'x-key': key } })).status;
    expect([await by('@127.0.0.1'), (await get()).status]).toEqual([404, 404]);
    expect([await by('@127.0.0.1'), (await get()).status]).toEqual([429, 429]);
  });

  it('counts a cost that is no cost as 1, and says so', async () => {
    const faults: Fault[] = [];
    const app = express();
    const limiter = rateLimit({ name: 'a', limit: 3, window: '1h', cost: () => Number.NaN });
    app.use(spillway(limiter, { onFault: (fault) => faults.push(fault) }));
    const { get } = await serve(app);
    expect((await get()).headers['ratelimit']).toContain('r=2;');
    expect(faults).toMatchObject([{ limiter: 'a', source: 'cost' }]);
  });
});

describe('wrong options', () => {
  it.each([
    [{ trustProxy: true }, 'SPW_TRUST_PROXY_UNSAFE'],
    [{ trustProxy: ['everyone'] }, 'SPW_CIDR_INVALID'],
    [{ ipv6Prefix: 129 }, 'SPW_OPTION_INVALID'],
    [{ onStoreError: 'ignore' }, 'SPW_OPTION_INVALID'],
  ])('%j is refused at once', (options, code) => {
    const limiter = rateLimit({ limit: 1, window: '1h' });
    expect(() => spillway(limiter, options as SpillwayOptions)).toThrow(code);
  });
});

it.each([undefined, {}, { get: 'something else' }])(
  'believes nobody under another framework, whose `app` is %j, and knows the path',
  async (app) => {
    const paths: string[] = [];
    const cost = ({ path }: { path: string }) => paths.push(path) && 1;
    const handle = spillway(rateLimit({ limit: 1, window: '1h', cost }));
    const { get } = await serveListener((req, res) => {
      handle(
        Object.assign(req as Request, { app: app as unknown as Express }),
        res as Response,
        () => {
          res.end('hello');
        },
      );
    });
    const forged = { headers: { 'x-forwarded-for': '198.51.100.1' } };
    expect((await get('/')).body).toBe('hello');
    expect((await get('/a?b', forged)).status).toBe(429);
    expect(paths).toEqual(['/', '/a']);
  },
);
