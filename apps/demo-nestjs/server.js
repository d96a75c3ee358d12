/** Spillway on NestJS: limits and load shedders on one small service, in memory or, with REDIS_URL, shared by a fleet. */

import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import * as nest from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { eventLoopSignal } from '@spillway/core/node';
import * as spw from '@spillway/nestjs';
import { redisStore } from '@spillway/redis';
import { cannotListen, complain, welcome } from 'demo-parts';
import { Redis } from 'ioredis';

const { PORT = 3000, LIMIT = 20, WINDOW: window = '1m', PLATFORM = 'express' } = process.env;
const { FOUR, REDIS_URL, TRUST_PROXY = 0 } = process.env;

const redis = REDIS_URL ? new Redis(REDIS_URL, { socketTimeout: 1000 }) : undefined;
redis?.on('error', (error) => complain(`Redis: ${error.message || error.code}`));

// A demo has no accounts: a header replaces the account. Your service uses its authentication.
const key = (request) => request.header('x-api-key'); // without one, the client's address is the key
const priority = spw.priorityOf; // reads the Priority() of a handler
const shedders = [
  spw.workerShedder({ name: 'workers', signal: eventLoopSignal(), priority }),
  spw.fleetShedder({ name: 'fleet', capacity: 20, reserve: 0.2, priority }),
  spw.concurrencyLimit({ name: 'in-flight', limit: 5, key }),
];
const spillway = spw.SpillwayModule.forRoot({
  store: redis ? redisStore(redis) : spw.memoryStore(),
  trustProxy: Number(TRUST_PROXY),
  onFault: ({ limiter, source, error }) => complain(`${limiter}: ${source}: ${error.message}`),
  observers: [spw.decisionTable()], // while you develop: a line for each rejection
  limiters: [
    ...(FOUR === '1' ? shedders : []),
    spw.rateLimit({ name: 'per-address', limit: 60, window }),
    spw.rateLimit({ name: 'trial', limit: 1, window, mode: 'shadow' }), // a dark launch
  ],
});

class Demo {
  hello() {
    return 'Hello from behind a spillway.\n';
  }
  health() {
    return 'ok\n';
  }
  things(request) {
    const decisions = spw.admissionsOf(request).flatMap((admission) => admission.decisions);
    const { remaining } = decisions.find(({ limiter }) => limiter === 'per-key') ?? {};
    return { things: ['a dam', 'a gate'], remaining }; // by this process's count while Redis is away
  }
  async charge({ amount, note } = {}, ms = 0) {
    await sleep(Math.min(Number(ms), 5000)); // a slow bank
    return { charged: true, id: randomUUID(), amount, note };
  }
  report(ms = 50) {
    const end = performance.now() + Math.min(Number(ms), 1000);
    while (performance.now() < end); // work that blocks the event loop
    return 'done\n';
  }
  stream(chunks = 5) {
    return new nest.StreamableFile(Readable.from(lines(Math.min(Number(chunks), 600))), { type });
  }
  fails() {
    throw new Error('the handler failed; the limits went on');
  }
}

// JavaScript has no decorators such as @Get('things') @RateLimit({ ... }), so they are applied by calls.
const type = 'text/plain; charset=utf-8';
const text = nest.Header('Content-Type', type);
nest.Controller()(Demo);
decorate('hello', nest.Get(), text);
decorate('health', nest.Get('health'), text, spw.SkipRateLimit());
const perKey = { name: 'per-key', limit: Number(LIMIT), window, key };
decorate('things', nest.Get('things'), spw.RateLimit(perKey), parameter(nest.Req()));
const once = spw.Idempotent({ scope: (request) => key(request) ?? request.clientIp });
const body = [parameter(nest.Body()), parameter(nest.Query('ms'), 1)];
decorate('charge', nest.Post('charges'), spw.Priority('critical'), once, ...body);
decorate('report', nest.Get('report'), text, parameter(nest.Query('ms')));
decorate('stream', nest.All('stream'), once, parameter(nest.Query('chunks')));
decorate('fails', nest.All('fails'), once);

class App {}
nest.Module({ imports: [spillway], controllers: [Demo] })(App);

const { ExpressAdapter, FastifyAdapter } = await import(`@nestjs/platform-${PLATFORM}`);
const adapter = new (PLATFORM === 'fastify' ? FastifyAdapter : ExpressAdapter)();
const app = await NestFactory.create(App, adapter, { logger: ['error'] });
const exposedHeaders = ['RateLimit', 'RateLimit-Policy', 'Retry-After', 'Idempotency-Replayed'];
app.enableCors({ exposedHeaders });
await app.listen(Number(PORT), '0.0.0.0').catch(cannotListen); // by default, Fastify listens only on the loopback
const { port } = app.getHttpServer().address();
welcome(port, `Nest on ${PLATFORM}, counting in ${redis ? 'Redis' : 'memory'}`);

process.once('SIGTERM', async () => {
  await app.close(); // the module releases permits
  redis?.disconnect();
});

/** If the client disconnects, Nest destroys the stream, which ends this generator. */
async function* lines(count) {
  for (let line = 1; line <= count; line += 1) {
    yield `${line}\n`;
    await sleep(100);
  }
}

function decorate(method, ...decorators) {
  const descriptor = Object.getOwnPropertyDescriptor(Demo.prototype, method);
  nest.applyDecorators(...decorators)(Demo.prototype, method, descriptor);
}

/** Decorates a parameter of a method. */
function parameter(decorator, index = 0) {
  return (target, method) => decorator(target, method, index);
}
