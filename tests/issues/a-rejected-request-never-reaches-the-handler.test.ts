/**
 * A custom answer to a rejection that calls `next()`, forgets to answer or takes too long: the handler is not reached,
 * the default rejection is sent, and a fault is reported.
 */

import { setImmediate as turn } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import type { Fault } from '@spillway/core';
import { nodeGuard } from '@spillway/core/node';
import { spillway as express, rateLimit as ofExpress } from '@spillway/express';
import { spillway as fastify, rateLimit as ofFastify } from '@spillway/fastify';
import { spillway as hono, rateLimit as ofHono } from '@spillway/hono';
import { spillway as koa, rateLimit as ofKoa } from '@spillway/koa';
import Express from 'express';
import Fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import { requestsTo, type Service, serveListener } from 'spillway-testkit/http';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

type Answer = (body: string) => unknown;
/** A custom response, with the functions that its framework gives it. */
type Own = (means: { answer: Answer; next: (error?: unknown) => unknown }) => unknown;

interface World {
  readonly faults: Fault[];
  handled: number;
}

const limit = { limit: 1, window: '1h', key: () => 'one' } as const;
const never = () => new Promise<never>(() => undefined);

const FRAMEWORKS: Readonly<Record<string, (own: Own, world: World) => Promise<Service>>> = {
  express(own, world) {
    const app = Express();
    app.use(
      express(ofExpress(limit), {
        onRejected: (_, _req, res, next) => own({ answer: (body) => res.send(body), next }),
        onFault: (fault) => world.faults.push(fault),
      }),
    );
    app.get('/{*path}', (_req, res) => {
      world.handled += 1;
      res.send('handled');
    });
    return serveListener(app);
  },
  koa(own, world) {
    const app = new Koa();
    app.silent = true;
    app.use(
      koa(ofKoa(limit), {
        onRejected: (_, ctx, next) =>
          own({
            answer: (body) => {
              ctx.body = body;
            },
            next,
          }),
        onFault: (fault) => world.faults.push(fault),
      }),
    );
    app.use((ctx) => {
      world.handled += 1;
      ctx.body = 'handled';
    });
    return serveListener(app.callback());
  },
  hono(own, world) {
    const app = new Hono();
    app.use(
      hono(ofHono(limit), {
        onRejected: (_, c) => own({ answer: (body) => c.body(body), next: () => undefined }),
        onFault: (fault) => world.faults.push(fault),
      }),
    );
    app.get('*', (c) => {
      world.handled += 1;
      return c.text('handled');
    });
    return serveListener(getRequestListener(app.fetch));
  },
  async fastify(own, world) {
    const app = Fastify();
    await app.register(fastify, {
      limiters: ofFastify(limit),
      onRejected: (_, _request, reply) =>
        own({ answer: (body) => reply.send(body), next: () => undefined }),
      onFault: (fault) => world.faults.push(fault),
    });
    app.get('/*', () => {
      world.handled += 1;
      return 'handled';
    });
    const address = await app.listen({ port: 0, host: '127.0.0.1' });
    onTestFinished(() => app.close());
    return requestsTo(Number(new URL(address).port));
  },
  'node:http'(own, world) {
    const guard = nodeGuard(ofExpress(limit) as never, {
      onRejected: (_, _req, res) => own({ answer: (body) => res.end(body), next: () => undefined }),
      onFault: (fault) => world.faults.push(fault),
    });
    return serveListener(async (req, res) => {
      if (!(await guard(req, res))) return;
      world.handled += 1;
      res.end('handled');
    });
  },
};

/** Those whose custom answers are given a `next`. */
const WITH_NEXT = ['express', 'koa'];

const world: World = { faults: [], handled: 0 };

beforeEach(() => {
  world.faults.length = 0;
  world.handled = 0;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
});

/** Serves one request by the handler, and the next one by a custom answer; time passes while that is awaited. */
async function reject(framework: string, own: Own, passMs = 0) {
  let isAsked = false;
  const { get } = await FRAMEWORKS[framework]!((means) => {
    isAsked = true;
    return own(means);
  }, world);
  expect(await get()).toMatchObject({ status: 200, body: 'handled' });
  const reply = get();
  while (!isAsked) await turn();
  for (let i = 0; i < 5; i += 1) await turn();
  await vi.advanceTimersByTimeAsync(passMs);
  return reply;
}

const DEFAULT = {
  status: 429,
  headers: expect.objectContaining({ 'content-type': 'application/problem+json' }),
  body: expect.stringContaining('"status":429'),
};
const missing = (says: string) =>
  expect.objectContaining({
    source: 'adapter',
    error: expect.objectContaining({
      code: 'SPW_ANSWER_MISSING',
      message: expect.stringContaining(says),
    }),
  });

describe.each(Object.keys(FRAMEWORKS))('%s', (framework) => {
  it.each<[string, Own]>([
    ['answers nothing', () => undefined],
    ['ends later without an answer', async () => void (await turn())],
    ['never ends', never],
  ])('sends the default rejection if it %s', async (_, own) => {
    expect(await reject(framework, own, 10_000)).toMatchObject(DEFAULT);
    expect(world).toEqual({ handled: 1, faults: [missing('answer')] });
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each<[string, Own]>([
    ['at once', ({ answer }) => answer('mine')],
    [
      'later',
      async ({ answer }) => {
        await turn();
        return answer('mine');
      },
    ],
  ])('leaves a custom answer alone that comes %s', async (_, own) => {
    expect(await reject(framework, own)).toMatchObject({ status: 429, body: 'mine' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(world).toEqual({ handled: 1, faults: [] });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ignores a custom answer that comes too late', async () => {
    let answerLate: () => unknown = () => undefined;
    const own: Own = ({ answer }) =>
      new Promise((resolve) => {
        answerLate = () => resolve(answer('late'));
      });
    expect(await reject(framework, own, 10_000)).toMatchObject(DEFAULT);
    try {
      answerLate();
    } catch {
      // Node throws where the head was sent; that is the app's own code.
    }
    for (let i = 0; i < 5; i += 1) await turn();
    expect(world).toEqual({ handled: 1, faults: [missing('10 s')] });
  });
});

/** Rejections as in some code: without a value, or with a value that a framework does not treat as an error. */
const NO_ERRORS: readonly unknown[] = [undefined, null, 0, '', 'route', 'router'];
const HANDS_ERRORS_ON = Object.keys(FRAMEWORKS).filter((name) => name !== 'node:http');

describe.each(HANDS_ERRORS_ON)('%s, a custom answer that throws no error', (framework) => {
  it.each(NO_ERRORS)('%j goes to the error handler, and to no other one', async (thrown) => {
    const throws: Own = () => {
      throw thrown;
    };
    const rejects: Own = async () => {
      await turn();
      throw thrown;
    };
    vi.spyOn(console, 'error').mockReturnValue();
    for (const own of [throws, rejects]) {
      world.handled = 0;
      expect((await reject(framework, own)).status).toBe(500);
      expect(world).toEqual({ handled: 1, faults: [] });
    }
  });
});

it('express: a folder that a custom answer sends is no way to the handler', async () => {
  let handled = 0;
  const app = Express();
  const onRejected = (_: unknown, _req: unknown, res: Express.Response) => res.sendFile('/tmp');
  app.use(
    express(ofExpress({ ...limit, cost: () => 2 }), { onRejected, onFault: () => undefined }),
  );
  app.get('/', (_req, res) => {
    handled += 1;
    res.send('handled');
  });
  const { get } = await serveListener(app);
  expect(await get()).toMatchObject(DEFAULT);
  expect(handled).toBe(0);
});

it('express: the default rejection has no fields of the body that did not come', async () => {
  const app = Express();
  const onRejected = (_: unknown, _req: unknown, res: Express.Response, next: () => void) => {
    res.setHeader('Content-Encoding', 'gzip');
    next();
  };
  app.use(
    express(ofExpress({ ...limit, cost: () => 2 }), { onRejected, onFault: () => undefined }),
  );
  const { get } = await serveListener(app);
  const reply = await get();
  expect(reply).toMatchObject(DEFAULT);
  expect(reply.headers).not.toHaveProperty('content-encoding');
});

it('fastify: an answer that hooks still work on is an answer', async () => {
  const app = Fastify();
  const faults: Fault[] = [];
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  app.addHook('onSend', () => held);
  await app.register(fastify, {
    limiters: ofFastify({ ...limit, cost: () => 2 }),
    onRejected: async (_, _request, reply) => void reply.type('text/html').send('<b>mine</b>'),
    onFault: (fault) => faults.push(fault),
  });
  app.get('/', () => 'handled');
  onTestFinished(() => app.close());
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  const reply = requestsTo(Number(port)).get();
  for (let i = 0; i < 50; i += 1) await turn();
  await vi.advanceTimersByTimeAsync(5_000);
  release();
  expect(await reply).toMatchObject({
    status: 429,
    headers: expect.objectContaining({ 'content-type': 'text/html' }),
    body: '<b>mine</b>',
  });
  expect(faults).toEqual([]);
});

describe.each(WITH_NEXT)('%s, next()', (framework) => {
  it.each<[string, Own]>([
    ['is called', ({ next }) => next()],
    ['is awaited', async ({ next }) => void (await next())],
    ['is called later', async ({ next }) => void (await turn().then(() => next()))],
    ['is called for another route', ({ next }) => next('route')],
  ])('%s: the default rejection is sent', async (_, own) => {
    expect(await reject(framework, own)).toMatchObject(DEFAULT);
    expect(world).toEqual({ handled: 1, faults: [missing('next()')] });
  });
});

it('in Express an error passed to next() goes to the error handler, as a 500', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const reply = await reject('express', ({ next }) => next(new Error('mine')));
  expect(reply.status).toBe(500);
  expect(world).toEqual({ handled: 1, faults: [] });
});
