/**
 * Processes share `maxConcurrent` of a shaper on a real Redis, and some of them are killed. What runs at once is counted
 * by the receiver. Times are compared with each other, because the machine may be busy.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkBuilt } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const PROCESSES = 8;
const PERMITS = 3;
const WORK_MS = 60;

/** A server that works on each call for a while, and counts. */
class Receiver {
  readonly calls: { readonly process: string; readonly fromMs: number; untilMs: number }[] = [];
  inFlight = 0;
  most = 0;
  url = '';

  async listen(onCall: (receiver: Receiver) => void): Promise<void> {
    const server = createServer(async ({ url = '' }, response) => {
      if (url === '/') {
        response.end();
        return;
      }
      const call = { process: url.slice(1), fromMs: performance.now(), untilMs: Infinity };
      this.calls.push(call);
      this.inFlight += 1;
      this.most = Math.max(this.most, this.inFlight);
      response.once('close', () => {
        this.inFlight -= 1;
        call.untilMs = performance.now();
      });
      onCall(this);
      await sleep(WORK_MS);
      response.end('done');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** The share of the permits' time in which calls were in flight. */
  get used(): number {
    const busyMs = this.calls.reduce((sum, { fromMs, untilMs }) => sum + untilMs - fromMs, 0);
    const fromMs = this.calls[0]?.fromMs ?? 0;
    const lastMs = Math.max(...this.calls.map(({ untilMs }) => untilMs));
    return busyMs / (PERMITS * (lastMs - fromMs));
  }

  /** How many calls of others began before the first one of a process. */
  callsBefore(process: string): number {
    return this.calls.findIndex((call) => call.process === process);
  }
}

interface Fleet {
  readonly receiver: Receiver;
  /** By process; null for one that was killed. */
  readonly codes: readonly unknown[];
}

/** @param killAt after how many calls a process is killed, each time another one */
async function run(jobs: number, killAt: readonly number[] = []): Promise<Fleet> {
  const redis = await RedisServer.up();
  const receiver = new Receiver();
  const workers: ChildProcess[] = [];
  const kills = [...killAt];
  await receiver.listen(({ calls }) => {
    if (calls.length < (kills[0] ?? Infinity)) return;
    kills.shift();
    // The process that is calling right now, with a permit.
    workers[Number(calls.at(-1)?.process)]?.kill('SIGKILL');
  });
  for (let at = 0; at < PROCESSES; at += 1) {
    const args = [redis.url, receiver.url, `${at}`, `${jobs}`, `${PERMITS}`];
    const worker = fork(join(import.meta.dirname, 'concurrent-worker.js'), args, { execArgv: [] });
    onTestFinished(() => void worker.kill('SIGKILL'));
    workers.push(worker);
  }
  const exits = workers.map((worker) => once(worker, 'close'));
  await Promise.all(
    workers.map((worker, at) => Promise.race([once(worker, 'message'), exits[at]])),
  );
  for (const worker of workers) worker.send('begin');
  const codes = (await Promise.all(exits)).map(([code]) => code as unknown);
  return { receiver, codes };
}

beforeAll(() => checkBuilt('express'));

describe.skipIf(redisProgram === null)('eight processes with maxConcurrent', () => {
  it('have no more calls in flight together, use nearly all permits, and all get their turn', async () => {
    const jobs = 40;
    const { receiver, codes } = await run(jobs);
    expect(codes).toEqual(new Array(PROCESSES).fill(0));
    expect(receiver.calls).toHaveLength(PROCESSES * jobs);
    expect(receiver.most).toBe(PERMITS);
    const firsts = codes.map((_, at) => receiver.callsBefore(`${at}`));
    // None waits until the others have finished.
    expect(Math.max(...firsts)).toBeLessThan((PROCESSES - 1) * jobs);
    // A busy machine makes calls late. The tests of the package check the use of permits in virtual time.
    expect(receiver.used).toBeGreaterThan(0.5);
  });

  it('run 1,000 jobs and lose no permit for good when three of them are killed', async () => {
    const jobs = 125;
    const { receiver, codes } = await run(jobs, [100, 300, 500]);
    const killed = codes.filter((code) => code === null).length;
    expect(killed).toBeGreaterThanOrEqual(1);
    expect(killed).toBeLessThanOrEqual(3);
    expect(codes.filter((code) => code === 0)).toHaveLength(PROCESSES - killed);
    // The permits of a killed process are taken for one more lease, although its calls have ended.
    expect(receiver.most).toBe(PERMITS);
    for (const [at, code] of codes.entries()) {
      const own = receiver.calls.filter((call) => call.process === `${at}`);
      if (code === 0) expect(own).toHaveLength(jobs);
    }
  });
});
