/** Own answers of all kinds, and the same guard twice, over plain node:http. */

import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { concurrencyLimit, rateLimit } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { expect, it, onTestFinished } from 'vitest';

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

const never = () => rateLimit<IncomingMessage>({ limit: 1, window: '1h', cost: () => 2 });

it.each<[string, (res: ServerResponse) => unknown]>([
  ['its response', (res) => res.end('sorry')],
  ['a number', (res) => res.end('sorry') && 7],
  ['a promise', async (res) => res.end('sorry')],
  ['null', (res) => res.end('sorry') && null],
])('an own answer may return %s', async (_, answer) => {
  const guard = nodeGuard<IncomingMessage, ServerResponse>(never(), {
    onRefused: (_admission, _req, res) => answer(res),
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
  async (_, onRefused) => {
    const guard = nodeGuard<IncomingMessage, ServerResponse>(never(), { onRefused });
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
    /^what nodeGuard\(\) returns is no middleware: .* \(SPW_OPTION_INVALID\)$/,
  );
});
