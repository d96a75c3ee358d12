/**
 * `pacedFetch` with `xRateLimit` used half of what express-rate-limit allowed: `X-RateLimit-Reset` is a whole second,
 * rounded up, compared with a `Date` that is rounded down, and each used-up window waited for both.
 */

import { memoryStore } from '@spillway/core';
import { systemClock } from '@spillway/core/store';
import { createShaper, pacedFetch } from '@spillway/outgoing';
import type { Request as Incoming, NextFunction, Response as Outgoing } from 'express';
import { rateLimit } from 'express-rate-limit';
import { fakeTime, seeded } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';

interface Scene {
  readonly limit: number;
  readonly windowMs: number;
  readonly periodMs: number;
}

type Options = Parameters<typeof rateLimit>[0];

const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** What express-rate-limit does with one request, without the server around it. */
async function answerOf(limiter: ReturnType<typeof rateLimit>): Promise<Response> {
  const headers = new Headers({ date: new Date().toUTCString() });
  return new Promise((resolve, reject) => {
    let status = 200;
    const response = {
      headersSent: false,
      writableEnded: false,
      setHeader: (name: string, value: unknown) => headers.set(name, String(value)),
      append: (name: string, value: unknown) => headers.append(name, String(value)),
      status: (code: number) => {
        status = code;
        return response;
      },
      send: () => resolve(new Response(null, { status, headers })),
    };
    const request = { ip: '203.0.113.7', app: { get: () => false }, headers: {}, socket: {} };
    const next: NextFunction = (error?: unknown) =>
      error ? reject(error) : resolve(new Response(null, { status, headers }));
    void limiter(request as unknown as Incoming, response as unknown as Outgoing, next);
  });
}

/** The share of the limit that was used, and of the calls that were refused, after some windows to learn. */
async function play({ limit, windowMs, periodMs }: Scene, options: Options, seed: number) {
  const { uniform: random } = seeded(seed * 7919);
  const whole = (below: number): number => Math.floor(random() * below);
  await vi.advanceTimersByTimeAsync(whole(1_000));
  const limiter = rateLimit({ windowMs, limit, ...options });
  const statuses: number[] = [];
  let isOver = false;
  let isCounted = false;
  const fetch = async (): Promise<Response> => {
    await sleep(1 + whole(5));
    const answer = await answerOf(limiter);
    if (isCounted) statuses.push(answer.status);
    await sleep(1 + whole(5));
    return answer;
  };
  const shaper = createShaper(
    { name: 'partner', limit: 1, window: periodMs, maxWait: '10m' },
    { store: memoryStore({ clock: systemClock }), validate: false, logger: false },
  );
  const send = pacedFetch(shaper, { fetch, random, xRateLimit: true });
  const job = async (): Promise<void> => {
    while (!isOver) await send('https://partner.example/');
  };
  for (let one = 0; one < 8; one += 1) void job().catch(() => undefined);
  await vi.advanceTimersByTimeAsync(10 * windowMs);
  isCounted = true;
  const windows = 100;
  await vi.advanceTimersByTimeAsync(windows * windowMs);
  isOver = true;
  const allowed = statuses.filter((status) => status === 200).length;
  return { used: allowed / (windows * limit), refused: 1 - allowed / statuses.length };
}

fakeTime();

describe.each<[string, Options]>([
  ['X-RateLimit-*', { legacyHeaders: true, standardHeaders: false }],
  ['draft 6', { legacyHeaders: false, standardHeaders: 'draft-6' }],
  ['draft 8', { legacyHeaders: false, standardHeaders: 'draft-8' }],
])('of what express-rate-limit allows and tells with %s', (_, options) => {
  it.each<Scene>([
    { limit: 10, windowMs: 1_000, periodMs: 102 },
    { limit: 10, windowMs: 1_000, periodMs: 50 },
    { limit: 10, windowMs: 1_000, periodMs: 10 },
    { limit: 100, windowMs: 1_000, periodMs: 5 },
    { limit: 20, windowMs: 2_000, periodMs: 50 },
    { limit: 60, windowMs: 10_000, periodMs: 50 },
    { limit: 100, windowMs: 60_000, periodMs: 100 },
  ])('nine tenths are used, and next to nothing is refused: %o', async (scene) => {
    const { used, refused } = await play(scene, options, 1);
    expect(used).toBeGreaterThanOrEqual(0.9);
    expect(refused).toBeLessThanOrEqual(0.01);
  });

  it('at its very pace, one period is added to a window: ten calls in eleven periods', async () => {
    const { used, refused } = await play({ limit: 10, windowMs: 1_000, periodMs: 100 }, options, 2);
    expect(used).toBeGreaterThanOrEqual(0.88);
    expect(refused).toBeLessThanOrEqual(0.01);
  });
});
