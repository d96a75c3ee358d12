/** The apps in examples/migrating-*: before and after the migration they answer the same requests the same. */

import { RIGHT } from 'example-notes-service';
import { type Service, serveListener } from 'spillway-testkit/http';
import { describe, expect, it } from 'vitest';
import { APPS, type App, type Half } from './apps.js';
import { ask, passes, type Sent, statuses, virtualTime } from './world.js';

/** The responses of every app before its migration. The responses to logins differ between the apps. */
const BEFORE = {
  'the health check': '105x200',
  'as much as the limit': '100x200',
  'more than that': '5x429',
  'another client': '1x200',
  'a minute later': '1x200',
  'a wrong password': '5x401',
} as const;

/** Whether a login with the right password counts, and how many wrong ones pass. */
const LOGINS: Readonly<Record<string, { 'right passwords': string; 'more wrong ones': string }>> = {
  'express-rate-limit': { 'right passwords': '8x204', 'more wrong ones': '3x429' },
  'rate-limiter-flexible': { 'right passwords': '8x204', 'more wrong ones': '1x401 2x429' },
  '@nestjs/throttler': { 'right passwords': '5x204 3x429', 'more wrong ones': '3x429' },
  'koa-ratelimit': { 'right passwords': '5x204 3x429', 'more wrong ones': '3x429' },
  'hono-rate-limiter': { 'right passwords': '8x204', 'more wrong ones': '3x429' },
  '@fastify/rate-limit': { 'right passwords': '5x204 3x429', 'more wrong ones': '3x429' },
};

virtualTime();

describe.each(APPS)('$peer', ({ peer, listen, differences }) => {
  it('answers the same after the migration, but for what is named', async () => {
    const before = await scenario(await serve(listen, 'before'));
    expect(before).toMatchObject({ ...BEFORE, ...LOGINS[peer] });

    const after = await scenario(await serve(listen, 'after'));
    const named = Object.entries(differences).map(([step, { now }]) => [step, now]);
    expect(after).toEqual({ ...before, ...Object.fromEntries(named) });
    for (const step of Object.keys(differences)) expect(after[step]).not.toEqual(before[step]);
  });
});

async function serve(listen: App['listen'], half: Half): Promise<Service> {
  await passes(3_617_000 - (Date.now() % 3_600_000)); // both begin at the same time of an hour, within a minute
  return serveListener(await listen(half));
}

/** The same requests for each app, and what they get. */
async function scenario(service: Service): Promise<Record<string, unknown>> {
  const notes = (from: string): Sent => ({ path: '/notes', from });
  const login = (from: string, authorization = 'Basic no'): Sent => {
    return { path: '/login', method: 'POST', from, fields: { authorization } };
  };
  const of = async (count: number, sent: Sent): Promise<string> => {
    const all = await statuses(service, Array<Sent>(count).fill(sent));
    const kinds = [...new Set(all)];
    return kinds.map((kind) => `${all.filter((one) => one === kind).length}x${kind}`).join(' ');
  };
  const seen: Record<string, unknown> = {};
  seen['the health check'] = await of(105, { path: '/health' });
  seen['as much as the limit'] = await of(100, notes('203.0.113.1'));
  seen['more than that'] = await of(5, notes('203.0.113.1'));
  seen['what a refused client reads'] = told((await ask(service, notes('203.0.113.1'))).body);
  seen['a client that forges X-Forwarded-For'] = await of(1, notes('198.51.100.1, 203.0.113.1'));
  seen['another client'] = await of(1, notes('203.0.113.2'));
  await passes(60_001); // koa-ratelimit needs the one
  seen['a minute later'] = await of(1, notes('203.0.113.1'));
  seen['right passwords'] = await of(8, login('203.0.113.3', RIGHT));
  seen['a wrong password'] = await of(5, login('203.0.113.4'));
  seen['more wrong ones'] = await of(3, login('203.0.113.4'));
  seen['the wait'] = (await ask(service, login('203.0.113.4'))).headers['retry-after'];
  return seen;
}

/** A body for comparison: of a problem document only the title, because its other members name limits. */
function told(body: string): unknown {
  const json = JSON.parse(body);
  return json.title ?? json;
}
