/** Custom responses of all kinds, and the same guard twice, with plain node:http. */

import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { concurrencyLimit, rateLimit } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

type Listener = (req: IncomingMessage, res: ServerResponse) => unknown;

async function serve(listener: Listener): Promise<string> {
  const server = http.createServer((req, res) => void listener(req, res));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Answered {
  readonly status: number;
  readonly type: string | null;
  readonly body: string;
}

async function fetchHttp1(listener: Listener): Promise<Answered> {
  const response = await fetch(await serve(listener));
  const { status, headers } = response;
  return { status, type: headers.get('content-type'), body: await response.text() };
}

async function fetchHttp2(listener: Listener): Promise<Answered> {
  const server = http2.createServer((req, res) => void listener(req as never, res as never));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.close();
    server.close();
  });
  const stream = client.request({ ':path': '/' });
  const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
  let body = '';
  for await (const chunk of stream) body += String(chunk);
  return { status: Number(headers[':status']), type: headers['content-type'] ?? null, body };
}

const never = () => rateLimit<IncomingMessage>({ limit: 1, window: '1h', cost: () => 2 });

it.each<[string, (res: ServerResponse) => unknown]>([
  ['its response', (res) => res.end('sorry')],
  ['a number', (res) => res.end('sorry') && 7],
  ['a promise', async (res) => res.end('sorry')],
  ['null', (res) => res.end('sorry') && null],
])('an own answer may return %s', async (_, answer) => {
  const guard = nodeGuard<IncomingMessage, ServerResponse>(never(), {
    onRejected: (_admission, _req, res) => answer(res),
  });
  const said: unknown[] = [];
  const url = await serve(async (req, res) => said.push(await guard(req, res)));
  const { status, ...response } = await fetch(url).then(async (it) => ({
    status: it.status,
    body: await it.text(),
  }));
  expect({ status, ...response }).toEqual({ status: 429, body: 'sorry' });
  expect(said).toEqual([false]);
});

it.each([
  [
    'throws',
    () => {
      throw new Error('mine');
    },
  ],
  ['rejects', () => Promise.reject(new Error('mine'))],
])(
  'what an own answer %s, the guard throws, and the status is no refusal',
  async (_, onRejected) => {
    const guard = nodeGuard<IncomingMessage, ServerResponse>(never(), { onRejected });
    const url = await serve(async (req, res) => {
      try {
        await guard(req, res);
      } catch (error) {
        res.end((error as Error).message);
      }
    });
    const response = await fetch(url);
    expect([response.status, await response.text()]).toEqual([500, 'mine']);
  },
);

describe.each(['HTTP/1.1', 'HTTP/2'])('an own answer over %s that is none', (version) => {
  const refused = async (onRejected: (res: ServerResponse) => unknown) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const faults: unknown[] = [];
    let asked = (): void => undefined;
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const guard = nodeGuard<IncomingMessage, ServerResponse>(never(), {
      onFault: ({ error }) => void faults.push((error as Error).message),
      onRejected: (_admission, _req, res) => {
        asked();
        return onRejected(res);
      },
    });
    const said: unknown[] = [];
    const listener: Listener = async (req, res) => said.push(await guard(req, res));
    const reply = version === 'HTTP/2' ? fetchHttp2(listener) : fetchHttp1(listener);
    await isAsked;
    return { reply, said, faults };
  };

  it.each<[string, (res: ServerResponse) => unknown, string]>([
    ['returns nothing', () => undefined, 'onRejected ended without an answer'],
    ['never ends', () => new Promise(() => undefined), 'onRejected has not answered within 10 s'],
  ])('is the default rejection where it %s', async (_, own, fault) => {
    const { reply, said, faults } = await refused(own);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(faults).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    const { status, type, body } = await reply;
    expect([status, type]).toEqual([429, 'application/problem+json']);
    expect(JSON.parse(body)).toMatchObject({ status: 429 });
    expect(said).toEqual([false]);
    expect(faults).toEqual([expect.stringContaining(fault)]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('does not end the process when it comes after all', async () => {
    let late = (): void => undefined;
    const { reply } = await refused((res) => {
      late = () => {
        res.setHeader('a', 'b');
        res.writeHead(200);
        res.write('too');
        res.end('late');
      };
    });
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await reply).status).toBe(429);
    expect(late).not.toThrow();
    await new Promise(setImmediate);
  });
});

it('the same guard twice on a request counts it once, and holds one permit', async () => {
  const lines: string[] = [];
  const limiters = [
    rateLimit<IncomingMessage>({ name: 'same', limit: 9, window: '1h' }),
    concurrencyLimit<IncomingMessage>({ name: 'at-once', limit: 1 }),
  ];
  const guard = nodeGuard(limiters, { logger: { warn: (line) => lines.push(line) } });
  const url = await serve(async (req, res) => {
    if ((await guard(req, res)) && (await guard(req, res))) res.end(`${guard.inProgress}`);
  });
  for (const left of [8, 7]) {
    const response = await fetch(url);
    expect([response.status, await response.text()]).toEqual([200, '1']);
    expect(response.headers.get('ratelimit')).toContain(`"same";r=${left};`);
  }
  expect(lines).toMatchObject([expect.stringContaining('same, at-once is mounted twice')]);
});

it('the guard throws where it is called as middleware, for nobody would go on', () => {
  const guard = nodeGuard(rateLimit({ limit: 1, window: '1h' })) as (...of: unknown[]) => unknown;
  expect(() => guard({}, {}, () => undefined)).toThrow(
    /^nodeGuard\(\) does not return middleware: .* \(SPW_OPTION_INVALID\)$/,
  );
});
