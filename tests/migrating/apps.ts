/** The apps in examples/migrating-*, before and after, as they are started. */

import type http from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { FastifyInstance } from 'fastify';
import type { Hono } from 'hono';
import type Koa from 'koa';
import { onTestFinished } from 'vitest';

export type Half = 'before' | 'after';

/** An app, and what it answers otherwise after the migration, on purpose. */
export interface App {
  readonly peer: string;
  listen(half: Half): Promise<http.RequestListener>;
  readonly differences: Readonly<
    Record<string, { readonly now: unknown; readonly because: string }>
  >;
}

const FORGERY = { now: '1x429', because: 'only what the proxy has written is believed' } as const;

/** Each is loaded when it is tried: koa-ratelimit reads the clock when it is loaded. */
export const APPS: readonly App[] = [
  {
    peer: 'express-rate-limit',
    async listen(half) {
      const { createApp } =
        half === 'before'
          ? await import('example-migrating-express-rate-limit/before')
          : await import('example-migrating-express-rate-limit/after');
      return createApp();
    },
    differences: {},
  },
  {
    peer: 'rate-limiter-flexible',
    async listen(half) {
      const { createApp } =
        half === 'before'
          ? await import('example-migrating-rate-limiter-flexible/before')
          : await import('example-migrating-rate-limiter-flexible/after');
      return createApp();
    },
    differences: {},
  },
  {
    peer: '@nestjs/throttler',
    async listen(half) {
      const { createApp } =
        half === 'before'
          ? await import('example-migrating-nestjs-throttler/before')
          : await import('example-migrating-nestjs-throttler/after');
      const app: NestExpressApplication = await createApp();
      onTestFinished(() => app.close());
      await app.init();
      return app.getHttpAdapter().getInstance();
    },
    differences: {
      'what a refused client reads': {
        now: 'Quota exceeded',
        because: 'a problem document in place of the text of the exception',
      },
    },
  },
  {
    peer: 'koa-ratelimit',
    async listen(half) {
      const { createApp } =
        half === 'before'
          ? await import('example-migrating-koa-ratelimit/before')
          : await import('example-migrating-koa-ratelimit/after');
      const app: Koa = createApp();
      return app.callback();
    },
    differences: { 'a client that forges X-Forwarded-For': FORGERY },
  },
  {
    peer: 'hono-rate-limiter',
    async listen(half) {
      const { createApp } =
        half === 'before'
          ? await import('example-migrating-hono-rate-limiter/before')
          : await import('example-migrating-hono-rate-limiter/after');
      const app: Hono = createApp();
      return getRequestListener(app.fetch, { overrideGlobalObjects: false });
    },
    differences: { 'a client that forges X-Forwarded-For': FORGERY },
  },
  {
    peer: '@fastify/rate-limit',
    async listen(half) {
      const { createApp } =
        half === 'before'
          ? await import('example-migrating-fastify-rate-limit/before')
          : await import('example-migrating-fastify-rate-limit/after');
      const app: FastifyInstance = createApp();
      onTestFinished(() => app.close());
      await app.ready();
      return (req, res) => app.routing(req, res);
    },
    differences: {},
  },
];
