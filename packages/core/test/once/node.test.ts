/** What is recorded of bodies and responses of node:http, however they are read, written or changed by other code. */

import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { PassThrough, pipeline } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import { idempotency } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { until } from 'spillway-testkit';
import { latch } from 'spillway-testkit/adapters';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Handler, serve } from './set-up.js';

type Leaving = (res: ServerResponse, leave: () => Promise<unknown>) => unknown;

/** A service whose first client leaves when the handler calls `leave`, which resolves when the response has closed. */
async function left(handler: Leaving) {
  const client = new AbortController();
  const service = await serve((_req, res) => {
    const closed = once(res, 'close');
    return handler(res, () => {
      client.abort();
      return closed;
    });
  });
  await service.post('key-1', { signal: client.signal }).catch(() => undefined);
  return service;
}

describe('a body', () => {
  const long = 'x'.repeat(200_000);
  const other = `${'x'.repeat(199_999)}y`;

  it.each([
    [
      'by data and end',
      (req) => new Promise((resolve) => req.on('data', () => {}).on('end', resolve)),
    ],
    [
      'by iteration',
      async (req) => {
        for await (const _ of req);
      },
    ],
    [
      'by readable and read',
      (req) =>
        new Promise((resolve) => {
          req.on('readable', () => {
            while (req.read(1_000) !== null || req.read() !== null);
          });
          req.on('end', resolve);
        }),
    ],
    [
      'by pipe',
      (req) => new Promise((resolve) => req.pipe(new PassThrough()).resume().on('end', resolve)),
    ],
    [
      'by pipeline',
      (req) => new Promise((resolve) => pipeline(req, new PassThrough().resume(), resolve)),
    ],
    [
      'as text',
      (req) => {
        req.setEncoding('utf8');
        return new Promise((resolve) => req.on('data', () => {}).on('end', resolve));
      },
    ],
    [
      'in another turn',
      async (req) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        for await (const _ of req);
      },
    ],
  ] as [string, (req: IncomingMessage) => Promise<unknown>][])(
    'may be read %s',
    async (_, read) => {
      const { post, runs } = await serve(async (req, res) => {
        await read(req);
        res.end('read');
      });
      expect((await post('key-1', { body: long })).status).toBe(200);
      expect((await post('key-1', { body: long })).isRepeat).toBe(true);
      expect((await post('key-1', { body: other })).status).toBe(422);
      expect(runs()).toBe(1);
    },
  );

  it('that a reader has put back is compared by its length', async () => {
    const { post } = await serve(async (req, res) => {
      await once(req, 'readable');
      req.unshift(req.read(3));
      for await (const _ of req);
      res.end('read');
    });
    await post('key-1', { body: long });
    expect((await post('key-1', { body: long })).isRepeat).toBe(true);
    expect((await post('key-1', { body: 'short' })).status).toBe(422);
  });

  it('that is empty has a fingerprint, told or not', async () => {
    const { post } = await serve((_req, res) => res.end('none'));
    await post('key-1', { body: '' });
    expect((await post('key-1', { body: '' })).isRepeat).toBe(true);
    expect((await post('key-1', { body: 'some' })).status).toBe(422);
  });

  it('in pieces without a length is compared too', async () => {
    const { port } = await serve(async (req, res) => {
      for await (const _ of req);
      res.end('read');
    });
    const send = async (parts: readonly string[]): Promise<string> => {
      const headers = { 'Idempotency-Key': 'key-1' };
      const req = httpRequest({ port, method: 'POST', headers, agent: false });
      for (const part of parts) req.write(part);
      req.end();
      const [res] = (await once(req, 'response')) as [IncomingMessage];
      return `${res.statusCode} ${res.headers['idempotency-replayed']}`;
    };
    expect(await send(['abc', 'def'])).toBe('200 undefined');
    expect(await send(['a', 'bcdef'])).toBe('200 true');
    expect(await send(['abc', 'xyz'])).toBe('422 undefined');
  });

  it('of a repeat that is too long is not read: 413, and the connection ends', async () => {
    const { post, port } = await serve(async (req, res) => {
      for await (const _ of req);
      res.end('read');
    });
    const type = { 'Content-Type': 'application/json', 'Idempotency-Key': 'key-1' };
    await post('key-1', { body: 'x', headers: type });
    const headers = { ...type, 'Content-Length': String(11 * 2 ** 20) };
    const host = '127.0.0.1';
    const where = { host, port, path: '/charges' };
    const req = httpRequest({ ...where, method: 'POST', headers, agent: false });
    req.on('error', () => undefined);
    req.flushHeaders();
    const [res] = (await once(req, 'response')) as [IncomingMessage];
    expect([res.statusCode, res.headers.connection]).toEqual([413, 'close']);
    req.destroy();
  });
});

/** Like `compression`: replaces the methods that write, and sets its headers when the head is about to be sent. */
function compress(res: ServerResponse): void {
  const { writeHead, write, end } = res;
  const parts: Buffer[] = [];
  res.writeHead = ((...args: Parameters<typeof writeHead>) => {
    res.setHeader('Content-Encoding', 'gzip');
    res.removeHeader('Content-Length');
    return writeHead.apply(res, args);
  }) as typeof writeHead;
  res.write = ((chunk: string) => parts.push(Buffer.from(chunk)) > 0) as typeof write;
  res.end = ((chunk?: string) => {
    if (chunk) parts.push(Buffer.from(chunk));
    res.writeHead(res.statusCode);
    Reflect.apply(write, res, [gzipSync(Buffer.concat(parts))]);
    return Reflect.apply(end, res, []);
  }) as typeof end;
}

describe('an answer', () => {
  const text = 'text '.repeat(100);
  const answer: Handler = async (req, res) => {
    for await (const _ of req);
    res.setHeader('Content-Type', 'text/plain');
    res.write(text);
    res.end();
  };

  it('is the same behind compression, which compresses it again', async () => {
    const before = (_req: IncomingMessage, res: ServerResponse) => compress(res);
    const { post, memory } = await serve(answer, { before });
    let kept = '';
    const { set } = memory.values;
    memory.values.set = (name, bytes, ttlUs) => {
      kept = Buffer.from(bytes).toString();
      set.call(memory.values, name, bytes, ttlUs);
    };
    expect((await post('key-1')).text).toBe(text);
    expect(kept).toContain(text);
    expect(kept).not.toContain('gzip');
    const again = await post('key-1');
    expect([again.text, again.isRepeat]).toEqual([text, true]);
    expect(again.headers.get('content-encoding')).toBe('gzip');
  });

  it('is the same before compression: its bytes are those that were sent', async () => {
    const { port } = await serve((req, res, run) => {
      compress(res);
      return answer(req, res, run);
    });
    const raw = async (): Promise<[string, unknown, unknown]> => {
      const headers = { 'Idempotency-Key': 'key-1' };
      const req = httpRequest({ port, method: 'POST', headers, agent: false }).end('body');
      const [res] = (await once(req, 'response')) as [IncomingMessage];
      const parts: Buffer[] = [];
      for await (const part of res) parts.push(part);
      const bytes = Buffer.concat(parts);
      const { 'content-encoding': encoding, 'idempotency-replayed': mark } = res.headers;
      return [gunzipSync(bytes).toString(), encoding, mark];
    };
    expect(await raw()).toEqual([text, 'gzip', undefined]);
    expect(await raw()).toEqual([text, 'gzip', 'true']);
  });

  it.each([
    ['an object', (res) => res.writeHead(202, { 'x-own': '1', ETag: '"7"' })],
    ['an object and a reason', (res) => res.writeHead(202, 'Fine', { 'x-own': '1', ETag: '"7"' })],
    ['a list', (res) => res.writeHead(202, ['x-own', '1', 'ETag', '"7"'])],
    [
      'fields that were set',
      (res) => {
        res.setHeader('x-own', '1').setHeader('etag', '"7"');
        res.statusCode = 202;
      },
    ],
    [
      'fields that were set, and sent',
      (res) => {
        res.setHeader('x-own', '1').setHeader('etag', '"7"');
        res.statusCode = 202;
        res.flushHeaders();
      },
    ],
  ] as [string, (res: ServerResponse) => unknown][])('has its head from %s', async (_, head) => {
    const { post } = await serve(
      (_req, res) => {
        head(res);
        res.write('a', () => undefined);
        res.write('Yg==', 'base64');
        res.end('c', () => undefined);
      },
      { options: { keepHeaders: ['X-Own'] } },
    );
    await post('key-1');
    const { status, text: body, headers, isRepeat } = await post('key-1');
    expect([status, body, headers.get('x-own'), headers.get('etag'), isRepeat]).toEqual([
      202,
      'abc',
      '1',
      '"7"',
      true,
    ]);
  });

  it('may end with a callback alone, and be ended twice', async () => {
    const { post } = await serve((_req, res) => {
      res.write('all');
      res.end(() => undefined);
      res.end();
    });
    await post('key-1');
    expect(await post('key-1')).toMatchObject({ text: 'all', isRepeat: true });
  });

  it.each<[string, Leaving]>([
    ['ends it early', (res) => res.end()],
    [
      'goes on to the end',
      (res) => {
        res.write('b');
        res.end('c');
      },
    ],
  ])(
    'that its client leaves between two pieces is not kept: its handler %s',
    async (_, handler) => {
      const working = latch();
      const { post, runs } = await left(async (res, leave) => {
        res.setHeader('Location', '/charges/1');
        res.write('a');
        await leave();
        await working.opened;
        await handler(res, leave);
      });
      expect((await post('key-1')).headers.get('retry-after')).not.toBeNull(); // still running
      working.open();
      let again = await post('key-1');
      await until(async () => {
        again = await post('key-1');
        return again.headers.get('retry-after') === null;
      });
      expect([again.status, again.headers.get('location'), runs()]).toEqual([409, '/charges/1', 1]);
      expect(again.text).toMatch(/not stored/);
    },
  );

  it.each<[string, (res: ServerResponse, closed: Promise<unknown>) => unknown]>([
    [
      'its handler ends it',
      async (res, closed) => {
        res.write('do');
        res.write('ne');
        await closed;
        res.end();
      },
    ],
    ['its handler would end it', (res) => void res.write('done')],
    [
      'its stream ends',
      (res) => {
        const stream = new PassThrough();
        stream.pipe(res);
        stream.write('done');
      },
    ],
  ])('that its client leaves with all bytes, before %s, is kept', async (_, answer) => {
    const { port, post, runs } = await serve((_req, res) => {
      const closed = once(res, 'close');
      res.writeHead(200, { 'Content-Length': 4 });
      return answer(res, closed);
    });
    const headers = { 'Idempotency-Key': 'key-1', 'Content-Type': 'application/json' };
    const where = { host: '127.0.0.1', port, path: '/charges', method: 'POST' };
    const client = httpRequest({ ...where, headers, agent: false }).end('{"amount":5}');
    const [first] = (await once(client, 'response')) as [IncomingMessage];
    first.resume();
    await once(first, 'close'); // without keep-alive, the client closes the connection
    let again = await post('key-1');
    await until(async () => {
      again = await post('key-1');
      return again.headers.get('retry-after') === null;
    });
    expect([again.status, again.text, again.isRepeat, runs()]).toEqual([200, 'done', true, 1]);
  });

  it('that begins when its client has gone is kept', async () => {
    const { post, runs } = await left(async (res, leave) => {
      await leave();
      res.write('a');
      res.end('b');
    });
    await until(async () => (await post('key-1')).isRepeat);
    expect([(await post('key-1')).text, runs()]).toEqual(['ab', 1]);
  });

  it('costs nothing where there is no key: the response is untouched', async () => {
    const { post } = await serve((req, res) => {
      const own = [...Object.keys(res), ...Object.keys(req)];
      res.end(
        String(['write', 'end', 'writeHead', 'emit', 'unshift'].some((name) => own.includes(name))),
      );
    });
    expect((await post(undefined)).text).toBe('false');
    expect((await post('key-1')).text).toBe('true');
  });
});

it('HTTP/2 is the same', async () => {
  let runs = 0;
  const guard = nodeGuard(idempotency({ scope: () => 'ada' }));
  const server = http2.createServer(async (req, res) => {
    if (!(await guard(req as never, res as never))) return;
    let body = '';
    for await (const chunk of req) body += String(chunk);
    runs += 1;
    res.writeHead(201, { 'content-type': 'text/plain' }).end(`${runs}: ${body}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const send = async (body: string): Promise<string> => {
    const stream = client.request({ ':method': 'POST', ':path': '/', 'idempotency-key': 'key-1' });
    stream.end(body);
    const [headers] = await once(stream, 'response');
    let text = '';
    for await (const chunk of stream) text += String(chunk);
    return `${headers[':status']} ${headers['idempotency-replayed'] ?? ''} ${text.slice(0, 8)}`;
  };
  expect(await send('body')).toBe('201  1: body');
  expect(await send('body')).toBe('201 true 1: body');
  expect(await send('other')).toMatch(/^422/);
  expect(await send('')).toMatch(/^422/);
  expect(runs).toBe(1);
});
