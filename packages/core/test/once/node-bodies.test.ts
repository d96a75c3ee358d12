/** Bodies of node:http that break off, that nobody reads, or that have other forms than bytes. */

import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import http2 from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { idempotency, memoryStore } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { until } from 'spillway-testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bodyOf, failingStore, type Handler, serve } from './set-up.js';

/** A store that answers a few turns of the event loop later, so responses end before claims. */
function farAway() {
  const memory = memoryStore();
  const far = async () => {
    for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  const { store, calls } = failingStore(memory);
  const values = {
    get: store.values?.get.bind(store.values) as never,
    set: async (...args: Parameters<typeof memory.values.set>) => {
      await far();
      memory.values.set(...args);
    },
  };
  return { store: { ...store, values } as typeof store, calls };
}

describe('a body that no handler reads', () => {
  const unread: Handler = (_req, res) => res.end('unread');

  it.each([10, 100_000, 3_000_000])('is compared by its length: %i bytes', async (length) => {
    const { store, calls } = farAway();
    const { post, runs } = await serve(unread, { store });
    const body = 'x'.repeat(length);
    await post('key-1', { body });
    await until(() => calls.length === 2);
    expect((await post('key-1', { body })).isRepeat).toBe(true);
    expect((await post('key-1', { body: `${body}x` })).status).toBe(422);
    expect(runs()).toBe(1);
  });

  it('has no fingerprint, also where the rest of it comes after the answer', async () => {
    const { store, calls } = farAway();
    const { post, port } = await serve(unread, { store });
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.write(
      'POST /charges HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nIdempotency-Key: key-1\r\n' +
        'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n',
    );
    await once(socket, 'data');
    socket.write('5\r\nworld\r\n0\r\n\r\n');
    await until(() => calls.length === 2);
    expect((await post('key-1', { body: 'helloworld' })).isRepeat).toBe(true);
  });
});

/** Reads the body, and responds as parsers do if it breaks off. */
const parsing: Handler = async (req, res, run) => {
  let parsed: unknown;
  try {
    parsed = JSON.parse(await bodyOf(req));
  } catch {
    res.statusCode = 400;
  }
  res.end(`${run} ${parsed}`);
};

describe('a body that breaks off', () => {
  it('leaves no answer of 400 behind: the request runs when all of it comes', async () => {
    const { post, port, memory, runs } = await serve(parsing);
    const socket = connect(port, '127.0.0.1');
    const head = 'POST /charges HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n';
    socket.write(`${head}Idempotency-Key: key-1\r\nContent-Length: 12\r\n\r\n"hello`);
    await until(() => runs() === 1);
    socket.destroy();
    await until(() => memory.size === 0);
    expect(await post('key-1', { body: '"helloworld"' })).toMatchObject({ text: '2 helloworld' });
  });

  it('is done where the handler has answered otherwise', async () => {
    const { post, port, runs, events } = await serve(async (req, res) => {
      await bodyOf(req).catch(() => undefined);
      res.end('charged all the same');
    });
    const socket = connect(port, '127.0.0.1');
    const head = 'POST /charges HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n';
    socket.write(`${head}Idempotency-Key: key-1\r\nContent-Length: 12\r\n\r\n"hello`);
    await until(() => runs() === 1);
    socket.destroy();
    await until(async () => {
      await post('key-1', { body: '"helloworld"' });
      return events.at(-1)?.reason !== 'running';
    });
    expect((await post('key-1', { body: '"helloworld"' })).isRepeat).toBe(true);
    expect(runs()).toBe(1);
  });

  it('of HTTP/2 is the same', async () => {
    const guard = nodeGuard<never>(idempotency({ scope: () => 'ada' }), { store: memoryStore() });
    let runs = 0;
    let answered = 0;
    const server = http2.createServer(async (req, res) => {
      if (!(await guard(req as never, res as never))) return;
      runs += 1;
      await parsing(req as never, res as never, runs);
      answered += 1;
    });
    server.listen(0);
    onTestFinished(() => void server.close());
    const client = http2.connect(`http://localhost:${(server.address() as AddressInfo).port}`);
    onTestFinished(() => client.destroy());
    const head = { ':method': 'POST', ':path': '/charges', 'idempotency-key': 'key-1' };
    Object.assign(head, { 'content-length': 12 });
    const cut = client.request(head);
    cut.on('error', () => undefined);
    cut.write('"hello');
    await until(() => runs === 1);
    cut.close(http2.constants.NGHTTP2_CANCEL);
    await until(() => answered === 1);
    const whole = client.request(head).end('"helloworld"');
    let text = '';
    for await (const chunk of whole) text += String(chunk);
    expect(text).toBe('2 helloworld');
  });
});

describe('a body that is read as text', () => {
  it.each([
    ['utf8', Buffer.from([0x61, 0xff, 0xfe, 0x62])],
    ['ascii', Buffer.from([0x61, 0xe4])],
    ['latin1', Buffer.from([0x61, 0xe4, 0xff])],
    ['hex', Buffer.from([0x61, 0xe4, 0xff])],
    ['base64', Buffer.from([0x61, 0xe4, 0xff])],
    ['utf16le', Buffer.from([0x61, 0xe4, 0xff])],
  ] as const)('is the same again, whatever its bytes: %s', async (encoding, body) => {
    const { port } = await serve(async (req, res) => {
      req.setEncoding(encoding);
      for await (const _ of req);
      res.end('read');
    });
    const send = async () => {
      const headers = { 'Idempotency-Key': 'key-1' };
      const req = httpRequest({ port, method: 'POST', headers, agent: false }).end(body);
      const [res] = (await once(req, 'response')) as [IncomingMessage];
      return `${res.statusCode} ${res.headers['idempotency-replayed']}`;
    };
    expect(await send()).toBe('200 undefined');
    expect(await send()).toBe('200 true');
  });
});
