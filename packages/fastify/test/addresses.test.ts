/** Which address a request counts for where its limiter has no key. */

import { rateLimit, type SpillwayOptions, spillway } from '@spillway/fastify';
import type { FastifyInstance, FastifyServerOptions } from 'fastify';
import { expect, it } from 'vitest';
import { makeApp, serve } from './service.js';

/** An app that records the addresses that its limiter saw. */
function watched(
  server: FastifyServerOptions,
  options: SpillwayOptions,
): { app: FastifyInstance; seen: (string | undefined)[] } {
  const seen: (string | undefined)[] = [];
  const app = makeApp(server);
  const limiters = rateLimit({
    limit: 2,
    window: '1h',
    key: (request) => {
      seen.push(request.clientIp);
      expect(request.clientIp).toBe(seen.at(-1)); // looked up once
      return undefined;
    },
  });
  app.register(spillway, { ...options, limiters });
  app.get('/', () => 'ok');
  return { app, seen };
}

const forwarded = (value: string) => ({ headers: { 'x-forwarded-for': value } });

it('ignores X-Forwarded-For unless a proxy is trusted', async () => {
  const { app, seen } = watched({}, {});
  const { get } = await serve(app);
  const replies = [];
  for (const claim of ['1.1.1.1', '2.2.2.2', '3.3.3.3']) {
    replies.push((await get('/', forwarded(claim))).status);
  }
  expect(replies).toEqual([200, 200, 429]);
  expect(seen).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1']);
});

it.each<[string, SpillwayOptions, FastifyServerOptions['trustProxy'], string, string | undefined]>([
  ['our hop count', { trustProxy: 1 }, false, '6.6.6.6, 192.0.2.1', '192.0.2.1'],
  ['our addresses', { trustProxy: ['loopback'] }, false, '6.6.6.6, 192.0.2.1', '192.0.2.1'],
  [
    'our option above that of Fastify',
    { trustProxy: 2 },
    'loopback',
    '1.1.1.1, 2.2.2.2',
    '1.1.1.1',
  ],
  ['our false above that of Fastify', { trustProxy: false }, 'loopback', '1.1.1.1', '127.0.0.1'],
  ['the names of Fastify', {}, 'loopback, 10.0.0.0/8', '1.1.1.1, 10.1.2.3', '1.1.1.1'],
  ['the list of Fastify', {}, ['127.0.0.1'], '1.1.1.1, 2.2.2.2', '2.2.2.2'],
  ['the function of Fastify', {}, (ip: string) => ip === '127.0.0.1', '2.2.2.2', '2.2.2.2'],
  ['a port from the list of Fastify', {}, ['127.0.0.1'], '192.0.2.9:4711', '192.0.2.9'],
  ['brackets from the list of Fastify', {}, ['127.0.0.1'], '[2001:db8::1]:80', '2001:db8::/64'],
  ['one IPv6 client for its /64', { trustProxy: 1 }, false, '2001:db8::1:2:3:4', '2001:db8::/64'],
  ['IPv6 by another prefix', { ipv6Prefix: 48 }, 'loopback', '2001:db8:1:2::3', '2001:db8:1::/48'],
  ['no address where there is none', { trustProxy: 1 }, false, '<script>', undefined],
  [
    'nobody where the function of Fastify fails',
    {},
    () => {
      throw new Error('mine');
    },
    '1.1.1.1',
    undefined,
  ],
])('believes %s', async (_, options, trustProxy, claim, expected) => {
  const { app, seen } = watched({ ...(trustProxy !== undefined && { trustProxy }) }, options);
  await (await serve(app)).get('/', forwarded(claim));
  expect(seen).toEqual([expected]);
});

it.each<[string, FastifyServerOptions['trustProxy']]>([
  ['true', true],
  ['networks of all addresses', ['0.0.0.0/1', '128.0.0.0/1']],
  ['all of public IPv6', ['2000::/4']],
  ['a function that believes all', () => true],
])('believes nobody where Fastify is told %s, and says so once', async (_, trustProxy) => {
  const lines: string[] = [];
  const logger = { warn: (line: string) => lines.push(line) };
  const { app, seen } = watched({ trustProxy: trustProxy ?? false }, { logger });
  const { get } = await serve(app);
  await get('/', forwarded('1.1.1.1'));
  await get('/', forwarded('2.2.2.2'));
  expect(seen).toEqual(['127.0.0.1', '127.0.0.1']);
  expect(lines).toMatchObject([expect.stringContaining('SPW_TRUST_PROXY_UNSAFE')]);
});

it('takes an address over IPv6 as it is', async () => {
  const { app, seen } = watched({}, {});
  await (await serve(app, '::1')).get();
  expect(seen).toEqual(['::/64']);
});
