/** NestJS 11 on Express, and its limiters. */

import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { rateLimit, SpillwayModule } from '@spillway/nestjs';
import { redisStore } from '@spillway/redis';

const DAY_MS = 86_400_000;

class HelloController {
  hello() {
    return { hello: 'world' };
  }
}
Controller()(HelloController);
const { prototype } = HelloController;
Get()(prototype, 'hello', Object.getOwnPropertyDescriptor(prototype, 'hello'));

/** `setUp` contains the imports and providers of a contender. */
export async function serve(setUp = { imports: [], providers: [] }) {
  class AppModule {}
  Module({ ...setUp, controllers: [HelloController] })(AppModule);
  const app = await NestFactory.create(AppModule, { logger: false });
  await app.init();
  return app.getHttpServer();
}

function ours(limit, store) {
  const key = (request) => request.header('x-api-key');
  const limiters = [rateLimit({ name: 'api', limit, window: '1d', key })];
  return {
    imports: [SpillwayModule.forRoot({ limiters, ...(store ? { store } : {}) })],
    providers: [],
  };
}

function peer(limit) {
  const options = {
    throttlers: [{ ttl: DAY_MS, limit }],
    getTracker: (req) => req.headers['x-api-key'],
  };
  return {
    imports: [ThrottlerModule.forRoot(options)],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  };
}

export const contenders = {
  bare: { title: '_no limiter_', make: () => undefined },
  ours: { title: 'Spillway, memory', make: (limit) => ours(limit) },
  peer: { title: '@nestjs/throttler, memory', make: (limit) => peer(limit) },
  oursRedis: {
    title: 'Spillway, Redis',
    redis: true,
    make: (limit, client) => ours(limit, redisStore(client)),
  },
};
