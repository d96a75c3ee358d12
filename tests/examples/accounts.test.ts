/** The recipes for logins, plans and tenants, as they are printed. */

import type { RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { exampleOf, json, repeat, type Service, serveExample } from './pages.js';
import { stopClock } from './time.js';
import { authenticate } from './users.js';

const MINUTE = 60_000;
const TRUSTING = "const app = express();\napp.set('trust proxy', 1);";

describe('docs/recipes/login.md', () => {
  const findUser = async (email: string, password: string) =>
    password === 'right' ? { id: email } : undefined;
  const open = () =>
    serveExample(exampleOf('docs/recipes/login.md', 'Login'), { yours: { findUser } });
  const tries = ({ statuses }: Service, times: number, email: string, password = 'wrong') =>
    statuses(times, '/login', json({ email, password }));

  it('refuses the sixth wrong password, and takes one more after three minutes', async () => {
    const advance = stopClock();
    const service = await open();
    expect(await tries(service, 6, 'ada@example.com')).toEqual([...repeat(5, 401), 429]);
    const { headers } = await service.ask('/login', json({ email: ' Ada@example.com' }));
    expect(headers.get('retry-after')).toBe('180');
    expect(await tries(service, 1, 'bob@example.com')).toEqual([401]);
    advance(3 * MINUTE);
    expect(await tries(service, 2, 'ada@example.com')).toEqual([401, 429]);
  });

  it('counts no success, and forgets the failures before one', async () => {
    const service = await open();
    expect(await tries(service, 8, 'ada@example.com', 'right')).toEqual(repeat(8, 200));
    expect(await tries(service, 4, 'ada@example.com')).toEqual(repeat(4, 401));
    expect(await tries(service, 1, 'ada@example.com', 'right')).toEqual([200]);
    expect(await tries(service, 6, 'ada@example.com')).toEqual([...repeat(5, 401), 429]);
  });

  it.each([
    ['the option', { '{ store },\n);\n// The same': '{ store, trustProxy: 1 },\n);\n// The same' }],
    ["Express' setting", { 'const app = express();': TRUSTING }],
  ])('locks one address out and not the owner, behind a proxy named by %s', async (_, replace) => {
    const page = exampleOf('docs/recipes/login.md', 'Login');
    const { statuses } = await serveExample(page, { yours: { findUser }, replace });
    const from = (address: string, password: string) =>
      json({ email: 'ada@example.com', password }, { 'X-Forwarded-For': address });
    expect(await statuses(6, '/login', from('203.0.113.7', 'wrong'))).toEqual([
      ...repeat(5, 401),
      429,
    ]);
    expect(await statuses(1, '/login', from('203.0.113.8', 'right'))).toEqual([200]);
  });

  it('forgets the failures before a success behind a proxy, too', async () => {
    const page = exampleOf('docs/recipes/login.md', 'Login');
    const replace = { 'const app = express();': TRUSTING };
    const { statuses } = await serveExample(page, { yours: { findUser }, replace });
    const from = (password: string) =>
      json({ email: 'ada@example.com', password }, { 'X-Forwarded-For': '2001:db8:1:2:3::7' });
    expect(await statuses(4, '/login', from('wrong'))).toEqual(repeat(4, 401));
    expect(await statuses(1, '/login', from('right'))).toEqual([200]);
    expect(await statuses(6, '/login', from('wrong'))).toEqual([...repeat(5, 401), 429]);
  });

  it('stops an address that tries a list of accounts', async () => {
    const service = await open();
    for (let i = 0; i < 30; i += 1)
      expect(await tries(service, 1, `u${i}@x.example`)).toEqual([401]);
    expect(await tries(service, 1, 'another@x.example', 'right')).toEqual([429]);
  });

  it('lets no mail box be filled, and charges nothing where one limit refuses', async () => {
    const sent: string[] = [];
    const sendResetMail = async (email: string) => void sent.push(email);
    const page = exampleOf('docs/recipes/login.md', 'Password reset');
    const { statuses } = await serveExample(page, { yours: { sendResetMail } });
    const to = (email: string) => json({ email });
    const path = '/password-reset';
    expect(await statuses(10, path, to('ada@example.com'))).toEqual([
      ...repeat(3, 202),
      ...repeat(7, 429),
    ]);
    for (let i = 0; i < 7; i += 1)
      expect(await statuses(1, path, to(`${i}@x.example`))).toEqual([202]);
    expect(await statuses(1, path, to('last@x.example'))).toEqual([429]);
    expect(sent).toHaveLength(10);
  });
});

describe('docs/recipes/plans.md', () => {
  const PAGE = 'docs/recipes/plans.md';
  const as = (user: string, plan: string) => ({ headers: { 'x-user': user, 'x-plan': plan } });

  it('gives each plan its numbers, and lets a banned one do nothing', async () => {
    stopClock();
    const page = exampleOf(PAGE, 'Plans in the code');
    const { ask, statuses } = await serveExample(page, { yours: { authenticate } });
    expect(await statuses(11, '/things', as('f', 'free'))).toEqual([...repeat(10, 200), 429]);
    const { headers } = await ask('/things', as('f', 'free'));
    expect(headers.get('ratelimit-policy')).toBe('"api";q=10;w=60');
    expect(await statuses(11, '/things', as('n', 'new'))).toEqual([...repeat(10, 200), 429]);
    expect(await statuses(101, '/things', as('p', 'paid'))).toEqual([...repeat(100, 200), 429]);
    const banned = await ask('/things', as('b', 'banned'));
    expect([banned.status, banned.headers.get('retry-after')]).toEqual([429, null]);
  });

  it('limits tenants and their users in one decision', async () => {
    const tenant: RequestHandler = (req, res, next) => {
      res.locals['tenant'] = req.get('x-plan');
      authenticate(req, res, next);
    };
    const rows = { planOf: async (name: string) => ({ limit: name === 'small' ? 5 : 1_000 }) };
    const page = exampleOf(PAGE, 'Plans from a database');
    const { ask, statuses } = await serveExample(page, { yours: { authenticate: tenant, rows } });
    expect(await statuses(6, '/things', as('ada', 'small'))).toEqual([...repeat(5, 200), 429]);
    const refused = await ask('/things', as('bob', 'small'));
    expect(await refused.json()).toMatchObject({ 'violated-policies': ['per-tenant'] });
    const { headers } = await ask('/things', as('ada', 'large'));
    expect(headers.get('ratelimit')).toMatch(/^"per-tenant";r=999;t=\d+, "per-user";r=94;t=\d+$/);
  });
});
