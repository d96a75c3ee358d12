/** A carrier: an HTTP server that takes messages at `POST /<line>`, and now and then takes none for a second. */

import { once } from 'node:events';
import { createServer } from 'node:http';

const SHUT_MS = 1000;

/**
 * Opens a carrier on a free port. It shuts with each `rejectEach`-th message, by default never. `onMessage` gets
 * every message that arrives.
 */
export async function openCarrier({ rejectEach = Infinity, onMessage }) {
  let messages = 0;
  let shutUntilMs = 0;
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return response.writeHead(204).end();
    const atMs = performance.now();
    messages += 1;
    if (messages % rejectEach === 0) shutUntilMs = atMs + SHUT_MS;
    const isRejected = atMs < shutUntilMs;
    onMessage({
      line: request.url.slice(1),
      worker: request.headers['x-worker'],
      atMs,
      isRejected,
    });
    request.resume();
    if (isRejected) response.setHeader('Retry-After', SHUT_MS / 1000);
    response.writeHead(isRejected ? 429 : 202).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, close };
}
