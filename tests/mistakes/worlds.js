/** Apps of every framework, in plain JavaScript: each with one guard in front of a handler. */

import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import { fetchGuard } from '@spillway/core/fetch';
import { nodeGuard } from '@spillway/core/node';
import { spillway as express } from '@spillway/express';
import { spillway as fastify } from '@spillway/fastify';
import { spillway as hono } from '@spillway/hono';
import { spillway as koa } from '@spillway/koa';
import { SpillwayModule } from '@spillway/nestjs';
import express5 from 'express';
import express4 from 'express4';
import Fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';

// This folder has no Nest. The demo's Nest is used, because the adapter finds that one.
const demo = createRequire(new URL('../../apps/demo-nestjs/package.json', import.meta.url));
const { Controller, Get, Module } = demo('@nestjs/common');
const { NestFactory } = demo('@nestjs/core');

/**
 * What can be done in each:
 *
 * - `guard(limiters, options)` throws, or rejects, as soon as an app would learn of a mistake
 * - `app(limiters, options)` gives a listener for node:http, with one guard
 * - `twice(limiters, options)` the same with the guard mounted twice, `both(one, other)` with two guards
 * - `inHandler(make)` the same, with limiters and guard made by each request; undefined where a framework prevents it
 * - `raw`, from what `key` is given to the address that the framework knows
 */
export const WORLDS = {
  'Express 5': ofExpress(express5),
  'Express 4': ofExpress(express4),
  Koa: {
    guard: koa,
    app: (limiters, options) => koaApp([koa(limiters, options)]),
    twice: (limiters, options) => {
      const guard = koa(limiters, options);
      return koaApp([guard, guard]);
    },
    both: (...guards) => koaApp(guards.map((args) => koa(...args))),
    inHandler: (make) => koaApp([(ctx, next) => koa(...make())(ctx, next)]),
    raw: ({ raw }) => raw.ip,
  },
  Fastify: {
    guard: (limiters, options) => fastifyApp((app) => register(app, limiters, options)).ready(),
    app: (limiters, options) => listener(fastifyApp((app) => register(app, limiters, options))),
    both: (...guards) =>
      listener(
        fastifyApp((app) => {
          for (const args of guards) register(app, ...args);
        }),
      ),
    setting: ", or Fastify's own trustProxy",
    raw: ({ raw }) => raw.ip,
  },
  Hono: {
    guard: hono,
    app: (limiters, options) => honoApp([honoGuard(limiters, options)]),
    twice: (limiters, options) => {
      const guard = honoGuard(limiters, options);
      return honoApp([guard, guard]);
    },
    both: (...guards) => honoApp(guards.map((args) => honoGuard(...args))),
    inHandler: (make) => honoApp([(c, next) => honoGuard(...make())(c, next)]),
    raw: ({ raw }) => getConnInfo(raw).remote.ip,
  },
  NestJS: {
    guard: (limiters, options) => nestApp(limiters, options),
    app: async (limiters, options) => (await nestApp(limiters, options)).getHttpServer(),
    setting: ', or a list of their addresses (the setting of Express or Fastify is not read)',
    raw: ({ raw }) => raw.switchToHttp().getRequest().ip,
  },
  'node:http': {
    guard: nodeGuard,
    app: (limiters, options) => nodeApp([nodeGuard(limiters, options)]),
    both: (...guards) => nodeApp(guards.map((args) => nodeGuard(...args))),
    inHandler: (make) => nodeApp([(req, res) => nodeGuard(...make())(req, res)]),
    twice: (limiters, options) => {
      const guard = nodeGuard(limiters, options);
      return nodeApp([guard, guard]);
    },
    raw: ({ raw }) => raw.socket.remoteAddress,
  },
  fetch: {
    guard: fetchGuard,
    app: (limiters, options) => fetchApp([guardOfFetch(limiters, options)]),
    both: (...guards) => fetchApp(guards.map((args) => guardOfFetch(...args))),
    inHandler: (make) =>
      fetchApp([
        {
          wrap:
            (next) =>
            (...args) =>
              guardOfFetch(...make()).wrap(next)(...args),
        },
      ]),
    raw: ({ raw }) => raw.ip,
  },
};

function ofExpress(framework) {
  const appOf = (...handlers) => {
    const app = framework();
    app.set('env', 'test'); // Express' own error handler prints nothing
    for (const handler of handlers) app.use(handler);
    return app.use((_req, res) => res.end('hello'));
  };
  return {
    guard: express,
    app: (limiters, options) => appOf(express(limiters, options)),
    twice: (limiters, options) => {
      const guard = express(limiters, options);
      return appOf(guard, guard);
    },
    both: (...guards) => appOf(...guards.map((args) => express(...args))),
    inHandler: (make) => appOf((req, res, next) => express(...make())(req, res, next)),
    trusting: (setting, limiters, options) => {
      const app = appOf(express(limiters, options));
      app.set('trust proxy', setting);
      return app;
    },
    setting: ", or app.set('trust proxy', 1)",
    raw: ({ raw }) => raw.ip,
  };
}

function koaApp(guards) {
  const app = new Koa();
  for (const guard of guards) app.use(guard);
  app.use((ctx) => {
    ctx.body = 'hello';
  });
  return app.callback();
}

function register(app, limiters, options) {
  const given =
    typeof options === 'object' && options !== null ? { ...options, limiters } : options;
  app.register(fastify, given);
}

function fastifyApp(prepare) {
  const app = Fastify();
  prepare(app);
  app.get('/', async () => 'hello');
  return app;
}

async function listener(app) {
  await app.ready();
  return app.server;
}

function honoGuard(limiters, options) {
  return hono(limiters, { clientIp: (c) => getConnInfo(c).remote.address, ...options });
}

function honoApp(guards) {
  const app = new Hono();
  for (const guard of guards) app.use(guard);
  app.get('/', (c) => c.text('hello'));
  return getRequestListener(app.fetch);
}

async function nestApp(limiters, options) {
  class Hello {
    hello() {
      return 'hello';
    }
  }
  Controller()(Hello);
  Get()(Hello.prototype, 'hello', Object.getOwnPropertyDescriptor(Hello.prototype, 'hello'));
  class App {}
  const given =
    typeof options === 'object' && options !== null ? { ...options, limiters } : options;
  Module({ controllers: [Hello], imports: [SpillwayModule.forRoot(given)] })(App);
  const app = await NestFactory.create(App, { logger: false, abortOnError: false });
  return app.init();
}

function nodeApp(guards) {
  return async (req, res) => {
    for (const guard of guards) if (!(await guard(req, res))) return;
    res.end('hello');
  };
}

function guardOfFetch(limiters, options) {
  return fetchGuard(limiters, { clientIp: (_request, address) => address, ...options });
}

/** A handler of fetch behind node:http: its second argument is the address. */
function fetchApp(guards) {
  const hello = async () => new Response('hello');
  const handle = guards.reduceRight((next, guard) => guard.wrap(next), hello);
  return async (req, res) => {
    const { method, headers, socket } = req;
    const asked = new Request('http://localhost/', { method, headers });
    const response = await handle(asked, socket.remoteAddress);
    res.writeHead(response.status, [...response.headers].flat());
    res.end(await response.text());
  };
}

let sockets = 0;

/**
 * Serves an app on a loopback port, or on a Unix socket, as long as `use` runs.
 *
 * @param use is given `get(headers)`, which resolves to the status
 */
export async function serving(app, use, { unix = false } = {}) {
  const given = await app;
  const server = typeof given === 'function' ? createServer(given) : given;
  sockets += 1;
  const path = join(tmpdir(), `spillway-mistakes-${process.pid}-${sockets}.sock`);
  const at = unix ? { path } : { port: 0, host: '127.0.0.1' };
  await new Promise((resolve) => server.listen(at, resolve));
  const where = unix ? { socketPath: path } : { port: server.address().port, host: '127.0.0.1' };
  try {
    return await use((headers = {}) => get({ ...where, path: '/', headers }));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function get(options) {
  return new Promise((resolve, reject) => {
    const sent = request(options, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject);
    sent.end();
  });
}
