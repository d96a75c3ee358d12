/** The recipes for logins, plans and tenants, as they are printed. */

import { readFileSync } from 'node:fs';
import type { Request, RequestHandler } from 'express';
import { beforeEach, describe, expect, it } from 'vitest';
import { exampleOf, json, repeat, type Service, serveExample } from './pages.js';
import { stopClock } from './time.js';
import { authenticate } from './users.js';

const MINUTE = 60_000;
/** The row of the login table that begins with this text. */
const exampleRow = (first: string): string => {
  const page = readFileSync(new URL('../../docs/recipes/login.md', import.meta.url), 'utf8');
  return page.split('\n').find((line) => line.startsWith(`| ${first}`)) ?? '';
};

const TRUSTING = "const app = express();\napp.set('trust proxy', 1);";

describe('docs/recipes/login.md', () => {
  const PAGE = 'docs/recipes/login.md';
  const HOUR = 60 * MINUTE;
  const DAY = 24 * HOUR;
  /** The passwords that were tried, by the account. */
  let tried: string[];
  const findUser = async (email: string, password: string) => {
    tried.push(email);
    return password === 'right' ? { id: email } : undefined;
  };
  const yours = {
    findUser,
    knownDevice: (req: Request) => req.get('x-device'),
    passesChallenge: async (req: Request) => req.get('x-challenge') === 'passed',
  };
  beforeEach(() => {
    tried = [];
  });
  const open = () => serveExample(exampleOf(PAGE, 'Login'), { yours });
  const openBehindProxy = () =>
    serveExample(exampleOf(PAGE, 'Login'), {
      yours,
      replace: { 'const app = express();': TRUSTING },
    });
  const tries = ({ statuses }: Service, times: number, email: string, password = 'wrong') =>
    statuses(times, '/login', json({ email, password }));
  const from = (address: string, password: string, headers: Record<string, string> = {}) =>
    json({ email: 'ada@example.com', password }, { 'X-Forwarded-For': address, ...headers });

  it('locks after the sixth wrong password, longer each time', async () => {
    const advance = stopClock();
    const service = await open();
    for (const hours of [1, 6, 24, 24]) {
      expect(await tries(service, 6, 'ada@example.com')).toEqual([...repeat(5, 401), 429]);
      const { headers } = await service.ask('/login', json({ email: ' Ada@example.com' }));
      expect(headers.get('retry-after')).toBe(`${hours * 3_600}`);
      expect(await tries(service, 1, 'bob@example.com', 'right')).toEqual([200]);
      advance(hours * HOUR);
    }
  });

  it('counts no success, and forgets the failures before one', async () => {
    const service = await open();
    expect(await tries(service, 8, 'ada@example.com', 'right')).toEqual(repeat(8, 200));
    expect(await tries(service, 4, 'ada@example.com')).toEqual(repeat(4, 401));
    expect(await tries(service, 1, 'ada@example.com', 'right')).toEqual([200]);
    expect(await tries(service, 6, 'ada@example.com')).toEqual([...repeat(5, 401), 429]);
  });

  it('admits as many guesses a day as it says, to a source that waits and to one that insists', async () => {
    const advance = stopClock();
    const service = await open();
    const guesses = exampleRow('by account and source').match(/\d+(?= if)/g);
    const guess = json({ email: 'ada@example.com' }, { 'x-challenge': 'passed' });
    for (let hour = 0; hour < 24; hour += 1) {
      await service.statuses(5, '/login', guess);
      advance(HOUR);
    }
    for (let minute = 0; minute < DAY / MINUTE; minute += 30) {
      await tries(service, 6, 'bob@example.com');
      advance(30 * MINUTE);
    }
    const of = (name: string) => tried.filter((email) => email.startsWith(name)).length;
    expect([of('ada'), of('bob')].map(String)).toEqual(guesses);
  });

  it('never locks the owner out, whatever other sources do', async () => {
    const advance = stopClock();
    const { statuses } = await openBehindProxy();
    for (let i = 0; i < 30; i += 1) await statuses(7, '/login', from(`203.0.113.${i}`, 'wrong'));
    expect(tried).toHaveLength(20); // the others failed the challenge
    const passed = { 'x-challenge': 'passed' };
    expect(await statuses(1, '/login', from('198.51.100.1', 'right', passed))).toEqual([200]);
    // At the attacker's address, too, if the device is known.
    const known = { ...passed, 'x-device': 'laptop' };
    expect(await statuses(1, '/login', from('203.0.113.7', 'right', passed))).toEqual([429]);
    expect(await statuses(1, '/login', from('203.0.113.7', 'right', known))).toEqual([200]);
    advance(DAY);
    expect(await statuses(1, '/login', from('198.51.100.1', 'right'))).toEqual([200]);
  });

  it.each([
    ['the option', { '{ store },\n);\n// The same': '{ store, trustProxy: 1 },\n);\n// The same' }],
    ["Express' setting", { 'const app = express();': TRUSTING }],
  ])('locks one address out and not the owner, behind a proxy named by %s', async (_, replace) => {
    const { statuses } = await serveExample(exampleOf(PAGE, 'Login'), { yours, replace });
    expect(await statuses(6, '/login', from('203.0.113.7', 'wrong'))).toEqual([
      ...repeat(5, 401),
      429,
    ]);
    expect(await statuses(1, '/login', from('203.0.113.8', 'right'))).toEqual([200]);
  });

  it('forgets the failures before a success behind a proxy, too', async () => {
    const { statuses } = await openBehindProxy();
    const by = (password: string) => from('2001:db8:1:2:3::7', password);
    expect(await statuses(4, '/login', by('wrong'))).toEqual(repeat(4, 401));
    expect(await statuses(1, '/login', by('right'))).toEqual([200]);
    expect(await statuses(6, '/login', by('wrong'))).toEqual([...repeat(5, 401), 429]);
  });

  it('locks nobody if five logins at once are right and a sixth comes meanwhile', async () => {
    const service = await open();
    const logins = Array.from({ length: 6 }, () => tries(service, 1, 'ada@example.com', 'right'));
    const statuses = (await Promise.all(logins)).flat();
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(5);
    expect(await tries(service, 6, 'ada@example.com')).toEqual([...repeat(5, 401), 429]);
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
    const page = exampleOf(PAGE, 'Password reset');
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
