/** Two guards on the way of a request share an idempotency(): the second refused what the first let in, untold. */

import { idempotency, memoryStore } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { serveListener } from 'spillway-testkit/http';
import { expect, it } from 'vitest';

it('is told, for every request with a key is refused', async () => {
  const store = memoryStore();
  const lines: string[] = [];
  const logger = { warn: (line: string) => lines.push(line) };
  const once = idempotency({ scope: () => 'ada' });
  const [front, behind] = [nodeGuard(once, { store, logger }), nodeGuard(once, { store, logger })];
  const { port } = await serveListener(async (req, res) => {
    if ((await front(req, res)) && (await behind(req, res))) res.end('ok');
  });
  const post = (key: string) =>
    fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers: { 'idempotency-key': key } });
  for (const key of ['key-1', 'key-2']) expect((await post(key)).status).toBe(409);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('limiter "once" stands in two guards');
  expect(lines[0]).toContain('SPW_COUNTED_TWICE');
});
