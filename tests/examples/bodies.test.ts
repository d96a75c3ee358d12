/** The recipes for GraphQL, uploads and WebSockets, as they are printed. */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { exampleOf, json, repeat, type Service, serveExample } from './pages.js';
import { stopClock } from './time.js';
import { authenticate } from './users.js';

describe('docs/recipes/graphql.md', () => {
  const open = () => {
    const page = exampleOf('docs/recipes/graphql.md', 'Limit by what a query asks for');
    return serveExample(page, { yours: { authenticate } });
  };

  it('charges the fields of a query, those of a fragment wherever it is used', async () => {
    stopClock();
    const { ask } = await open();
    const left = async (query: string) => {
      const response = await ask('/graphql', json({ query }));
      return Number(/r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1]);
    };
    const first = await ask('/graphql', json({ query: '{ hello name }' }));
    expect(await first.json()).toEqual({ data: { hello: 'world', name: 'Ada' } });
    expect(first.headers.get('ratelimit')).toMatch(/^"fields";r=98;/);
    expect(await left('{ hello ...F ...F } fragment F on Query { name a: name }')).toBe(93);
    expect(await left('{ ...F } fragment F on Query { ...F }')).toBe(92); // it uses itself
  });

  it('answers what it cannot parse, and what is too long, without running it', async () => {
    const { ask } = await open();
    const long = `{ ${'hello '.repeat(3_000)} }`;
    for (const body of [{ query: '}' }, { query: long }, {}, [{ query: '{ hello }' }]]) {
      expect((await ask('/graphql', json(body))).status).toBe(400);
    }
  });

  it('refuses in the form that clients of GraphQL read', async () => {
    stopClock();
    const { ask } = await open();
    const fields = (many: number) =>
      json({ query: `{ ${Array.from({ length: many }, (_, i) => `f${i}: hello`).join(' ')} }` });
    expect((await ask('/graphql', fields(100))).status).toBe(200);
    const refused = await ask('/graphql', fields(10));
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({
      errors: [{ extensions: { code: 'RATE_LIMITED', retryAfter: 1 } }],
    });
    const tooLarge = await ask('/graphql', fields(101));
    expect(await tooLarge.json()).toMatchObject({
      errors: [{ extensions: { code: 'QUERY_TOO_LARGE', maxFields: 100 } }],
    });
  });
});

describe('docs/recipes/graphql.md, settled', () => {
  it('tells what a query really cost, and charges that', async () => {
    stopClock();
    const page = exampleOf('docs/recipes/graphql.md', 'Charge what a query really did');
    const { ask } = await serveExample(page, { yours: { authenticate } });
    const books = (first: number) => ask('/graphql', json({ query: `{ books(first: ${first}) }` }));
    const first = await (await books(3)).json();
    expect(first).toMatchObject({
      data: { books: ['Book 0', 'Book 1', 'Book 2'] },
      extensions: { cost: { requested: 50, charged: 3, remaining: 997 } },
    });
    const second = await (await books(1_200)).json();
    expect(second).toMatchObject({ extensions: { cost: { charged: 1_200, remaining: 0 } } });
    await expect.poll(async () => (await books(1)).status).toBe(429);
  });
});

describe('docs/recipes/uploads.md', () => {
  const open = (replace: Record<string, string> = {}) => {
    const page = exampleOf('docs/recipes/uploads.md', 'Limit bytes, and uploads at once');
    return serveExample(page, { yours: { authenticate }, replace });
  };

  /**
   * An upload that goes on until `end` is called. With `expect: 100-continue`, Node's server hands the request to the
   * guard as it answers with 100.
   */
  const begin = ({ port }: Service, headers: http.OutgoingHttpHeaders) => {
    const request = http.request({ port, method: 'PUT', path: '/files/a', headers, agent: false });
    request.on('error', () => undefined);
    request.flushHeaders();
    const status = once(request, 'response').then(
      ([response]) => (response as http.IncomingMessage).statusCode,
    );
    return { status, request };
  };

  it('charges by size, and refuses what the hour has not left', async () => {
    stopClock();
    const { ask, statuses } = await open({ 'const MB = 1_000_000': 'const MB = 1_000' });
    const put = (bytes: number) => ({ method: 'PUT', body: Buffer.alloc(bytes) });
    const first = await ask('/files/a', put(1_500));
    expect([first.status, await first.json()]).toEqual([201, { bytes: 1_500 }]);
    expect(first.headers.get('ratelimit')).toContain('"upload-mb";r=498;');
    expect(await statuses(5, '/files/a', put(100_000))).toEqual([...repeat(4, 201), 429]);
    const { headers } = await ask('/files/a', put(98_000));
    expect(headers.get('ratelimit')).toContain('"upload-mb";r=0;');
    expect((await ask('/files/a', put(0))).status).toBe(429);
  });

  it('lets two run at once, wants a length, and takes nothing that is too large', async () => {
    const service = await open();
    const headers = { 'content-length': 5, expect: '100-continue' };
    const uploads = [begin(service, headers), begin(service, headers)];
    await Promise.all(uploads.map(({ request }) => once(request, 'continue')));
    expect((await service.ask('/files/b', { method: 'PUT', body: 'x' })).status).toBe(429);
    for (const { request } of uploads) request.end('hello');
    expect(await Promise.all(uploads.map(({ status }) => status))).toEqual([201, 201]);
    await expect
      .poll(async () => (await service.ask('/files/b', { method: 'PUT', body: 'x' })).status)
      .toBe(201);
    const others = [
      begin(service, { 'transfer-encoding': 'chunked' }),
      begin(service, { 'content-length': 100_000_001 }),
    ];
    expect(await Promise.all(others.map(({ status }) => status))).toEqual([411, 413]);
    for (const { request } of others) request.destroy();
  });
});

describe('docs/recipes/websockets.md', () => {
  const open = () =>
    serveExample(exampleOf('docs/recipes/websockets.md', 'With ws on node:http', 'ws'));
  const connect = ({ port }: Service) => new WebSocket(`ws://localhost:${port}/`);

  it('lets three sockets be open, and another when one has closed', async () => {
    const service = await open();
    const sockets = Array.from({ length: 3 }, () => connect(service));
    await Promise.all(sockets.map((socket) => once(socket, 'open')));
    const fourth = connect(service);
    fourth.on('error', () => undefined);
    const [, response] = (await once(fourth, 'unexpected-response')) as [
      unknown,
      http.IncomingMessage,
    ];
    expect(response.statusCode).toBe(429);
    expect(response.headers['content-type']).toBe('application/problem+json');
    sockets[0]?.terminate();
    await expect
      .poll(() => {
        const next = connect(service);
        sockets.push(next);
        return once(next, 'open').then(
          () => 'open',
          () => 'refused',
        );
      })
      .toBe('open');
    for (const socket of sockets) socket.terminate();
  });

  it('answers what is too much, and stays open', async () => {
    stopClock();
    const service = await open();
    const socket = connect(service);
    await once(socket, 'open');
    const answers: string[] = [];
    socket.on('message', (data) => answers.push(String(data)));
    for (let i = 0; i < 21; i += 1) socket.send(`${i}`);
    await expect.poll(() => answers.length).toBe(21);
    expect(answers.slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, i) => `you said ${i}`));
    expect(JSON.parse(answers[20] ?? '')).toEqual({
      error: 'too many messages',
      retryAfterMs: 100,
    });
    expect(socket.readyState).toBe(WebSocket.OPEN);
    socket.terminate();
  });

  it('limits how often somebody connects', async () => {
    stopClock();
    const service = await open();
    const outcomes: string[] = [];
    for (let i = 0; i < 31; i += 1) {
      const socket = connect(service);
      socket.on('error', () => undefined);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      outcomes.push(
        await Promise.race([
          once(socket, 'open').then(() => 'open'),
          once(socket, 'unexpected-response').then(([, { headers }]) => headers.ratelimit),
        ]),
      );
      socket.terminate();
      await closed;
      await service.ask('/'); // so the server has noticed the disconnect
    }
    expect(outcomes.slice(0, 3)).toEqual(repeat(3, 'open'));
    expect(outcomes.at(-1)).toMatch(/^"connects";r=0;t=\d+, "open-sockets";r=3$/);
  });
});

describe('docs/recipes/uploads.md, downloads', () => {
  it('charges what was sent', async () => {
    stopClock();
    const dir = mkdtempSync(join(tmpdir(), 'spillway-video-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const file = join(dir, 'video.mp4');
    writeFileSync(file, Buffer.alloc(5_000_000));
    const page = exampleOf('docs/recipes/uploads.md', 'Limit bytes of downloads');
    const replace = { "'video.mp4'": JSON.stringify(file) };
    const { ask, port } = await serveExample(page, { yours: { authenticate }, replace });
    const left = async (user = 'ada') => {
      const answer = await ask('/video', { headers: { 'x-user': user } });
      await answer.arrayBuffer();
      return Number(/r=(\d+)/.exec(answer.headers.get('ratelimit') ?? '')?.[1]);
    };
    expect(await left()).toBe(999_000); // reserved: 1 MB
    await expect.poll(() => left()).toBeLessThanOrEqual(994_000);

    const headers = { 'x-user': 'eve' };
    const client = http.get({ port, path: '/video', headers, agent: false });
    client.on('error', () => undefined);
    const [response] = await once(client, 'response');
    await once(response, 'data');
    client.destroy();
    await expect.poll(() => left('eve'), { interval: 200 }).toBeLessThan(998_900);
  });
});

describe('docs/spending.md', () => {
  it('charges an export by its rows', async () => {
    stopClock();
    async function* rowsOf(user: string) {
      for (let i = 0; i < Number(user); i += 1) yield `row ${i}`;
    }
    const page = exampleOf('docs/spending.md', 'An export that costs by rows');
    const { ask } = await serveExample(page, { yours: { authenticate, rowsOf } });
    const rows = async (user: string) => {
      const answer = await ask('/export', { headers: { 'x-user': user } });
      const text = await answer.text();
      return { status: answer.status, rows: text.split('\n').length - 1 };
    };
    expect(await rows('3')).toEqual({ status: 200, rows: 3 });
    expect(await rows('9900')).toEqual({ status: 200, rows: 9_900 });
    await expect.poll(async () => (await rows('9900')).status).toBe(429);
    expect(await rows('3')).toEqual({ status: 200, rows: 3 });
  });
});
