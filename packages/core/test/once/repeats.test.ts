/** Retries of requests with an idempotency key, over real connections. */

import { rateLimit } from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { account, bodyOf, charge, type Handler, serve } from './set-up.js';

describe('a repeated request', () => {
  it('gets the same status, fields and bytes, and no handler runs', async () => {
    const { post, runs, events } = await serve();
    const first = await post('key-1');
    const again = await post('key-1');
    expect(runs()).toBe(1);
    expect([first.status, first.isRepeat]).toEqual([201, false]);
    expect([again.status, again.isRepeat, again.text]).toEqual([201, true, first.text]);
    expect(again.headers.get('location')).toBe('/charges/1');
    expect(again.headers.get('content-type')).toBe('application/json');
    expect(again.headers.get('content-length')).toBe(String(first.text.length));
    expect(events.map(({ outcome }) => outcome)).toEqual(['allowed', 'replayed']);
  });

  it('is another request without the key, with another key, and of another caller', async () => {
    const { post, runs } = await serve();
    await post('key-1');
    expect((await post(undefined)).isRepeat).toBe(false);
    expect((await post('key-2')).isRepeat).toBe(false);
    expect((await post('key-1', { headers: { 'x-account': 'bob' } })).isRepeat).toBe(false);
    expect(runs()).toBe(4);
  });

  it('is not concerned by a method that is not listed', async () => {
    const { post, runs, events } = await serve((_req, res) => res.end('ok'));
    await post('key-1', { method: 'GET' });
    await post('key-1', { method: 'GET' });
    expect(runs()).toBe(2);
    expect(events.map(({ outcome }) => outcome)).toEqual(['skipped', 'skipped']);
  });

  it('has the same key quoted and bare', async () => {
    const { post, runs } = await serve();
    await post('"a \\"b\\" c"');
    expect((await post('"a \\"b\\" c"')).isRepeat).toBe(true);
    await post('8e03978e-40d5-43e8-bc93-6894a57f9324');
    expect((await post('"8e03978e-40d5-43e8-bc93-6894a57f9324"')).isRepeat).toBe(true);
    expect(runs()).toBe(2);
  });

  it('charges nothing, and is refused like any other by a limit that is used up', async () => {
    const limit = rateLimit({ name: 'two', limit: 2, window: '1m', key: account });
    const { post, runs, events } = await serve(charge, { others: [limit] });
    await post('key-1');
    for (let i = 0; i < 5; i += 1) expect((await post('key-1')).status).toBe(201);
    expect((await post('key-2')).status).toBe(201);
    const refused = await post('key-1');
    expect(refused.status).toBe(429);
    expect(JSON.parse(refused.text)['violated-policies']).toEqual(['two']);
    expect(runs()).toBe(2);
    expect(events.at(-1)).toMatchObject({ limiter: 'two', outcome: 'denied' });
  });

  it('leaves no claim behind where a limit refused it', async () => {
    const limit = rateLimit({ name: 'one', limit: 1, window: '1m', key: account });
    const { post, runs, clock } = await serve(charge, { others: [limit] });
    await post('key-1');
    expect((await post('key-2')).status).toBe(429);
    clock.advance('1m');
    expect(await post('key-2')).toMatchObject({ status: 201, isRepeat: false });
    expect(runs()).toBe(2);
  });

  it('runs again once the answer is no longer kept', async () => {
    const { post, runs, clock } = await serve(charge, { options: { keep: '1h' } });
    await post('key-1');
    clock.advance('59m');
    expect((await post('key-1')).isRepeat).toBe(true);
    clock.advance('2m');
    expect((await post('key-1')).isRepeat).toBe(false);
    expect(runs()).toBe(2);
  });

  it('is answered with the bytes, whatever they are', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    const { post, port } = await serve((_req, res) => {
      res.write(bytes.subarray(0, 100));
      res.write(Buffer.from(bytes.subarray(100, 200)).toString('base64'), 'base64');
      res.end(bytes.subarray(200));
    });
    await post('key-1');
    const again = await fetch(`http://127.0.0.1:${port}/charges`, {
      method: 'POST',
      body: '{"amount":5}',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'key-1' },
    });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(new Uint8Array(await again.arrayBuffer())).toEqual(bytes);
  });

  it('is answered without a body where the first was', async () => {
    const { post } = await serve(async (req, res) => {
      await bodyOf(req);
      res.writeHead(204, { ETag: '"7"' }).end();
    });
    await post('key-1');
    const again = await post('key-1');
    expect([again.status, again.text, again.headers.get('etag')]).toEqual([204, '', '"7"']);
    expect(again.isRepeat).toBe(true);
  });
});

describe('the key', () => {
  it.each([
    '""',
    '"a',
    'a"b',
    'a b',
    'a,b',
    'k;p=1',
    'k'.repeat(256),
    '"ä"',
    '"a\\b"',
    '%00'.slice(0, 0),
  ])('is refused if it is %j', async (key) => {
    const { post, runs } = await serve();
    const answer = await post(key);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(JSON.parse(answer.text).type).toMatch(/#key-invalid$/);
    expect(runs()).toBe(0);
  });

  it('may have 255 characters', async () => {
    const { post } = await serve();
    await post('k'.repeat(255));
    expect((await post('k'.repeat(255))).isRepeat).toBe(true);
  });

  it('may be required', async () => {
    const { post, runs } = await serve(charge, { options: { required: true } });
    expect((await post(undefined)).status).toBe(400);
    expect((await post('key-1')).status).toBe(201);
    expect(runs()).toBe(1);
  });
});

describe('the same key with another request', () => {
  it.each([
    ['another body', { body: '{"amount":6}' }],
    ['another path', { path: '/refunds' }],
    ['another query', { path: '/charges?dry=1' }],
    ['one name of the query twice, in another order', { path: '/charges?to=2&to=1' }],
    ['another method', { method: 'PATCH' }],
    ['another media type', { headers: { 'Content-Type': 'text/plain' } }],
    ['another charset', { headers: { 'Content-Type': 'application/json; charset="UTF-16"' } }],
    ['another encoding', { headers: { 'Content-Encoding': 'gzip' } }],
    ['another host by a proxy', { headers: { 'X-Forwarded-Host': 'shop-b.example' } }],
  ])('is refused: %s', async (_, init) => {
    const { post, runs, events } = await serve();
    await post('key-1', { path: '/charges?to=1&to=2' });
    const other = await post('key-1', { path: '/charges?to=1&to=2', ...init });
    expect(other.status).toBe(422);
    expect(JSON.parse(other.text).type).toMatch(/#mismatch$/);
    expect(other.headers.get('retry-after')).toBeNull();
    expect(runs()).toBe(1);
    expect(events.at(-1)).toMatchObject({ outcome: 'denied', reason: 'mismatch', status: 422 });
  });

  it('is the same in another order of names of the query, and where UTF-8 is told or not', async () => {
    const { post, runs } = await serve();
    await post('key-1', { path: '/charges?a=1&b=2&b=1' });
    const headers = { 'Content-Type': 'application/json; charset=utf-8' };
    expect((await post('key-1', { path: '/charges?b=2&b=1&a=1', headers })).isRepeat).toBe(true);
    expect(runs()).toBe(1);
  });

  it('has the status that was chosen', async () => {
    const { post } = await serve(charge, { options: { mismatchStatus: 409 } });
    await post('key-1');
    expect((await post('key-1', { body: 'x' })).status).toBe(409);
  });

  it('is compared by its length where the handler has read no body', async () => {
    const { post, runs } = await serve((_req, res) => res.end('unread'));
    await post('key-1', { body: 'x'.repeat(300_000) });
    expect((await post('key-1', { body: 'y'.repeat(300_000) })).isRepeat).toBe(true);
    expect((await post('key-1', { body: 'x' })).status).toBe(422);
    expect(runs()).toBe(1);
  });

  it('is compared by what the app chose', async () => {
    const { post } = await serve(charge, {
      options: { fingerprint: (request) => ({ order: request.header('x-order') }) },
    });
    await post('key-1', { headers: { 'x-order': '1' } });
    const headers = { 'x-order': '1' };
    expect((await post('key-1', { body: 'anything', headers })).isRepeat).toBe(true);
    expect((await post('key-1', { headers: { 'x-order': '2' } })).status).toBe(422);
  });

  it('is another if its parsed body cannot be compared, and that is told', async () => {
    const self: Record<string, unknown> = {};
    self['self'] = self;
    const getter = {
      get amount() {
        throw new Error('not now');
      },
    };
    for (const parsed of [self, getter]) {
      const before = async (req: object) => {
        await bodyOf(req as never);
        Object.assign(req, { body: parsed });
      };
      const { post, runs, faults } = await serve((_req, res) => res.end('done'), { before });
      expect((await post('key-1')).status).toBe(200);
      expect((await post('key-1')).status).toBe(422);
      expect(runs()).toBe(1);
      const fault = { limiter: 'once', source: 'fingerprint' };
      expect(faults).toMatchObject([fault, fault]);
    }
  });

  it('is compared as its parser made it, however large, though the handler changes that', async () => {
    const before = async (req: object) => {
      const parsed = JSON.parse(await bodyOf(req as never));
      Object.assign(req, { body: parsed });
    };
    const handler: Handler = (req, res) => {
      (req as unknown as { body: unknown[] }).body.length = 0;
      res.end('done');
    };
    const { post } = await serve(handler, { before });
    const body = (last: number) => JSON.stringify([...Array(300_000).keys(), last]);
    await post('key-1', { body: body(1) });
    expect((await post('key-1', { body: body(1) })).isRepeat).toBe(true);
    expect((await post('key-1', { body: body(2) })).status).toBe(422);
  });

  it('is compared by the parsed body where a parser stands before the guard', async () => {
    const before = async (req: object) => {
      const parsed = JSON.parse(await bodyOf(req as never));
      Object.assign(req, { body: parsed });
    };
    const { post, runs } = await serve((_req, res) => res.end('done'), { before });
    await post('key-1', { body: '{"a":1,"b":[2]}' });
    expect((await post('key-1', { body: '{ "b": [2], "a": 1 }' })).isRepeat).toBe(true);
    expect((await post('key-1', { body: '{"a":1,"b":[3]}' })).status).toBe(422);
    expect(runs()).toBe(1);
  });

  it('is compared by its length too where a parser keeps files beside the fields of a form', async () => {
    const before = async (req: object) => {
      await bodyOf(req as never);
      Object.assign(req, { body: { order: '1' }, files: ['kept elsewhere'] });
    };
    const { post, runs } = await serve((_req, res) => res.end('done'), { before });
    const headers = { 'Content-Type': 'multipart/form-data; boundary=x' };
    const form = (file: string) =>
      `--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${file}\r\n--x--\r\n`;
    await post('key-1', { body: form('one'), headers });
    expect((await post('key-1', { body: form('one'), headers })).isRepeat).toBe(true);
    expect((await post('key-1', { body: form('another'), headers })).status).toBe(422);
    expect(runs()).toBe(1);
  });
});
