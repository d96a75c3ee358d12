/** The apps in examples/migrating-*, before and after, as they are started. */

import type http from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { FastifyInstance } from 'fastify';
import type { Hono } from 'hono';
import type Koa from 'koa';
import { onTestFinished } from 'vitest';

export type Half = 'before' | 'after';

/** An app, and the intended differences after its migration. */
export interface App {
  readonly peer: string;
  listen(half: Half): Promise<http.RequestListener>;
  readonly differences: Readonly<
    Record<string, { readonly now: unknown; readonly because: string }>
  >;
}

const FORGERY = {
  'a client that forges X-Forwarded-For': {
    now: '1x429',
    because: 'only what the proxy has written is believed',
  },
} as const;

export const APPS: readonly App[] = [
  app('express-rate-limit', (it: http.RequestListener) => it),
  app('rate-limiter-flexible', (it: http.RequestListener) => it),
  app(
    '@nestjs/throttler',
    async (it: NestExpressApplication) => {
      onTestFinished(() => it.close());
      await it.init();
      return it.getHttpAdapter().getInstance();
    },
    {
      'what a refused client reads': {
        now: 'Quota exceeded',
        because: 'a problem document in place of the text of the exception',
      },
    },
  ),
  app('koa-ratelimit', (it: Koa) => it.callback(), FORGERY),
  app(
    'hono-rate-limiter',
    (it: Hono) => getRequestListener(it.fetch, { overrideGlobalObjects: false }),
    FORGERY,
  ),
  app('@fastify/rate-limit', async (it: FastifyInstance) => {
    onTestFinished(() => it.close());
    await it.ready();
    return (req, res) => it.routing(req, res);
  }),
];

/** Loaded when it is tried, because koa-ratelimit reads the clock when it is loaded. */
function app<Made>(
  peer: string,
  listen: (made: Made) => http.RequestListener | Promise<http.RequestListener>,
  differences: App['differences'] = {},
): App {
  const name = `example-migrating-${peer.replace(/^@(.*)\//, '$1-')}`;
  return {
    peer,
    listen: async (half) => {
      const { createApp } = await import(/* @vite-ignore */ `${name}/${half}`);
      return listen(await createApp());
    },
    differences,
  };
}
