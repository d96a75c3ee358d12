/** Redirects: followed as `fetch` does, but each hop waits for a slot of its host, and its answer may pause it. */

import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pacedFetch } from '@spillway/outgoing';
import { afterEach, describe, expect, it } from 'vitest';
import { FakeShaper } from './fake-shaper.js';
import { PERIOD_MS, setUp, URL_A, within } from './paced-fetch-set-up.js';
import { VirtualTime } from './virtual-time.js';

const URL_B = 'https://b.example/messages';

const to = (location: string, status = 302): [number, Record<string, string>] => [
  status,
  { location },
];

describe('a redirect to another host', () => {
  it('takes its turn there, beside what calls that host itself', async () => {
    const answers = Array.from({ length: 9 }, () => [200] as const);
    const { time, send, shaper } = setUp([], {
      fetch: async (url) => {
        const [status, headers] = String(url).startsWith(URL_A) ? to(URL_B) : (answers[0] ?? [200]);
        return new Response(null, { status, headers: headers as Record<string, string> });
      },
    });
    const calls = [1, 2, 3].flatMap(() => [send(URL_A), send(URL_B)]);
    await within(time, 20 * PERIOD_MS, Promise.all(calls));
    const atB = shaper.starts.filter(({ key }) => key === 'b.example').map(({ atMs }) => atMs);
    expect(atB).toHaveLength(6);
    const gaps = atB.slice(1).map((ms, at) => ms - (atB[at] as number));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(PERIOD_MS);
  });

  it('that refuses pauses that host, and not the one that sent us there', async () => {
    const { time, send, pauses } = setUp([to(URL_B), [429, { 'retry-after': '30' }]]);
    expect((await within(time, 9_000, send(URL_A))).status).toBe(429);
    expect(pauses()).toEqual(['b.example: 30000']);
  });

  it('is repeated there', async () => {
    const answers = [to(URL_B), [429, { 'retry-after': '1' }], [200]] as const;
    const { time, send, calls } = setUp(answers, { retries: 1 });
    expect((await within(time, 9_000, send(URL_A))).status).toBe(200);
    expect(calls.map(({ args }) => args[0])).toEqual([URL_A, URL_B, URL_B]);
  });

  it('has the key that the function says for it', async () => {
    const key = ({ url }: Request): string => `of ${new URL(url).pathname}`;
    const { time, send, shaper } = setUp([to('https://b.example/other')], { key });
    await within(time, 9_000, send(URL_A));
    expect(shaper.starts.map((start) => start.key)).toEqual(['of /messages', 'of /other']);
  });

  it('is not told who is calling', async () => {
    const headers = { authorization: 'a', cookie: 'b', 'proxy-authorization': 'c', 'x-own': 'd' };
    const { time, send, calls } = setUp([to('/next'), to(URL_B), to(URL_A)]);
    await within(time, 9_000, send(URL_A, { headers }));
    const sent = calls.map(({ args }) => [...new Headers((args[1] as RequestInit).headers).keys()]);
    const all = ['authorization', 'cookie', 'proxy-authorization', 'x-own'];
    expect(sent).toEqual([all, all, ['x-own'], ['x-own']]);
  });
});

it('a redirect to the same host takes a turn, too', async () => {
  const { time, send, calls } = setUp([to('/next')]);
  await within(time, 9_000, send(URL_A));
  expect(calls.map(({ atMs }) => atMs)).toEqual([0, PERIOD_MS]);
});

describe('by redirect', () => {
  it.each(['manual', 'error'] as const)('%s nothing is followed here', async (redirect) => {
    const { time, send, calls } = setUp([to(URL_B)]);
    expect((await within(time, 9_000, send(URL_A, { redirect }))).status).toBe(302);
    expect(calls).toHaveLength(1);
    expect(calls[0]?.args[1]).toEqual({ redirect });
  });

  it('manual of a Request nothing is followed', async () => {
    const { time, send } = setUp([to(URL_B)]);
    const request = new Request(URL_A, { redirect: 'manual' });
    expect((await within(time, 9_000, send(request))).status).toBe(302);
  });
});

it('a runtime that hides redirects follows them itself', async () => {
  const opaque = { type: 'opaqueredirect', status: 0, headers: new Headers(), body: null };
  const given: unknown[] = [];
  const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
    given.push(init?.redirect);
    return init?.redirect === 'manual' ? (opaque as unknown as Response) : new Response('end');
  };
  const { time, send } = setUp([], { fetch });
  expect(await (await within(time, 9_000, send(URL_A))).text()).toBe('end');
  expect(given).toEqual(['manual', undefined]);
  await expect(within(time, 9_000, send(URL_A, { method: 'POST' }))).rejects.toThrow(TypeError);
});

/** What `pacedFetch` and `fetch` both do, over real HTTP, with the same server. */
describe('as by fetch', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  async function serve(): Promise<{ url: string; seen: string[] }> {
    const seen: string[] = [];
    const server = createServer(async (request: IncomingMessage, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const { method, url = '', headers } = request;
      const fields = [
        headers.authorization,
        headers.cookie,
        headers['content-type'],
        headers['x-own'],
      ];
      seen.push(`${method} ${url} ${fields.join()} ${Buffer.concat(parts)}`);
      const [, status, ...location] = url.split('!');
      if (!status) {
        response.end(`end of ${method}`);
        return;
      }
      const target = location.join('!');
      response.writeHead(Number(status), target === '' ? {} : { location: target }).end('moved');
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
  }

  const stream = (): ReadableStream => new Blob(['text']).stream();
  type Make = (url: string) => Parameters<typeof fetch>;

  const headers = { authorization: 'me', cookie: 'a=b', 'x-own': '1' };
  const calls: [string, Make][] = [
    ...[301, 302, 303, 307, 308].flatMap((status): [string, Make][] =>
      ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'].map((method) => [
        `${status} of a ${method}`,
        (url) => {
          const body = method === 'POST' || method === 'PUT' ? { body: 'text' } : {};
          return [`${url}/!${status}!/end?a=1`, { method, headers, ...body }];
        },
      ]),
    ),
    ['300, which is none', (url) => [`${url}/!300!/end`]],
    ['304, which is none', (url) => [`${url}/!304!/end`]],
    ['no Location', (url) => [`${url}/!302`]],
    ['a relative address', (url) => [`${url}/a/b/!302!c`]],
    ['a fragment', (url) => [`${url}/!302!/end%23x#own`]],
    ['an address that is UTF-8', (url) => [`${url}/!302!/%C3%BC`]],
    ['two hops', (url) => [`${url}/!302!/!307!/end`, { method: 'POST', body: 'text' }]],
    ['to data:', (url) => [`${url}/!302!data:text/plain,hi`]],
    ['to file:', (url) => [`${url}/!302!file:///etc/passwd`]],
    ['to what is no address', (url) => [`${url}/!302!http://:a`]],
    ['a Request', (url) => [new Request(`${url}/!302!/end`, { headers })]],
    [
      'a Request with a body, 303',
      (url) => [new Request(`${url}/!303!/end`, { method: 'POST', body: 'a' })],
    ],
    [
      'a stream, 307',
      (url) => [
        `${url}/!307!/end`,
        { method: 'POST', body: stream(), duplex: 'half' } as RequestInit,
      ],
    ],
    [
      'a stream, 303',
      (url) => [
        `${url}/!303!/end`,
        { method: 'POST', body: stream(), duplex: 'half' } as RequestInit,
      ],
    ],
    ['a form', (url) => [`${url}/!307!/end`, { method: 'POST', body: new URLSearchParams('a=b') }]],
  ];

  it.each(calls)('%s', async (_, make) => {
    const outcome = async (send: typeof fetch): Promise<unknown> => {
      const { url, seen } = await serve();
      const result = await send(...make(url)).then(
        async (response) => ({
          status: response.status,
          url: response.url.replace(url, ''),
          redirected: response.redirected,
          text: await response.text(),
        }),
        (error: unknown) => (error as Error).name,
      );
      return { result, seen };
    };
    const paced = pacedFetch(new FakeShaper(new VirtualTime(), 0));
    expect(await outcome(paced)).toEqual(await outcome(fetch));
  });

  it('20 of them are followed, and not 21', async () => {
    for (const hops of [20, 21]) {
      const answers = Array.from({ length: hops }, () => to('/again'));
      const { time, send, calls: made } = setUp(answers);
      const call = within(time, 60_000, send(URL_A));
      if (hops === 20) expect((await call).status).toBe(200);
      else await expect(call).rejects.toThrow(TypeError);
      expect(made).toHaveLength(21);
    }
  });

  it('to another host without Authorization and Cookie', async () => {
    const outcome = async (send: typeof fetch): Promise<readonly string[]> => {
      const [a, b] = [await serve(), await serve()];
      await (await send(`${a.url}/!302!${b.url}/end`, { headers })).text();
      return b.seen;
    };
    const paced = pacedFetch(new FakeShaper(new VirtualTime(), 0));
    expect(await outcome(paced)).toEqual(await outcome(fetch));
    expect(await outcome(paced)).toEqual(['GET /end ,,,1 ']);
  });
});
