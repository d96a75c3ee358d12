/**
 * A fleet that calls as often as it may obeys its partner: real processes, a real Redis, real HTTP. A busy machine
 * makes calls late, and then more of them arrive at once than the pace allows. The expectations are relaxed by the
 * number of late calls.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkBuilt } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const PROCESSES = 8;
const LIMIT = 10;
const WINDOW_MS = 1_000;
const WARM_UP_MS = 5_000;
const MEASURED_MS = 15_000;

/** One call, as the partner sees it, in milliseconds of the clock of this machine. */
interface Call {
  readonly atMs: number;
  readonly slotMs: number;
  readonly status: number;
}

/** Answers a call: sets headers and returns the status. */
type Answer = (response: ServerResponse, atMs: number) => number;

/** A pause that a process has stored because of a response with this status. */
interface Paused {
  readonly status: number;
  readonly pausedMs: number;
}

const wallMs = (): number => performance.timeOrigin + performance.now();

/** A partner that notes every call. */
async function openPartner(answer: Answer): Promise<{ url: string; calls: readonly Call[] }> {
  const calls: Call[] = [];
  const server = createServer((request, response) => {
    if (request.url !== '/messages') return response.end();
    const atMs = wallMs();
    const status = answer(response, atMs);
    calls.push({ atMs, slotMs: Number(request.headers['x-slot-ms']), status });
    return response.writeHead(status).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

/** Starts eight processes that call the partner, until the end of the test. */
async function startFleet(url: string, periodMs: number): Promise<readonly Paused[]> {
  const redis = await RedisServer.up();
  const pauses: Paused[] = [];
  const workers = Array.from({ length: PROCESSES }, () => {
    const args = [redis.url, url, `${periodMs}`];
    const worker = fork(join(import.meta.dirname, 'partner-worker.js'), args, { execArgv: [] });
    onTestFinished(() => void worker.kill('SIGKILL'));
    return worker;
  });
  const isReady = (worker: ChildProcess) =>
    Promise.race([once(worker, 'message'), once(worker, 'exit')]);
  await Promise.all(workers.map(isReady));
  for (const worker of workers) {
    worker.on('message', (paused: Paused) => pauses.push(paused));
    worker.send('begin');
  }
  return pauses;
}

/** Allows ten calls in each second by the clock, and states that in headers. */
function tenPerSecond(): Answer {
  let window = 0;
  let used = 0;
  return (response, atMs) => {
    const current = Math.floor(atMs / WINDOW_MS);
    if (current !== window) used = 0;
    window = current;
    const isAllowed = used < LIMIT;
    if (isAllowed) used += 1;
    else response.setHeader('Retry-After', 1);
    response.setHeader('RateLimit', `"second";r=${LIMIT - used};t=1`);
    response.setHeader('RateLimit-Policy', `"second";q=${LIMIT};w=1`);
    return isAllowed ? 200 : 429;
  };
}

beforeAll(() => checkBuilt('express'));

describe.skipIf(redisProgram === null)('eight processes that call all the time', () => {
  it.each<[string, number, number, number]>([
    ['at a pace a little below the limit', 102, 0.01, 0.95],
    ['five times as fast as the limit', 20, 0.04, 0.7],
  ])('use what the partner allows: %s', async (_, periodMs, mostRefused, leastUsed) => {
    const { url, calls } = await openPartner(tenPerSecond());
    await startFleet(url, periodMs);
    const fromMs = wallMs() + WARM_UP_MS;
    await sleep(WARM_UP_MS + MEASURED_MS);
    const all = calls.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + MEASURED_MS);
    const used = all.filter(({ status }) => status === 200).length;
    // Calls that are later than the margin that the pace leaves between ten calls and the next window.
    const late = all.filter(({ atMs, slotMs }) => atMs - slotMs > 20).length;
    expect(all.length - used).toBeLessThanOrEqual(mostRefused * all.length + late);
    // In the second that a rejection states, and a fifth more, nothing is used.
    const allowed = (MEASURED_MS / WINDOW_MS) * LIMIT;
    expect(used).toBeGreaterThanOrEqual(leastUsed * allowed - 1.2 * LIMIT * late);
  });

  it('start nothing after a Retry-After that one of them was told', async () => {
    let refusedMs = 0;
    const refuseOnce: Answer = (response, atMs) => {
      if (calls.length !== 60) return 200;
      refusedMs = atMs;
      response.setHeader('Retry-After', 3);
      return 429;
    };
    const { url, calls } = await openPartner(refuseOnce);
    const pauses = await startFleet(url, 50);
    await expect.poll(() => pauses.length, { timeout: 30_000 }).toBe(1);
    await sleep(6_000);
    const [paused] = pauses as [Paused];
    expect(paused.status).toBe(429);
    // The slot says when a call started. The call of a process that was frozen may arrive later.
    const between = (from: number, to: number): readonly Call[] =>
      calls.filter(({ slotMs }) => slotMs > from && slotMs < to);
    expect(between(paused.pausedMs + 52, refusedMs + 2_998)).toEqual([]);
    // After the pause, which is at most a fifth longer, they continue at their pace.
    const after = between(refusedMs + 2_998, Infinity);
    expect(after.length).toBeGreaterThan(20);
    expect((after[0] as Call).slotMs - paused.pausedMs).toBeLessThan(3_000 * 1.2 + 200);
  });
});
