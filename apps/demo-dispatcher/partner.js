/**
 * A partner: an HTTP server that accepts messages at `POST /<name>`, and sometimes rejects all of them for a second.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const SHUT_MS = 1000;

/**
 * Opens a partner on a free port. With each `rejectEach`-th message (default: never) it starts rejecting for a second.
 * `onMessage` receives every message that arrives.
 */
export async function openPartner(name, { workMs, rejectEach = Infinity, onMessage }) {
  let messages = 0;
  let atOnce = 0;
  let shutUntilMs = 0;
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return response.writeHead(204).end();
    const atMs = performance.now();
    messages += 1;
    if (messages % rejectEach === 0) shutUntilMs = atMs + SHUT_MS;
    const isRejected = atMs < shutUntilMs;
    atOnce += 1;
    onMessage({
      partner: name,
      worker: request.headers['x-worker'],
      isUrgent: request.headers['x-urgent'] === 'yes',
      atMs,
      atOnce,
      isRejected,
    });
    request.resume();
    if (isRejected) response.setHeader('Retry-After', SHUT_MS / 1000);
    else await sleep(workMs);
    atOnce -= 1;
    response.writeHead(isRejected ? 429 : 202).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}/${name}`, close };
}
