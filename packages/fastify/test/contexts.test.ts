/** Contexts: which registrations apply to a route, and that each of them counts a request once. */

import { admissionsOf, rateLimit, spillway } from '@spillway/fastify';
import { describe, expect, it } from 'vitest';
import { makeApp, statuses } from './service.js';

const limit = (name: string, most: number, window: '1h' | '1m' = '1h') =>
  rateLimit({ name, limit: most, window });

describe('contexts', () => {
  it('are limited by what is registered for them and around them, and by nothing beside them', async () => {
    const app = makeApp();
    app.register(async (child) => {
      child.register(spillway, { limiters: limit('child', 1) });
      child.get('/child', () => 'ok');
      child.register(async (grandchild) => {
        grandchild.get('/grandchild', () => 'ok');
      });
    });
    app.register(async (sibling) => {
      sibling.get('/sibling', () => 'ok');
    });
    app.get('/', () => 'ok');
    expect(await statuses(app, '/child', 2)).toEqual([200, 429]);
    expect(await statuses(app, '/grandchild', 1)).toEqual([429]);
    expect(await statuses(app, '/sibling', 3)).toEqual([200, 200, 200]);
    expect(await statuses(app, '/', 3)).toEqual([200, 200, 200]);
    expect(await statuses(app, '/nowhere', 3)).toEqual([404, 404, 404]);
  });

  it('join the fields of two registrations around a route, of which the inner adds its own limits', async () => {
    const app = makeApp();
    app.register(spillway, { limiters: limit('outer', 9), groups: { few: limit('few', 2) } });
    app.register(async (child) => {
      child.register(spillway, { limiters: limit('inner', 9), groups: { more: limit('more', 7) } });
      const config = { spillway: ['few', 'more', limit('own', 5)] };
      child.get('/', { config }, (request) =>
        admissionsOf(request).map(({ decisions }) => decisions.map(({ limiter }) => limiter)),
      );
    });
    const own = { spillway: limit('alone', 5) };
    app.register(async (child) => {
      child.register(spillway, { limiters: limit('inner', 9) });
      child.get('/alone', { config: own }, (request) =>
        admissionsOf(request).map(({ decisions }) => decisions.map(({ limiter }) => limiter)),
      );
    });
    expect((await app.inject('/alone')).json()).toEqual([['outer'], ['inner', 'alone']]);
    const { body, headers } = await app.inject('/');
    expect(JSON.parse(body)).toEqual([['outer'], ['inner', 'few', 'more', 'own']]);
    expect(headers['ratelimit-policy']).toBe(
      '"outer";q=9;w=3600, "inner";q=9;w=3600, "few";q=2;w=3600, "more";q=7;w=3600, "own";q=5;w=3600',
    );
  });

  it('count a limiter once that is registered for them and around them, and say so', async () => {
    const lines: string[] = [];
    const options = {
      limiters: limit('same', 2),
      logger: { warn: (line: string) => lines.push(line) },
    };
    const app = makeApp();
    app.register(spillway, options);
    app.register(async (child) => {
      child.register(spillway, options);
      child.get('/', { config: { spillway: options.limiters } }, () => 'ok');
    });
    expect(await statuses(app, '/', 3)).toEqual([200, 200, 429]);
    expect(lines).toMatchObject([expect.stringContaining('SPW_REGISTERED_TWICE')]);
  });

  it('count such a limiter once, and say so, if the plugin around them is loaded later', async () => {
    const lines: string[] = [];
    const options = {
      limiters: limit('same', 2),
      logger: { warn: (line: string) => lines.push(line) },
    };
    const app = makeApp();
    app.register(async (child) => {
      child.register(async (grandchild) => {
        grandchild.register(spillway, options);
        grandchild.get('/', { config: { spillway: options.limiters } }, () => 'ok');
      });
      child.register(spillway, { limiters: limit('between', 9) });
    });
    app.register(spillway, options);
    expect(await statuses(app, '/', 3)).toEqual([200, 200, 429]);
    expect(lines).toMatchObject([expect.stringContaining('SPW_REGISTERED_TWICE')]);
  });

  it('may be limited twice: by address before a body is read, by account after authentication', async () => {
    const app = makeApp();
    app.decorateRequest('account', '');
    app.addHook('onRequest', async (request) => {
      Object.assign(request, { account: request.headers['x-account'] });
    });
    app.register(spillway, { limiters: limit('by-address', 9) });
    const key = ({ raw }: { raw: object }) => (raw as { account?: string }).account;
    const limiters = rateLimit({ name: 'by-account', limit: 1, window: '1h', key });
    app.register(spillway, { limiters, hook: 'preHandler' });
    app.get('/', () => 'ok');
    const by = async (account: string) =>
      (await app.inject({ url: '/', headers: { 'x-account': account } })).statusCode;
    expect([await by('ada'), await by('bob'), await by('ada')]).toEqual([200, 200, 429]);
  });
});
