/** Idempotency keys in real workerd, where no request may use promises or I/O of another one. */

import { join } from 'node:path';
import { Miniflare } from 'miniflare';
import { bundleForWorker } from 'spillway-testkit/worker-bundle';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';

let miniflare: Miniflare;
let origin: URL;
beforeAll(async () => {
  const { text } = await bundleForWorker(join(import.meta.dirname, 'once-worker.js'));
  const compatibilityDate = '2026-04-01';
  miniflare = new Miniflare({ script: text, modules: true, compatibilityDate, port: 0 });
  origin = await miniflare.ready;
});
afterAll(() => miniflare.dispose());

let account = 0;
beforeEach(() => {
  account += 1;
});

async function post(path: string, body: object, key = 'key-1') {
  const response = await fetch(new URL(path, origin), {
    method: 'POST',
    headers: {
      'Idempotency-Key': key,
      'X-Account': `account-${account}`,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const isRepeat = response.headers.get('idempotency-replayed') === 'true';
  return { status: response.status, text, isRepeat, location: response.headers.get('location') };
}

async function told(): Promise<{ faults: string[]; runs: number }> {
  return (await fetch(new URL('/told', origin))).json() as never;
}

it.each(['/charges', '/fetch'])('a repeat gets the answer of the first: %s', async (path) => {
  const { runs } = await told();
  const first = await post(path, { amount: 5 });
  const again = await post(path, { amount: 5 });
  expect(first).toMatchObject({ status: 201, isRepeat: false });
  expect(again).toEqual({ ...first, isRepeat: true });
  expect((await post(path, { amount: 6 })).status).toBe(422);
  expect(await told()).toEqual({ faults: [], runs: runs + 1 });
});

it('a repeat may wait for the first, which is another request', async () => {
  const { runs } = await told();
  const body = { amount: 5, ms: 300 };
  const all = await Promise.all([1, 2, 3].map(() => post('/waits/charges', body)));
  expect(all.map(({ status }) => status)).toEqual([201, 201, 201]);
  expect(new Set(all.map(({ text }) => text)).size).toBe(1);
  expect(all.filter(({ isRepeat }) => isRepeat)).toHaveLength(2);
  expect(await told()).toEqual({ faults: [], runs: runs + 1 });
});

it('one that does not wait gets 409 while the other runs', async () => {
  const both = await Promise.all([1, 2].map(() => post('/charges', { amount: 5, ms: 500 })));
  expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
  expect(both.some(({ isRepeat }) => isRepeat)).toBe(false);
  expect((await post('/charges', { amount: 5, ms: 500 })).isRepeat).toBe(true);
});
