/** Load from a process of its own, so that it measures the service and not itself. */

import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import type { Result } from 'autocannon';

const AUTOCANNON = createRequire(import.meta.url).resolve('autocannon/autocannon.js');
const exec = promisify(execFile);

export interface LoadOptions {
  /** How many requests; else `seconds`. */
  readonly amount?: number;
  readonly seconds?: number;
  /** Requests per second; as many as can be if left out. */
  readonly rate?: number;
  readonly connections?: number;
  readonly key?: string;
}

export interface Load {
  /** Answers by status. */
  readonly statuses: Readonly<Record<number, number>>;
  /** Requests without an answer: broken connections and answers that took over ten seconds. */
  readonly unanswered: number;
  readonly maxMs: number;
  readonly p99Ms: number;
}

export async function load(url: string, options: LoadOptions): Promise<Load> {
  const { amount, seconds = 1, rate, connections = 10, key = 'ada' } = options;
  const args = ['--json', '-c', `${connections}`, '-H', `x-api-key=${key}`];
  if (amount === undefined) args.push('-d', `${seconds}`);
  else args.push('-a', `${amount}`);
  if (rate !== undefined) args.push('-R', `${rate}`, '--ignoreCoordinatedOmission');
  const { stdout } = await exec(process.execPath, [AUTOCANNON, ...args, `${url}/api/things`]);
  const result = JSON.parse(stdout) as Result & {
    statusCodeStats: Record<string, { count: number }>;
  };
  const counts = Object.entries(result.statusCodeStats).map(([status, { count }]) => [
    status,
    count,
  ]);
  return {
    statuses: Object.fromEntries(counts),
    unanswered: result.errors + result.timeouts,
    maxMs: result.latency.max,
    p99Ms: result.latency.p99,
  };
}

/** One request, and how long it took. */
export async function ask(url: string, key = 'ada'): Promise<{ status: number; tookMs: number }> {
  const start = performance.now();
  const response = await fetch(`${url}/api/things`, { headers: { 'x-api-key': key } });
  await response.arrayBuffer();
  return { status: response.status, tookMs: performance.now() - start };
}

/** Asks until the answer is `status`; how long that took. Every answer before must be 200 or 429. */
export async function askUntil(url: string, status: number, withinMs: number): Promise<number> {
  const start = performance.now();
  for (;;) {
    const reply = await ask(url);
    const sinceMs = performance.now() - start;
    if (reply.status === status) return sinceMs;
    if (reply.status !== 200 && reply.status !== 429) throw new Error(`answered ${reply.status}`);
    if (sinceMs > withinMs) throw new Error(`no ${status} within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
