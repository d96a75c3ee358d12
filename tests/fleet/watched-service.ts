/** A service of node:http behind a guard on Redis, in this process. It records each decision and how long it took. */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type Algorithm,
  type BreakerEvent,
  createGuard,
  fixedWindow,
  rateLimit,
  slidingLog,
} from '@spillway/core';
import { makeRule, systemClock } from '@spillway/core/store';
import { redisStore } from '@spillway/redis';
import type { Cluster, Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';

const GENERATOR = join(import.meta.dirname, 'steady-load.js');
const exec = promisify(execFile);

export const TIMEOUT_MS = 50;

/**
 * The Redis key of a count of the service's limit: a log if each request has a separate key, otherwise a fixed window.
 */
export function nameOf(key: string, algorithm: Algorithm): string {
  return `spw:1{${key}}calls}${makeRule(algorithm, 1, 400 * 86_400_000_000).code}`;
}

/** A decision. `askedUs` is in microseconds since the epoch. */
export interface Noted {
  readonly key: string;
  readonly askedUs: number;
  readonly tookMs: number;
  /** `error`: Redis did not decide. */
  readonly outcome: string;
}

export interface WatchedService {
  readonly noted: readonly Noted[];
  readonly breaker: readonly (BreakerEvent & { readonly atUs: number })[];
  readonly warnings: readonly string[];
  /** Sends 500 requests a second. Returns whether every one was answered with 200. */
  load(seconds: number): Promise<boolean>;
  /** When Redis first decided on a request that was sent after `sinceUs`. */
  decidedAfter(sinceUs: number): Promise<number>;
}

export interface WatchedOptions {
  /** How many keys the requests use. Default: a new key for each request. */
  readonly keys?: number;
}

/** Runs until the end of the test, which also ends the client. */
export async function watchedService(
  client: Redis | Cluster,
  { keys = Infinity }: WatchedOptions = {},
): Promise<WatchedService> {
  const noted: Noted[] = [];
  const breaker: (BreakerEvent & { atUs: number })[] = [];
  const warnings: string[] = [];
  client.on('error', () => undefined); // ioredis would print them
  const guard = createGuard(
    rateLimit({
      name: 'calls',
      limit: 1_000_000,
      window: '400d',
      // A log stores when it was charged, a window how often.
      algorithm: keys === Infinity ? slidingLog : fixedWindow,
      key: (request) => request.header('x-key'),
    }),
    {
      store: redisStore(client),
      storeTimeout: TIMEOUT_MS,
      logger: { warn: (line) => warnings.push(line) },
      observers: [{ onBreaker: (event) => breaker.push({ ...event, atUs: systemClock.nowUs() }) }],
    },
  );
  let next = 0;
  const server = createServer(async (req, res) => {
    const key = keys === Infinity ? String(req.headers['x-forwarded-for']) : `k${next % keys}`;
    next += 1;
    const header = (name: string) => (name === 'x-key' ? key : undefined);
    const askedUs = systemClock.nowUs();
    const admission = await guard.admit({
      method: 'GET',
      path: '/',
      clientIp: '203.0.113.7',
      header,
      raw: req,
    });
    const tookMs = (systemClock.nowUs() - askedUs) / 1000;
    const outcome = admission.decisions[0]?.outcome ?? 'none';
    noted.push({ key, askedUs, tookMs, outcome });
    res.writeHead(admission.status).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
    client.disconnect();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    noted,
    breaker,
    warnings,
    load: async (seconds) => {
      const { stdout } = await exec(process.execPath, [GENERATOR, url, '500', `${seconds}`]);
      const { statuses, unanswered } = JSON.parse(stdout);
      return unanswered === 0 && Object.keys(statuses).join() === '200';
    },
    decidedAfter: async (sinceUs) => {
      for (;;) {
        const found = noted.find((one) => one.askedUs > sinceUs && one.outcome !== 'error');
        if (found) return found.askedUs + found.tookMs * 1000;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
  };
}

/** How many of the failed calls were charged in Redis more than `slackMs` after their deadline. */
export async function chargedLate(
  noted: readonly Noted[],
  redis: Redis | Cluster,
  slackMs = 5,
): Promise<number> {
  let late = 0;
  for (const { key, askedUs, outcome } of noted) {
    if (outcome !== 'error') continue;
    const [entry] = await redis.lrange(nameOf(key, 'sliding-window-log'), 0, 0);
    if (entry === undefined) continue;
    const chargedUs = Number(entry.split(':')[0]);
    if (chargedUs > askedUs + (TIMEOUT_MS + slackMs) * 1000) late += 1;
  }
  return late;
}

/** The time within which this part of the decisions came. */
export function quantileMs(noted: readonly Noted[], part: number): number {
  const times = noted.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return times[Math.max(0, Math.ceil(times.length * part) - 1)] ?? Number.NaN;
}

/**
 * Expects one line for the outage of a part and one for its end. Outages that follow within a minute share one line.
 */
export function expectTold({ breaker, warnings }: WatchedService): void {
  expect(warnings[0]).toContain('is failing');
  expect(warnings.some((line) => line.includes('works again'))).toBe(true);
  if (breaker.length === 2) expect(warnings).toHaveLength(2);
  else expect(warnings.length).toBeLessThanOrEqual(breaker.length);
}
