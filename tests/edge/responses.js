/** Serves responses of all kinds behind a guard, on Bun or Deno, and returns the headers that its clients get. */

import { rateLimit } from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';

const TYPED = { headers: { 'Content-Type': 'text/html' } };

/** Handlers give a response without a body to many requests. */
const SHARED = {
  '/none': new Response(),
  '/typed-none': new Response(null, TYPED),
};

const EACH = {
  '/text': () => new Response('hello'),
  '/typed-text': () => new Response('hello', TYPED),
  '/bytes': () => new Response(new Uint8Array(5)),
  '/stream': () => new Response(new Blob(['hello']).stream()),
};

/** The type, the length and the remaining requests, as each of three clients of a path gets them. */
export async function responses() {
  const key = ({ path }) => path;
  const guard = fetchGuard(rateLimit({ name: 'a', limit: 9, window: '1h', key }));
  const handler = guard.wrap(({ url }) => {
    const { pathname } = new URL(url);
    return SHARED[pathname] ?? EACH[pathname]();
  });
  const server =
    'Deno' in globalThis
      ? Deno.serve({ port: 0, onListen() {} }, handler)
      : Bun.serve({ port: 0, fetch: handler });
  const port = server.port ?? server.addr.port;
  const seen = {};
  for (const path of [...Object.keys(SHARED), ...Object.keys(EACH)]) {
    seen[path] = [];
    for (const _ of [1, 2, 3]) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      await response.arrayBuffer();
      const { headers } = response;
      const left = headers.get('ratelimit')?.replaceAll(/;t=\d+/g, '');
      seen[path].push([headers.get('content-type'), headers.get('content-length'), left]);
    }
  }
  return seen;
}
