/** The pages about addresses: every row of the table of proxies, and what Next.js is told. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientAddress, compileTrust } from '@spillway/core/adapter';
import { ROOT } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { exampleOf, repeat, runExample, serveExample } from './pages.js';
import { stopClock } from './time.js';

const CLIENT = '203.0.113.7';

describe('docs/deployment.md', () => {
  const page = readFileSync(join(ROOT, 'docs', 'deployment.md'), 'utf8');
  const [, table = ''] = page.split('| in front of your app |');
  const rows = table
    .slice(0, table.indexOf('\n\n'))
    .split('\n')
    .slice(2)
    .map((row) => row.split('|').map((cell) => cell.trim()))
    .map(([, proxy = '', arrives = '', trust = '']) => ({
      proxy,
      fields: [...arrives.matchAll(/`([^`]+)`/g)].map(([, field]) => field),
      trust: JSON.parse(trust.replaceAll('`', '')) as number | false,
    }));

  it.each(rows)('finds the client behind $proxy', ({ fields, trust }) => {
    const peer = trust === false ? CLIENT : '10.0.0.1';
    for (const field of fields.length > 0 ? fields : [undefined, '6.6.6.6']) {
      expect(clientAddress(compileTrust(trust), peer, field)).toBe(CLIENT);
    }
  });

  it('has a row for each proxy that people ask about', () => {
    const names = rows.map(({ proxy }) => proxy).join();
    for (const name of ['nginx', 'Cloudflare', 'AWS', 'Kubernetes', 'Heroku', 'Vercel']) {
      expect(names).toContain(name);
    }
    expect(
      rows.filter(({ fields }) => fields.some((field) => field?.startsWith('6.'))),
    ).not.toEqual([]);
  });

  it.each(['{ trustProxy: 1 }', "'10.0.0.0/8'"])('limits clients by what %s says', async (text) => {
    stopClock();
    const { ask } = await serveExample(exampleOf('docs/deployment.md', 'Proxies', text));
    const left = async (forwarded: string) => {
      const { headers } = await ask('/', { headers: { 'X-Forwarded-For': forwarded } });
      return /r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1];
    };
    expect(await left('6.6.6.6, 192.0.2.1')).toBe('99');
    // A peer that is not named is counted by its own address, whatever it claims.
    expect(await left('6.6.6.7, 192.0.2.1')).toBe('98');
    expect(await left('192.0.2.2')).toBe(text.includes('10.') ? '97' : '99');
  });

  it('shows whom the app takes for the client', async () => {
    const { ask } = await serveExample(exampleOf('docs/deployment.md', 'Check it'));
    const seen = await ask('/whoami', { headers: { 'X-Forwarded-For': `6.6.6.6, ${CLIENT}` } });
    expect(await seen.json()).toEqual({ client: CLIENT });
  });
});

describe('docs/start/nextjs.md', () => {
  const PAGE = 'docs/start/nextjs.md';
  const request = (address: string, body = '{}') =>
    new Request('https://app.example/api/reports', {
      method: 'POST',
      headers: { 'X-Forwarded-For': `6.6.6.6, ${address}` },
      body,
    });

  it('has a route handler that limits each address', async () => {
    const { POST } = await runExample(exampleOf(PAGE, 'A route handler'));
    const first = await POST(request(CLIENT, '{"name":"sales"}'));
    expect([first.status, await first.json()]).toEqual([202, { accepted: 'sales' }]);
    for (let i = 1; i < 5; i += 1) expect((await POST(request(CLIENT))).status).toBe(202);
    expect((await POST(request(CLIENT))).status).toBe(429);
    expect((await POST(request('203.0.113.8'))).status).toBe(202);
  });

  it('has a proxy that answers what is too much, and nothing else', async () => {
    stopClock();
    const { proxy } = await runExample(exampleOf(PAGE, 'Before all routes'));
    for (let i = 0; i < 100; i += 1) expect(await proxy(request(CLIENT))).toBeUndefined();
    expect((await proxy(request(CLIENT))).status).toBe(429);
  });

  it('limits users without an address', async () => {
    stopClock();
    const sessionOf = async (asking: Request) => ({ user: asking.headers.get('x-user') });
    const { GET } = await runExample(exampleOf(PAGE, 'Limit users'), { yours: { sessionOf } });
    const as = (user: string) =>
      new Request('https://app.example/', { headers: { 'x-user': user } });
    const statuses: number[] = [];
    for (let i = 0; i < 101; i += 1) statuses.push((await GET(as('ada'))).status);
    expect(statuses).toEqual([...repeat(100, 200), 429]);
    expect((await GET(as('bob'))).status).toBe(200);
  });
});
