/** A carrier: an HTTP server that takes messages at `POST /<line>`, and now and then takes none for a second. */

import { once } from 'node:events';
import { createServer } from 'node:http';

const SHUT_MS = 1000;

/**
 * Opens a carrier on a free port. It shuts with each `refuseEach`-th message, by default never. `onMessage` is told of
 * every message that arrives.
 */
export async function openCarrier({ refuseEach = Infinity, onMessage }) {
  let messages = 0;
  let shutUntilMs = 0;
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return response.writeHead(204).end();
    const atMs = performance.now();
    messages += 1;
    if (messages % refuseEach === 0) shutUntilMs = atMs + SHUT_MS;
    const isRefused = atMs < shutUntilMs;
    onMessage({ line: request.url.slice(1), worker: request.headers['x-worker'], atMs, isRefused });
    request.resume();
    if (isRefused) response.setHeader('Retry-After', SHUT_MS / 1000);
    response.writeHead(isRefused ? 429 : 202).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, close };
}
