/**
 * An app that loads every package except the CLI, and has each adapter answer two requests, the second of them beyond
 * the limit.
 */

const MAIN = `
async function main(load) {
  const core = await load('@spillway/core');
  const limit = () => core.rateLimit({ limit: 1, window: '1h' });
  const ask = async (url) => {
    const statuses = [];
    for (let i = 0; i < 2; i += 1) {
      const response = await fetch(url, { headers: { connection: 'close' } });
      statuses.push(response.status);
      await response.arrayBuffer();
    }
    return statuses;
  };
  const serve = async (server) => {
    if (!server.listening) await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const statuses = await ask('http://127.0.0.1:' + server.address().port);
    await new Promise((resolve) => server.close(resolve));
    return statuses;
  };
  const http = await load('node:http');
  const defaultOf = (loaded) => loaded.default ?? loaded;
  const answers = {};

  const { nodeGuard } = await load('@spillway/core/node');
  const guard = nodeGuard(limit());
  const listener = async (req, res) => {
    if (await guard(req, res)) res.end('hello');
  };
  answers.node = await serve(http.createServer(listener));

  const { fetchGuard } = await load('@spillway/core/fetch');
  const handler = fetchGuard(limit(), { clientIp: () => '192.0.2.1' }).wrap(() => new Response('hello'));
  answers.fetch = [];
  for (let i = 0; i < 2; i += 1) answers.fetch.push((await handler(new Request('http://app/'))).status);

  const onExpress = await load('@spillway/express');
  const express = defaultOf(await load('express'))();
  express.use(onExpress.spillway(limit()));
  express.get('/', (_req, res) => void res.send('hello'));
  answers.express = await serve(http.createServer(express));

  const onKoa = await load('@spillway/koa');
  const koa = new (defaultOf(await load('koa')))();
  koa.use(onKoa.spillway(limit()));
  koa.use((ctx) => void (ctx.body = 'hello'));
  answers.koa = await serve(http.createServer(koa.callback()));

  const onFastify = await load('@spillway/fastify');
  const fastify = defaultOf(await load('fastify'))();
  fastify.register(onFastify.spillway, { limiters: limit() });
  fastify.get('/', () => 'hello');
  await fastify.listen({ port: 0, host: '127.0.0.1' });
  answers.fastify = await ask('http://127.0.0.1:' + fastify.server.address().port);
  await fastify.close();

  const onHono = await load('@spillway/hono');
  const { Hono } = await load('hono');
  const hono = new Hono();
  hono.use(onHono.spillway(limit(), { clientIp: () => '192.0.2.1' }));
  hono.get('/', (c) => c.text('hello'));
  answers.hono = [(await hono.request('/')).status, (await hono.request('/')).status];

  const onNest = await load('@spillway/nestjs');
  const { Controller, Get, Module } = await load('@nestjs/common');
  const { NestFactory } = await load('@nestjs/core');
  const { ExpressAdapter } = await load('@nestjs/platform-express');
  class Hello {
    hello() {
      return 'hello';
    }
  }
  Controller()(Hello);
  Get()(Hello.prototype, 'hello', Object.getOwnPropertyDescriptor(Hello.prototype, 'hello'));
  class App {}
  const imports = [onNest.SpillwayModule.forRoot({ limiters: [limit()] })];
  Module({ imports, controllers: [Hello] })(App);
  const nest = await NestFactory.create(App, new ExpressAdapter(), { logger: false, abortOnError: false });
  await nest.listen(0, '127.0.0.1');
  answers.nest = await ask('http://127.0.0.1:' + nest.getHttpServer().address().port);
  await nest.close();

  const handedOn = [onExpress, onKoa, onFastify, onHono, onNest].map((it) => it.SpillwayError);
  answers.isOneCore = handedOn.every((it) => it === core.SpillwayError);
  const { redisStore } = await load('@spillway/redis');
  try {
    redisStore({});
  } catch (error) {
    answers.redis = error instanceof core.SpillwayError;
  }
  const { durableObjectStore } = await load('@spillway/cloudflare');
  try {
    durableObjectStore(undefined);
  } catch (error) {
    answers.cloudflare = error instanceof core.SpillwayError;
  }
  answers.loaded = [];
  for (const name of ['conformance', 'opentelemetry', 'outgoing', 'prometheus']) {
    const names = Object.keys(await load('@spillway/' + name));
    if (names.length > 0) answers.loaded.push(name);
  }
  console.log(JSON.stringify(answers));
}
`;

/** The app as an ES module and in CommonJS. */
export const FILES = {
  'app.mjs': `${MAIN}\nawait main((name) => import(name));\n`,
  'app.cjs': `${MAIN}\nmain(async (name) => require(name));\n`,
} as const;

const SERVED = [200, 429];

/** What the app prints. */
export const ANSWERS = {
  node: SERVED,
  fetch: SERVED,
  express: SERVED,
  koa: SERVED,
  fastify: SERVED,
  hono: SERVED,
  nest: SERVED,
  isOneCore: true,
  redis: true,
  cloudflare: true,
  loaded: ['conformance', 'opentelemetry', 'outgoing', 'prometheus'],
};
