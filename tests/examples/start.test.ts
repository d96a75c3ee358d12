/** The quick starts, as they are printed: a request is answered, and the sixth of a route with five gets 429. */

import { describe, expect, it } from 'vitest';
import { exampleOf, repeat, runExample, serveExample } from './pages.js';
import { stopClock } from './time.js';

const POST = { method: 'POST' };

describe.each([
  ['express', 'A complete server', 92],
  ['koa', 'A complete server', 92],
  // There, the limits of app and route are one decision: a request that one rejects is not charged to the other.
  ['fastify', 'A complete server', 94],
  ['nestjs', 'A complete server', 94],
  ['node', 'A complete server', 92],
  ['hono', 'Node', 92],
])('docs/start/%s.md', (name, heading, left) => {
  it('has a server that limits all routes, and one route more', async () => {
    stopClock();
    const code = exampleOf(`docs/start/${name}.md`, heading, ' from ');
    const { ask, statuses } = await serveExample(code);
    const first = await ask('/reports', POST);
    expect(first.status).toBe(202);
    expect(await first.json()).toEqual({ accepted: true });
    expect(first.headers.get('ratelimit')).toBe('"all";r=99;t=1, "reports";r=4;t=720');
    expect(await statuses(5, '/reports', POST)).toEqual([...repeat(4, 202), 429]);
    const refused = await ask('/reports', POST);
    expect(refused.headers.get('retry-after')).toBe('720');
    expect(refused.headers.get('content-type')).toBe('application/problem+json');
    const other = await ask('/');
    expect(await other.text()).toBe('Hello\n');
    expect(await statuses(left + 1)).toEqual([...repeat(left, 200), 429]);
  });
});

const fromCloudflare = (method = 'GET'): Request =>
  new Request('https://example.com/', { method, headers: { 'CF-Connecting-IP': '192.0.2.1' } });

describe('docs/start/fetch.md', () => {
  it('has a Worker that limits each address', async () => {
    const { default: worker } = await runExample(exampleOf('docs/start/fetch.md', 'A Worker'));
    const context = { waitUntil: () => undefined };
    for (let i = 0; i < 100; i += 1) {
      expect((await worker.fetch(fromCloudflare(), {}, context)).status).toBe(200);
    }
    expect((await worker.fetch(fromCloudflare('OPTIONS'), {}, context)).status).toBe(429);
  });

  it('has a handler that is not wrapped', async () => {
    const page = exampleOf('docs/start/fetch.md', 'Where no handler can be wrapped');
    const { handle } = await runExample(page);
    const first = await handle(fromCloudflare());
    expect(await first.text()).toBe('Hello\n');
    expect(first.headers.get('ratelimit')).toBe('"all";r=99;t=1');
    for (let i = 1; i < 100; i += 1) await handle(fromCloudflare());
    expect((await handle(fromCloudflare())).status).toBe(429);
  });
});

it('docs/start/hono.md has a Worker that limits each address', async () => {
  stopClock();
  const page = exampleOf('docs/start/hono.md', 'Cloudflare Workers');
  const { default: app } = await runExample(page);
  const init = { headers: { 'CF-Connecting-IP': '192.0.2.1' } };
  const statuses: number[] = [];
  for (let i = 0; i < 101; i += 1) statuses.push((await app.request('/', init)).status);
  expect(statuses).toEqual([...repeat(100, 200), 429]);
});
