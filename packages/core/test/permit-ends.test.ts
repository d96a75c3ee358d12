/** However a response of node:http ends, its permit is released once, and not before. */

import { once } from 'node:events';
import http, { type IncomingMessage, ServerResponse } from 'node:http';
import http2 from 'node:http2';
import net, { type AddressInfo, type Server } from 'node:net';
import { PassThrough, pipeline } from 'node:stream';
import { concurrencyLimit, type RequestOutcome, type ResponseEnd, rateLimit } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { describe, expect, it, onTestFinished } from 'vitest';

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A guard that holds a permit for each request, and records how often and how it was released. */
function guarded() {
  const outcomes: ResponseEnd[] = [];
  const refundIf = (_request: unknown, { durationMs: _, ...end }: RequestOutcome): boolean => {
    outcomes.push(end);
    return false;
  };
  const guard = nodeGuard<IncomingMessage, ServerResponse>([
    concurrencyLimit({ name: 'two', limit: 2, key: 'all' }),
    rateLimit({ name: 'noted', limit: 100, window: '1h', key: 'all', refundIf }),
  ]);
  const over = () => expect.poll(() => [guard.inProgress, outcomes.length]).toEqual([0, 1]);
  return { guard, outcomes, over };
}

type Handler = (req: IncomingMessage, res: ServerResponse) => void;

const later = (act: () => void): void => void setTimeout(act, 20);

/** Responses that reach the client completely. */
const ANSWERS: Record<string, [method: string, handler: Handler, end: ResponseEnd]> = {
  'HEAD, though the handler writes a body': [
    'HEAD',
    (_req, res) => void res.end('body'),
    { status: 200, aborted: false },
  ],
  '204, without a body': [
    'DELETE',
    (_req, res) => void res.writeHead(204).end(),
    { status: 204, aborted: false },
  ],
  '304, without a body': [
    'GET',
    (_req, res) => void res.writeHead(304).end(),
    { status: 304, aborted: false },
  ],
  'an answer given twice': [
    'GET',
    (_req, res) => {
      res.on('error', () => undefined);
      res.end('one');
      res.end('two');
      res.write('three');
    },
    { status: 200, aborted: false },
  ],
  'an answer by somebody else while the handler is at work': [
    'GET',
    (_req, res) => {
      later(() => res.writeHead(503).end('too slow'));
      setTimeout(() => res.writableEnded || res.end('done'), 60);
    },
    { status: 503, aborted: false },
  ],
  'an answer before the whole request was read': [
    'POST',
    (_req, res) => void res.writeHead(413).end(),
    { status: 413, aborted: false },
  ],
};

describe('a permit on HTTP/1', () => {
  it.each(Object.entries(ANSWERS))('ends with %s', async (_, [method, handler, outcome]) => {
    const { guard, outcomes, over } = guarded();
    let during = -1;
    const server = http.createServer((req, res) => {
      guard(req, res);
      during = guard.inProgress;
      handler(req, res);
    });
    const port = await listen(server);
    const request = http.request({ port, host: '127.0.0.1', method, agent: false });
    if (method === 'POST') request.write('begun');
    else request.end();
    request.on('error', () => undefined);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => undefined).resume();
    await over();
    request.destroy();
    expect(during).toBe(1);
    expect(outcomes).toEqual([outcome]);
  });

  it.each<[string, Handler, ResponseEnd]>([
    ['a stream that fails in the middle', failing, { status: 200, aborted: true }],
    ['a handler that never answers', () => undefined, { aborted: true }],
    [
      'a handler that never ends',
      (_req, res) => void res.write('a'),
      { status: 200, aborted: true },
    ],
  ])('ends with the connection after %s', async (_, handler, outcome) => {
    const { guard, outcomes, over } = guarded();
    let during = -1;
    const server = http.createServer((req, res) => {
      guard(req, res);
      during = guard.inProgress;
      handler(req, res);
      setTimeout(() => req.socket.destroy(), 60);
    });
    const port = await listen(server);
    const request = http.get({ port, host: '127.0.0.1', agent: false });
    request.on('error', () => undefined);
    request.on('response', (response) => response.on('error', () => undefined).resume());
    await over();
    expect(during).toBe(1);
    expect(outcomes).toEqual([outcome]);
  });

  it('of a connection that was upgraded lasts as long as the connection', async () => {
    const { guard, outcomes, over } = guarded();
    const server = http.createServer();
    server.on('upgrade', (req, socket) => {
      // Like frameworks that run their middleware for upgrades: nobody ends the response.
      guard(req, new ServerResponse(req));
      socket.on('end', () => socket.end()).resume();
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    });
    const port = await listen(server);
    const client = net.connect(port, '127.0.0.1');
    client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    await once(client, 'data');
    expect(guard.inProgress).toBe(1);
    client.destroy();
    await over();
    expect(outcomes).toEqual([{ aborted: true }]);
  });
});

function failing(_req: IncomingMessage, res: ServerResponse): void {
  const source = new PassThrough();
  pipeline(source, res, () => undefined);
  source.write('begun');
  later(() => source.destroy(new Error('the source broke')));
}

describe('a permit on HTTP/2', () => {
  async function exchange(answer: Handler, act: (stream: http2.ClientHttp2Stream) => void) {
    const { guard, outcomes, over } = guarded();
    const server = http2.createServer((req, res) => {
      guard(req as never, res as never);
      answer(req as never, res as never);
    });
    const port = await listen(server);
    const session = http2.connect(`http://127.0.0.1:${port}`);
    onTestFinished(() => session.destroy());
    const stream = session.request({ ':path': '/' });
    stream.on('error', () => undefined).resume();
    act(stream);
    await expect.poll(() => guard.inProgress + outcomes.length).toBe(1);
    await over();
    return outcomes;
  }

  it('ends with the stream', async () => {
    const answer: Handler = (_req, res) => later(() => res.end('hello'));
    const outcomes = await exchange(answer, (stream) => stream.end());
    expect(outcomes).toEqual([{ status: 200, aborted: false }]);
  });

  it('ends with a reset, after the head or before it', async () => {
    const begun: Handler = (_req, res) => void res.write('begun');
    const inTheMiddle = await exchange(begun, (stream) =>
      stream.on('data', () => stream.close(http2.constants.NGHTTP2_CANCEL)),
    );
    expect(inTheMiddle).toEqual([{ status: 200, aborted: true }]);
    const before = await exchange(
      () => undefined,
      (stream) => later(() => stream.close(http2.constants.NGHTTP2_CANCEL)),
    );
    expect(before).toEqual([{ aborted: true }]);
  });
});
