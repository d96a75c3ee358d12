/** Whether a request is refunded may depend on what its handler found out, of which the status says nothing. */

import { createGuard, type LimitRequest, memoryStore, rateLimit as plain } from '@spillway/core';
import { rateLimit, spillway } from '@spillway/express';
import express from 'express';
import { serveListener } from 'spillway-testkit/http';
import { expect, it } from 'vitest';

it('gives refundIf the request that was judged, with the store at once and later', async () => {
  const memory = memoryStore();
  const later = { sync: false, apply: async (steps: never) => memory.apply(steps) } as const;
  for (const store of [memoryStore(), later]) {
    const seen: LimitRequest[] = [];
    const refundIf = (_: unknown, request: LimitRequest) => seen.push(request) > 0;
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
    refundIf: (_outcome, { raw }) => raw.res?.locals['loggedIn'] === true,
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
