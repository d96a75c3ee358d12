/** The adapter for plain node:http, over real connections. */

import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import {
  type Answer,
  admissionsOf,
  type Fault,
  memoryStore,
  type RequestOutcome,
  type ResponseEnd,
  rateLimit,
  type Step,
  type Store,
} from '@spillway/core';
import { showGuard } from '@spillway/core/adapter';
import { type NodeGuard, type NodeGuardOptions, nodeGuard } from '@spillway/core/node';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { until } from 'spillway-testkit';
import { serveListener } from 'spillway-testkit/http';
import { describe, expect, it, onTestFinished } from 'vitest';

type Listener = (req: IncomingMessage, res: ServerResponse) => void;
const hello: Listener = (_req, res) => void res.end('hello');

/** A server whose listener is behind a guard. */
function serve(guard: NodeGuard, listener = hello) {
  return serveListener(async (req, res) => {
    if (await guard(req, res)) listener(req, res);
  });
}

/** A guard that records how each request ended. */
function noting(options: NodeGuardOptions = {}) {
  const outcomes: ResponseEnd[] = [];
  const refundIf = (_request: unknown, { durationMs: _, ...end }: RequestOutcome): boolean => {
    outcomes.push(end);
    return false;
  };
  const limiter = rateLimit({ name: 'noted', limit: 100, window: '1h', refundIf });
  return { outcomes, guard: nodeGuard(limiter, options) };
}

describe('nodeGuard', () => {
  it('answers refused requests itself, and says whether to go on, at once', async () => {
    const store = memoryStore({ clock: new ManualClock() });
    const guard = nodeGuard(rateLimit({ name: 'a', limit: 1, window: '30s' }), { store });
    const said: unknown[] = [];
    const noted = showGuard((...args: Parameters<NodeGuard>) => {
      const goOn = guard(...args);
      said.push(goOn);
      return goOn;
    }, guard);
    const { get } = await serve(noted);
    expect(await get()).toMatchObject({
      status: 200,
      headers: { 'ratelimit-policy': '"a";q=1;w=30', ratelimit: '"a";r=0;t=30' },
      body: 'hello',
    });
    const { status, headers, body } = await get();
    expect({ status, headers }).toMatchObject({
      status: 429,
      headers: {
        'retry-after': '30',
        'cache-control': 'no-store',
        'content-type': 'application/problem+json',
        'content-length': String(body.length),
      },
    });
    expect(JSON.parse(body)['violated-policies']).toEqual(['a']);
    expect(await get('/', { method: 'HEAD' })).toMatchObject({
      headers: { 'content-length': String(body.length) },
      body: '',
    });
    expect(said).toEqual([true, false, false]);
  });

  it('tells limiters the method, the path without its query, and headers', async () => {
    const told: string[] = [];
    const key = (r: { method: string; path: string; header(name: string): string | undefined }) =>
      void told.push(`${r.method} ${r.path} ${r.header('X-Many')}`);
    const { get } = await serve(nodeGuard(rateLimit({ limit: 100, window: '1h', key })));
    const headers = { 'x-many': ['1', '2'] };
    await get('/a/b?c=/d', { method: 'DELETE', headers });
    await get('/a#b');
    await get('//a', { headers: { cookie: 'a=b' } });
    await get('http://example.org/a?b');
    await get('http://example.org?b');
    await get('*', { method: 'OPTIONS' });
    expect(told).toEqual([
      'DELETE /a/b 1, 2',
      'GET /a undefined',
      'GET //a undefined',
      'GET /a undefined',
      'GET / undefined',
      'OPTIONS * undefined',
    ]);
  });

  it.each<[string, NodeGuardOptions, string | undefined]>([
    ['the socket, unless told otherwise', {}, '127.0.0.1'],
    ['a hop count', { trustProxy: 1 }, '2001:db8::/64'],
    ['addresses', { trustProxy: ['loopback'], ipv6Prefix: 48 }, '2001:db8::/48'],
    ['two hops', { trustProxy: 2 }, '6.6.6.6'],
  ])('believes %s', async (_, options, expected) => {
    const seen: unknown[] = [];
    const limiter = rateLimit({ limit: 9, window: '1h', key: (r) => void seen.push(r.clientIp) });
    const { get } = await serve(nodeGuard(limiter, options));
    await get('/', { headers: { 'x-forwarded-for': '6.6.6.6, 2001:db8::7' } });
    expect(seen).toEqual([expected]);
  });

  it.each([
    [{ trustProxy: true }, 'SPW_TRUST_PROXY_UNSAFE'],
    [{ ipv6Prefix: 7 }, 'SPW_OPTION_INVALID'],
  ])('refuses the options %j', (options, code) => {
    const limiter = rateLimit({ limit: 1, window: '1h' });
    expect(() => nodeGuard(limiter, options as NodeGuardOptions)).toThrow(code);
  });

  it('lets an own answer stand in, also one that takes its time; what it throws, the guard throws', async () => {
    const guard = nodeGuard<IncomingMessage, ServerResponse>(
      rateLimit({ limit: 1, window: '1h', cost: () => 2 }),
      {
        async onRejected({ binding }, req, res) {
          await new Promise(setImmediate);
          if (req.url === '/fails') throw new Error('mine');
          res.setHeader('Content-Type', 'text/plain').end(binding?.reason);
        },
      },
    );
    const said: boolean[] = [];
    const server = http.createServer(async (req, res) => {
      try {
        said.push(await guard(req, res));
      } catch (error) {
        res.writeHead(500).end((error as Error).message);
      }
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const refused = await fetch(base);
    expect([refused.status, refused.headers.get('content-type')]).toEqual([429, 'text/plain']);
    expect(await refused.text()).toBe('never');
    const failed = await fetch(`${base}/fails`);
    expect([failed.status, await failed.text()]).toEqual([500, 'mine']);
    expect(said).toEqual([false]);
  });

  it('shows the listener its decisions, and joins the fields of several guards', async () => {
    const front = nodeGuard(rateLimit({ name: 'front', limit: 3, window: '1h' }));
    const back = nodeGuard(rateLimit({ name: 'back', limit: 2, window: '1h' }));
    const { get } = await serve(front, async (req, res) => {
      if (!(await back(req, res))) return;
      const decisions = admissionsOf(req).flatMap((admission) => admission.decisions);
      res.end(decisions.map(({ limiter, remaining }) => `${limiter} ${remaining}`).join());
    });
    const { headers, body } = await get();
    expect(headers['ratelimit-policy']).toBe('"front";q=3;w=3600, "back";q=2;w=3600');
    expect(body).toBe('front 2,back 1');
  });

  it('releases at the end of the response, or when the client goes away', async () => {
    const { outcomes, guard } = noting();
    const { get, open } = await serve(guard, (req, res) => {
      if (req.url === '/ends') res.end('hello');
      else res.write('begun');
    });
    await get('/ends');
    await until(() => outcomes.length === 1);
    const client = open('/goes').on('error', () => undefined);
    client.end();
    const [response] = await once(client, 'response');
    response.on('error', () => undefined);
    client.destroy();
    await until(() => outcomes.length === 2);
    expect(outcomes).toEqual([
      { status: 200, aborted: false },
      { status: 200, aborted: true },
    ]);
  });

  it('tells a guard that comes between the end of a response and its close that nobody aborted', async () => {
    const { outcomes, guard } = noting();
    const off = nodeGuard(rateLimit({ limit: 1, window: '1h', mode: 'off' }));
    const { get } = await serve(off, (req, res) => {
      res.on('finish', () => void guard(req, res));
      res.end('hello');
    });
    await get();
    await until(() => outcomes.length === 1);
    expect(outcomes).toEqual([{ status: 200, aborted: false }]);
  });

  it('releases pipelined requests whose turn never came', async () => {
    const { outcomes, guard } = noting();
    let arrived = 0;
    const { port } = await serve(guard, () => {
      arrived += 1;
    });
    const client = net.connect(port, '127.0.0.1');
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3));
    await until(() => arrived === 3);
    client.destroy();
    await until(() => outcomes.length === 3);
    expect(outcomes).toEqual([{ aborted: true }, { aborted: true }, { aborted: true }]);
  });

  it('does not go on when the client went away while the store was asked', async () => {
    let answer: () => void = () => undefined;
    let asked = 0;
    const memory = memoryStore();
    const store: Store = remoteStore({
      sync: false,
      apply(steps: readonly Step[]): Promise<readonly Answer[]> {
        asked += 1;
        return new Promise((resolve) => {
          answer = () => resolve(memory.apply(steps));
        });
      },
    });
    const { outcomes, guard } = noting({ store, storeTimeout: '10s' });
    const said: unknown[] = [];
    let closed = false;
    const noted = Object.assign(
      async (req: IncomingMessage, res: ServerResponse) => {
        res.once('close', () => {
          closed = true;
        });
        const goOn = await guard(req, res);
        said.push(goOn);
        return goOn;
      },
      { close: () => guard.close() },
    );
    const { open } = await serve(noted as NodeGuard);
    const client = open().on('error', () => undefined);
    client.end();
    await until(() => asked === 1);
    client.destroy();
    await until(() => closed);
    answer();
    await until(() => said.length === 1);
    expect({ said, outcomes }).toEqual({
      said: [false],
      outcomes: [{ aborted: true, unhandled: true }],
    });
  });

  it('goes on, and says so, when something of it fails', async () => {
    const faults: Fault[] = [];
    const lie = { allowed: false, limiter: 'a\r\nX-Evil: 1', reason: 'rate', policy: {} };
    const { get } = await serve(
      nodeGuard(
        { kind: 'local', name: 'theirs', mode: 'enforce', decide: () => lie as never },
        { onFault: (fault) => faults.push(fault) },
      ),
    );
    const { status, headers } = await get();
    expect([status, headers['x-evil']]).toEqual([200, undefined]);
    expect(faults).toMatchObject([{ source: 'adapter' }]);
  });
});
