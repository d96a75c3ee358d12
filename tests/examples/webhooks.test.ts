/** The recipes for webhooks, as they are printed. */

import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { exampleOf, repeat, runExample, serveExample } from './pages.js';
import { stopClock } from './time.js';

const PAGE = 'docs/recipes/webhooks.md';

describe('webhooks that come in', () => {
  const delivery = (id: string, body = '{"n":1}', secret = 'secret') => ({
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'webhook-id': id,
      'webhook-signature': createHmac('sha256', secret).update(`${id}.${body}`).digest('base64'),
    },
    body,
  });
  const open = async (failures = 0) => {
    const applied: unknown[] = [];
    const apply = async (event: unknown, once: unknown) => {
      applied.push([event, once]);
      if (applied.length <= failures) throw new Error('not applied');
    };
    const page = exampleOf(PAGE, 'Webhooks that come in');
    return { applied, ...(await serveExample(page, { yours: { apply } })) };
  };

  it('are applied once, and only from who can sign', async () => {
    const { ask, applied } = await open();
    expect((await ask('/hooks/provider', delivery('a'))).status).toBe(204);
    const again = await ask('/hooks/provider', delivery('a'));
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([204, 'true']);
    expect((await ask('/hooks/provider', delivery('b', '{}', 'stolen'))).status).toBe(401);
    const unsigned = [{ method: 'POST' }, { method: 'POST', body: 'x' }, delivery('c', '{}', '')];
    for (const init of unsigned) expect((await ask('/hooks/provider', init)).status).toBe(401);
    expect(applied).toEqual([[{ n: 1 }, 'a']]);
  });

  it('are applied again, with the same key, if that failed', async () => {
    vi.spyOn(console, 'error').mockReturnValue(undefined); // of Express
    onTestFinished(() => void vi.restoreAllMocks());
    const { ask, applied } = await open(1);
    const statuses = [];
    for (let i = 0; i < 3; i += 1)
      statuses.push((await ask('/hooks/provider', delivery('a'))).status);
    expect(statuses).toEqual([500, 204, 204]);
    expect(applied).toEqual(repeat(2, [{ n: 1 }, 'a']));
  });

  it('are accepted at a pace', async () => {
    stopClock();
    const { ask } = await open();
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => ask('/hooks/provider', delivery(`d${i}`))),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(40);
    expect(refused[0]?.headers.get('retry-after')).toBe('1');
  });
});

describe('webhooks that go out', () => {
  it('wait for their turn, and come again after a 503', async () => {
    const calls: { id: string | undefined; atMs: number }[] = [];
    const server = createServer((req, res) => {
      calls.push({ id: String(req.headers['webhook-id']), atMs: performance.now() });
      res.writeHead(calls.length === 1 ? 503 : 204, { 'retry-after-ms': '200' }).end();
    }).listen(0);
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const { deliver } = await runExample(exampleOf(PAGE, 'Webhooks that go out'));
    const url = `http://localhost:${port}/`;
    const done = await Promise.all(['a', 'b', 'c'].map((id) => deliver(url, id, { id })));
    expect(done).toEqual(repeat(3, true));
    expect(calls.length).toBeGreaterThan(3);
    expect(calls.filter(({ id }) => id === calls[0]?.id)).toHaveLength(2);
  });
});
