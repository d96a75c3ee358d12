/** Over real HTTP: a server's answers are obeyed, what is sent arrives, and connections are reused. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type PacedFetchOptions, pacedFetch } from '@spillway/outgoing';
import { afterEach, expect, it } from 'vitest';
import { FakeShaper } from './fake-shaper.js';
import { VirtualTime } from './virtual-time.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(handler: Handler): Promise<{ url: string; host: string; server: Server }> {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `http://${host}/`, host, server };
}

/** `pacedFetch` with slots that come at once until somebody pauses. */
function paced(options: PacedFetchOptions = {}): {
  readonly time: VirtualTime;
  readonly shaper: FakeShaper;
  readonly send: typeof fetch;
} {
  const time = new VirtualTime();
  const shaper = new FakeShaper(time, 0);
  return { time, shaper, send: pacedFetch(shaper, { random: () => 0, ...options }) };
}

it('a Retry-After pauses the host with its port, and the body is there to be read', async () => {
  const { url, host } = await serve((_, response) => {
    response.writeHead(429, { 'retry-after': '3' }).end('too many');
  });
  const { shaper, send } = paced();
  const response = await send(url);
  expect(await response.text()).toBe('too many');
  expect(shaper.pauses).toEqual([{ key: host, ms: 3000 }]);
});

it('a date is taken by the clock of the server that sent it', async () => {
  const { url, host } = await serve((_, response) => {
    response.writeHead(503, {
      date: 'Sun, 06 Nov 1994 08:49:37 GMT',
      'retry-after': 'Sunday, 06-Nov-94 08:49:42 GMT',
    });
    response.end();
  });
  const { shaper, send } = paced();
  await (await send(url)).text();
  expect(shaper.pauses).toEqual([{ key: host, ms: 5000 }]);
});

it('fields on several lines are one list', async () => {
  const { url, host } = await serve((_, response) => {
    response.setHeader('ratelimit', ['"a";r=3;t=5', '"b";r=0;t=9']);
    response.writeHead(200).end();
  });
  const { shaper, send } = paced({ jitter: 0 });
  await (await send(url)).text();
  expect(shaper.pauses).toHaveLength(1);
  expect(shaper.pauses[0]?.key).toBe(host);
  expect(shaper.pauses[0]?.ms).toBeGreaterThan(8900);
  expect(shaper.pauses[0]?.ms).toBeLessThanOrEqual(9000);
});

it('a call that is made again sends its body again, over the same connection', async () => {
  const bodies: string[] = [];
  let connections = 0;
  const { url, server } = await serve((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += String(chunk);
    });
    request.on('end', () => {
      bodies.push(body);
      response.writeHead(bodies.length < 3 ? 503 : 201, { 'retry-after': '0' }).end('done');
    });
  });
  server.on('connection', () => {
    connections += 1;
  });
  const { time, send } = paced({ retries: 2 });
  const asked = send(url, { method: 'PUT', body: 'hello' });
  let isOver = false;
  const over = asked.finally(() => {
    isOver = true;
  });
  while (!isOver) await time.run(10);
  expect((await over).status).toBe(201);
  expect(bodies).toEqual(['hello', 'hello', 'hello']);
  expect(connections).toBeLessThan(3);
});

it('a server that says nothing is given up after the timeout', async () => {
  const { url } = await serve(() => undefined);
  const { send } = paced({ timeout: '20ms', retries: 3, retryErrors: true });
  await expect(send(url)).rejects.toMatchObject({ name: 'TimeoutError' });
});

it('a redirect is followed as fetch does it, and what its end says pauses that host', async () => {
  const end = await serve((_, response) => {
    response.writeHead(429, { 'retry-after': '2' }).end();
  });
  const { url } = await serve((_, response) => {
    response.writeHead(307, { location: end.url, 'retry-after': '9' }).end();
  });
  const { shaper, send } = paced();
  expect((await send(url)).status).toBe(429);
  expect(shaper.pauses).toEqual([{ key: end.host, ms: 2000 }]);
});
