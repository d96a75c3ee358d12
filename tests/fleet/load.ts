/** Load from a separate process, so it measures the service and not itself. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Result } from 'autocannon';

const GENERATOR = join(import.meta.dirname, 'generator.js');
const exec = promisify(execFile);

export interface LoadOptions {
  /** How many requests to send. If undefined, requests are sent for `seconds`. */
  readonly amount?: number;
  readonly seconds?: number;
  /** Requests per second. Default: as many as possible. */
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
  const ends = amount === undefined ? { duration: seconds } : { amount };
  const pace = rate === undefined ? {} : { overallRate: rate, ignoreCoordinatedOmission: true };
  const settings = { url: `${url}/things`, connections, headers: { 'x-api-key': key } };
  const { stdout } = await exec(process.execPath, [
    GENERATOR,
    JSON.stringify({ ...settings, ...ends, ...pace }),
  ]);
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
  const headers = { 'x-api-key': key, 'x-forwarded-for': newAddress() };
  const response = await fetch(`${url}/things`, { headers });
  await response.arrayBuffer();
  return { status: response.status, tookMs: performance.now() - start };
}

/**
 * Sends requests until a response has this status. Returns how long that took. Every earlier status must be 200 or 429.
 */
export async function askUntil(
  url: string,
  status: number,
  withinMs: number,
  key?: string,
): Promise<number> {
  const start = performance.now();
  for (;;) {
    const reply = await ask(url, key);
    const sinceMs = performance.now() - start;
    if (reply.status === status) return sinceMs;
    if (reply.status !== 200 && reply.status !== 429) throw new Error(`answered ${reply.status}`);
    if (sinceMs > withinMs) throw new Error(`no ${status} within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A new address for each request, so the limit per address never rejects. */
export function newAddress(): string {
  const byte = (): number => Math.floor(Math.random() * 256);
  return `10.${byte()}.${byte()}.${byte()}`;
}
