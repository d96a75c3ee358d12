/** The recipes for internal services, microservices of NestJS and gateways to models, as they are printed. */

import { once } from 'node:events';
import http from 'node:http';
import { ClientProxyFactory, Transport } from '@nestjs/microservices';
import { firstValueFrom } from 'rxjs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exampleOf, json, repeat, serveExample } from './pages.js';
import { stopClock } from './time.js';
import { authenticate } from './users.js';

const as = (user: string) => ({ headers: { 'x-user': user } });

describe('docs/recipes/internal.md', () => {
  const PAGE = 'docs/recipes/internal.md';

  it('limits each service by name, and never a health check', async () => {
    stopClock();
    const { ask, statuses } = await serveExample(exampleOf(PAGE, 'A service that others call'), {
      yours: { authenticate },
    });
    expect(await statuses(501, '/prices', as('search'))).toEqual([...repeat(500, 200), 429]);
    expect(await statuses(1, '/prices', as('checkout'))).toEqual([200]);
    const health = await ask('/healthz');
    expect([health.status, health.headers.get('ratelimit')]).toEqual([200, null]);
  });

  it('sheds what is not critical first', async () => {
    const { ask } = await serveExample(exampleOf(PAGE, 'A service that others call'), {
      yours: { authenticate },
      replace: {
        'capacity: 200': 'capacity: 5',
        'res.json({ price: 5 });': 'void res;', // it never answers
      },
    });
    const gone = new AbortController();
    const waiting = { headers: { 'x-user': 'search' }, signal: gone.signal };
    // Four of them are held, whichever come first; the fifth is the only one that is answered.
    const asked = Array.from({ length: 5 }, () => ask('/prices', waiting).catch(() => undefined));
    expect((await Promise.race(asked))?.status).toBe(503);
    gone.abort();
    await Promise.all(asked);
  });
});

describe('docs/recipes/nestjs.md', () => {
  it('answers messages with what callers can read', async () => {
    stopClock();
    const { port } = await serveExample(exampleOf('docs/recipes/nestjs.md', 'Microservices'));
    const client = ClientProxyFactory.create({ transport: Transport.TCP, options: { port } });
    onTestFinished(() => void client.close());
    const ask = (caller: string) => firstValueFrom(client.send('price', { caller }));
    for (let i = 0; i < 100; i += 1) expect(await ask('checkout')).toBe(5);
    await expect(ask('checkout')).rejects.toMatchObject({ status: 429, retryAfterMs: 10 });
    expect(await ask('search')).toBe(5);
  });
});

describe('docs/recipes/ai-gateway.md', () => {
  /** Answers with as many tokens as the prompt says; waits where the prompt is `wait`. */
  async function* model(prompt: string, { signal }: { signal: AbortSignal }) {
    yield 'Hello';
    if (prompt === 'wait') await once(signal, 'abort').catch(() => undefined);
    return { input: prompt.length, output: Number(prompt) || 0 };
  }
  const open = () =>
    serveExample(
      exampleOf('docs/recipes/ai-gateway.md', 'Reserve tokens before, settle them after'),
      { yours: { authenticate, ask: model } },
    );
  const chat = (prompt: string, max_tokens: number, user = 'ada') =>
    json({ prompt, max_tokens }, { 'x-user': user });
  const leftIn = (answer: Response) =>
    Number(/"tokens";r=(\d+)/.exec(answer.headers.get('ratelimit') ?? '')?.[1]);

  it('charges what was used, whatever maximum the body names', async () => {
    stopClock();
    const { ask } = await open();
    const first = await ask('/chat', chat('40000', 1));
    expect([first.status, await first.text()]).toEqual([200, 'Hello']);
    expect(leftIn(first)).toBe(100_000 - 3); // reserved: 2 of the prompt, and 1
    await expect
      .poll(async () => leftIn(await ask('/chat', chat('0', 8_000))))
      .toBeLessThan(60_000);
    const debt = await ask('/chat', chat('90000', 8_000, 'eve'));
    await debt.text();
    expect((await ask('/chat', chat('90000', 8_000, 'eve'))).status).toBe(200);
    await expect.poll(async () => (await ask('/chat', chat('1', 1, 'eve'))).status).toBe(429);
  });

  it('takes no reservation that is none', async () => {
    stopClock();
    const { ask } = await open();
    for (const max_tokens of [-1e9, 0.5, '1e999', null, 'x'.repeat(5)]) {
      const answer = await ask('/chat', json({ prompt: '1', max_tokens }, { 'x-user': 'eve' }));
      expect(answer.status).toBe(200);
    }
  });

  it('lets three streams run, and one more when one has ended', async () => {
    const { ask, port } = await open();
    const { body, ...init } = chat('wait', 10);
    const streams = Array.from({ length: 3 }, () => {
      const { method, headers } = init as { method: string; headers: http.OutgoingHttpHeaders };
      const request = http.request({ port, path: '/chat', method, headers, agent: false });
      request.on('error', () => undefined);
      request.end(body);
      return request;
    });
    await Promise.all(streams.map((stream) => once(stream, 'response')));
    expect((await ask('/chat', chat('1', 10))).status).toBe(429);
    streams[0]?.destroy();
    await expect.poll(async () => (await ask('/chat', chat('1', 10))).status).toBe(200);
    for (const stream of streams) stream.destroy();
  });
});
