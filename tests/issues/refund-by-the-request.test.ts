/** Whether a request is refunded may depend on what its handler found out, which the status does not show. */

import type { ExecutionContext } from '@nestjs/common';
import { createGuard, type LimitRequest, memoryStore, rateLimit as plain } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import * as forExpress from '@spillway/express';
import * as forFastify from '@spillway/fastify';
import * as forHono from '@spillway/hono';
import * as forKoa from '@spillway/koa';
import * as forNest from '@spillway/nestjs';
import express from 'express';
import type { FastifyRequest } from 'fastify';
import type { Context } from 'hono';
import type { Context as KoaContext } from 'koa';
import { serveListener } from 'spillway-testkit/http';
import { expect, expectTypeOf, it } from 'vitest';

const { rateLimit, spillway } = forExpress;

it('gives refundIf the request that was judged, with the store at once and later', async () => {
  const memory = memoryStore();
  const later = remoteStore({
    sync: false,
    apply: async (steps: never) => memory.apply(steps),
  });
  for (const store of [memoryStore(), later]) {
    const seen: LimitRequest[] = [];
    const refundIf = (request: LimitRequest) => seen.push(request) > 0;
    const guard = createGuard(plain({ name: 'a', limit: 1, window: '1h', refundIf }), { store });
    const request = {
      method: 'POST',
      path: '/login',
      clientIp: '203.0.113.7',
      header: () => undefined,
      raw: {},
    };
    const admission = await guard.admit(request);
    await admission.release({ status: 200 });
    expect(seen).toEqual([request]);
    expect(seen[0]).toBe(request);
    expect((await guard.admit(request)).allowed).toBe(true);
  }
});

it('counts only logins that a handler says have failed, whatever status they have', async () => {
  const failures = rateLimit({
    name: 'failed-logins',
    limit: 2,
    window: '1h',
    refundIf: ({ raw }) => raw.res?.locals['loggedIn'] === true,
  });
  const app = express();
  app.post('/login', spillway(failures), (req, res) => {
    res.locals['loggedIn'] = req.query['password'] === 'right';
    res.json({ ok: res.locals['loggedIn'] }); // 200 either way, as GraphQL does
  });
  const { get } = await serveListener(app);
  const login = async (password: string) =>
    (await get(`/login?password=${password}`, { method: 'POST' })).status;
  for (let i = 0; i < 4; i += 1) expect(await login('right')).toBe(200);
  expect([await login('wrong'), await login('wrong'), await login('wrong')]).toEqual([
    200, 200, 429,
  ]);
});

it('gives refundIf the request of the framework with its own type', () => {
  const two = { limit: 2, window: '1h' } as const;
  const limiters = [
    forExpress.rateLimit({
      ...two,
      refundIf: ({ raw }) => expectTypeOf(raw).toEqualTypeOf<express.Request>(),
    }),
    forKoa.rateLimit({
      ...two,
      refundIf: ({ raw }) => expectTypeOf(raw).toEqualTypeOf<KoaContext>(),
    }),
    forHono.rateLimit({
      ...two,
      refundIf: ({ raw }) => expectTypeOf(raw).toEqualTypeOf<Context>(),
    }),
    forFastify.rateLimit({
      ...two,
      refundIf: ({ raw }) => expectTypeOf(raw).toEqualTypeOf<FastifyRequest>(),
    }),
    forNest.rateLimit({
      ...two,
      refundIf: ({ raw }) => expectTypeOf(raw).toEqualTypeOf<ExecutionContext>(),
    }),
    // @ts-expect-error: the request has no status, the outcome has
    forExpress.rateLimit({ ...two, refundIf: ({ status }) => status === 200 }),
  ];
  for (const { finish } of limiters) expect(finish).toBeTypeOf('function');
});
