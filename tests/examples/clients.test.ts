/** The clients of the page on outgoing calls, as they are printed: each obeys a 429. */

import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { exampleOf, runExample } from './pages.js';

const PAGE = 'docs/outgoing.md';

/** Rejects the second call. */
async function partner() {
  const calls: number[] = [];
  const server = createServer((_, response) => {
    calls.push(performance.now());
    if (calls.length === 2) response.writeHead(429, { 'retry-after': '1' });
    response.end('sent');
  }).listen(0);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}/`, calls };
}

it.each([
  ['undici', 'viaUndici'],
  ['axios', 'viaAxios'],
  ['got', 'viaGot'],
])('%s', async (client, name) => {
  const { url, calls } = await partner();
  const code = exampleOf(PAGE, 'Other HTTP clients', `from '${client}'`);
  const send = (await runExample(code))[name] as (url: string) => Promise<number>;
  const statuses = [await send(url), await send(url), await send(url)];
  // undici's own interceptor tries again.
  expect(statuses).toEqual(client === 'undici' ? [200, 200, 200] : [200, 429, 200]);
  // The pause begins when the response has arrived.
  expect((calls[2] as number) - (calls[1] as number)).toBeGreaterThanOrEqual(1_000);
});
