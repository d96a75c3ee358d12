/** The end of a response of node:http: when it fails, and what happens while the response is still being stored. */

import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { idempotency, memoryStore } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { until } from 'spillway-testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { failingStore, type Handler, serve } from './set-up.js';

/** A store that stores a response only when the test says so. */
function slowStore() {
  const remote = failingStore(memoryStore());
  let write: (() => void) | undefined;
  const { values } = remote.store;
  const set: NonNullable<typeof values>['set'] = async (...args) => {
    await new Promise<void>((resolve) => {
      write = resolve;
    });
    return values?.set(...args);
  };
  const store = { ...remote.store, values: { ...values, set } } as never;
  const keep = async (): Promise<void> => {
    await until(() => write !== undefined);
    write?.();
  };
  return { store, keep, isAsked: () => write !== undefined };
}

const invalidStatus: Handler = (_, res) => {
  res.statusCode = 99;
  res.end('charged');
};

/** Node throws after the body was written, when the head has been sent. */
const wrongLength: Handler = (_, res) => {
  res.strictContentLength = true;
  res.setHeader('Content-Length', 5);
  res.end('ab');
};

const options = { keepFirst: true };

describe('an end that throws', () => {
  it.each([false, true])(
    'is followed by the answer to the error, which is kept (keepFirst: %s)',
    async (keepFirst) => {
      const { post, runs } = await serve(invalidStatus, { options: { keepFirst } });
      const first = await post('key-1');
      const again = await post('key-1');
      expect([first.status, first.text]).toEqual([500, 'failed']);
      expect([again.status, again.text, again.isRepeat, runs()]).toEqual([500, 'failed', true, 1]);
    },
  );

  it('leaves a claim that is free after one lease, if nobody answers the error', async () => {
    const { post, clock } = await serve((_, res) => {
      try {
        invalidStatus(_, res, 1);
      } catch {
        res.destroy();
      }
    });
    await expect(post('key-1')).rejects.toThrow();
    expect((await post('key-1')).status).toBe(409);
    clock.advance(30_001); // nothing renews a claim on a manual clock
    await expect(post('key-1')).rejects.toThrow();
  });

  it('ends the connection if the answer is kept already, and the process goes on', async () => {
    const { post, runs } = await serve(wrongLength, { options });
    await expect(post('key-1')).rejects.toThrow();
    await until(async () => (await post('key-1')).isRepeat);
    expect(runs()).toBe(1);
  });
});

describe('while an answer is being kept first', () => {
  it.each<[string, Handler]>([
    ['another status', (_, res) => Object.assign(res, { statusCode: 500 })],
    ['another end', (_, res) => void res.end('other')],
    ['more of the body', (_, res) => void res.write('more')],
  ])('%s changes nothing of it', async (_, change) => {
    const { store, keep, isAsked } = slowStore();
    let shown: unknown;
    const handler: Handler = (req, res) => {
      res.on('error', () => undefined); // writes after the end are errors, as without a guard
      res.statusCode = 201;
      res.setHeader('Location', '/charges/1');
      res.end('charged');
      shown = [res.headersSent, res.writableEnded];
      change(req, res, 1);
    };
    const { post } = await serve(handler, { store, options });
    const sent = post('key-1');
    await until(isAsked);
    expect(shown).toEqual([true, true]);
    await keep();
    const first = await sent;
    expect([first.status, first.text, first.headers.get('location')]).toEqual([
      201,
      'charged',
      '/charges/1',
    ]);
    expect(first.headers.get('content-length')).toBe('7');
    const again = await post('key-1');
    expect([again.status, again.text, again.isRepeat]).toEqual([201, 'charged', true]);
  });

  it.each([
    ['POST', 204],
    ['POST', 200],
    ['HEAD', 200],
  ])('its client does not see the end of it on HTTP/2: %s, %i', async (method, status) => {
    const { store, keep, isAsked } = slowStore();
    const once = idempotency({ scope: () => 'ada', methods: [method], ...options });
    const guard = nodeGuard(once, { store });
    const server = http2.createServer(async (req, res) => {
      if (!(await guard(req, res))) return;
      res.statusCode = status;
      if (status === 200) res.end('charged');
      else res.end();
    });
    server.listen(0);
    const { port } = server.address() as AddressInfo;
    const client = http2.connect(`http://localhost:${port}`);
    onTestFinished(() => {
      client.destroy();
      server.close();
    });
    const post = (host = 'shop-a.example') =>
      new Promise<unknown>((resolve) => {
        const fields = { ':method': method, ':authority': host, 'idempotency-key': 'key-1' };
        const request = client.request(fields);
        let head: http2.IncomingHttpHeaders | undefined;
        request.on('response', (fields) => {
          head = fields;
        });
        request.on('end', () => resolve(head?.['idempotency-replayed'])).resume();
        request.end();
      });
    let isOver = false;
    const first = post().then(() => {
      isOver = true;
    });
    await until(isAsked);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect(isOver).toBe(false);
    await keep();
    await first;
    expect(await post('Shop-A.example:443')).toBe('true');
    expect(await post('shop-b.example')).toBeUndefined();
  });

  it('what stands behind the guard and waits for the head is asked', async () => {
    const handler: Handler = (_, res) => {
      const { writeHead } = res;
      res.writeHead = (...args: unknown[]) => {
        res.setHeader('X-Session', 'new');
        return Reflect.apply(writeHead, res, args);
      };
      res.end('charged');
    };
    const { store, keep } = slowStore();
    const { post } = await serve(handler, { store, options });
    const sent = post('key-1');
    await keep();
    expect((await sent).headers.get('x-session')).toBe('new');
  });

  it.each([
    ['POST', '0'],
    ['HEAD', null],
  ])(
    'an answer to %s without a body has the length that Node would tell',
    async (method, length) => {
      const { store, keep } = slowStore();
      const handler: Handler = (_, res) => void res.end();
      const setUp = { store, options: { ...options, methods: [method] } };
      const { port } = await serve(handler, setUp);
      const headers = { 'idempotency-key': 'key-1' };
      const sent = fetch(`http://127.0.0.1:${port}/`, { method, headers });
      await keep();
      expect((await sent).headers.get('content-length')).toBe(length);
    },
  );
});
