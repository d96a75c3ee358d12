/** Limits in real workerd: what a Worker may not do, who its clients are, and permits that end with streams. */

import http from 'node:http';
import { join } from 'node:path';
import { Miniflare } from 'miniflare';
import { until } from 'spillway-testkit';
import { bundleForWorker } from 'spillway-testkit/worker-bundle';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// A stream shows a Worker that its client has disconnected; so does the request's signal, if the Worker enables it.
const TELLING = [
  { how: 'by the stream alone', flags: [] },
  { how: 'by the signal too', flags: ['enable_request_signal'] },
];

describe.each(TELLING)('a Worker that is told of clients that go away $how', ({ flags }) => {
  let miniflare: Miniflare;
  let origin: URL;

  beforeAll(async () => {
    const { text } = await bundleForWorker(join(import.meta.dirname, 'worker.js'));
    miniflare = new Miniflare({
      script: text,
      modules: true,
      compatibilityDate: '2026-04-01',
      compatibilityFlags: flags,
      port: 0,
    });
    origin = await miniflare.ready; // its module was loaded: without timers, random numbers or the clock
  });
  afterAll(() => miniflare.dispose());

  const get = async (path: string, init?: RequestInit) => {
    const response = await fetch(new URL(path, origin), init);
    return { status: response.status, fields: response.headers, body: await response.text() };
  };
  const told = async () => JSON.parse((await get('/told')).body);

  /** Asks until a permit is free. */
  const free = () => until(async () => (await get('/permit/short')).status === 200);

  it('counts by the address that Cloudflare names', async () => {
    const replies = [await get('/limited'), await get('/limited'), await get('/limited')];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(JSON.parse(replies[1]?.body ?? '')).toMatchObject([
      { limiter: 'address', remaining: 1 },
    ]);
    const refused = await get('/limited');
    expect(refused.status).toBe(429);
    expect(refused.fields.get('ratelimit')).toMatch(/^"address";r=0;t=\d+$/);
    expect(refused.fields.get('content-type')).toBe('application/problem+json');
  });

  it('fails with a code where the address is needed and nobody named it', async () => {
    expect(await get('/unaddressed')).toMatchObject({ status: 500, body: 'SPW_ADDRESS_REQUIRED' });
  });

  it('ends a permit with the body, for an answer, a failure and HEAD', async () => {
    for (const path of ['/permit/short', '/permit/fails', '/permit/short']) {
      await free();
      const { body } = await get(path);
      expect(body).toBe(path === '/permit/fails' ? 'mine' : 'short');
    }
    expect((await get('/permit/short', { method: 'HEAD' })).status).toBe(200);
    await free();
    expect((await told()).faults).toEqual([]);
  });

  it('holds a permit while a stream is read, and frees it at its end', async () => {
    await free();
    const response = await fetch(new URL('/permit/stream?ticks=5', origin));
    expect((await get('/permit/short')).status).toBe(429);
    expect(await response.text()).toBe('0\n1\n2\n3\n4\n');
    await free();
  });

  it('frees a permit when the client leaves in the middle of a stream', async () => {
    await free();
    const before = (await told()).outcomes.length;
    const client = http.get(new URL('/permit/stream?ticks=500', origin));
    client.on('error', () => undefined);
    await new Promise<void>((resolve) => {
      client.on('response', (response) => {
        response.on('error', () => undefined);
        response.once('data', () => {
          client.destroy();
          resolve();
        });
      });
    });
    await free();
    const since = (await told()).outcomes.slice(before);
    expect(since.filter((outcome: { aborted: boolean }) => outcome.aborted)).toHaveLength(1);
  });

  it('holds the permit of a stream for the length of its lease at least, whichever request began it', async () => {
    await free(); // this request's timer ends with it: a Worker cannot renew for other requests
    const begun = performance.now();
    const response = await fetch(new URL('/permit/stream?ticks=100', origin));
    await free();
    const after = performance.now() - begun;
    await response.body?.cancel();
    expect(after).toBeGreaterThan(950);
    expect((await told()).faults).toEqual([]);
  });

  it('gives permits back when asked to from another request', async () => {
    await free();
    const response = await fetch(new URL('/permit/stream?ticks=100', origin));
    expect((await get('/permit/short')).status).toBe(429);
    expect((await get('/closed')).body).toBe('closed');
    expect((await get('/permit/short')).status).toBe(200);
    await response.body?.cancel();
  });
});

it('needs nothing of Node, and no process', async () => {
  const { text, external } = await bundleForWorker(join(import.meta.dirname, 'worker.js'));
  expect(external).toEqual([]);
  // The bundle also has Hono's code for node:http, which Workers don't use. It looks for `process`, but doesn't need
  // it.
  const common = text
    .replace('{ Buffer: host } = globalThis', '')
    .replace(/\{ process(, Deno)? \} = globalThis/g, '')
    .replaceAll('process?.', '')
    .replace(/\/\*.*?\*\/|^ *\/\/.*?$/gms, '')
    .replaceAll('counted in this process alone', '');
  expect(common).not.toMatch(/\b(process|Buffer|require)\b/);
  expect(text).toContain('SPW_ADDRESS_REQUIRED');
});
