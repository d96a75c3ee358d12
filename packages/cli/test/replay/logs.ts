/** Logs for tests, as streams of bytes in chunks of any size. */

import { type Limiter, rateLimit } from '@spillway/core';
import { type ReplayOptions, type ReplayReport, replay } from '../../src/replay.js';

export const START_MS: number = Date.UTC(2026, 10, 26, 10);

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** A line of nginx's format `combined`. */
export function combined(afterMs: number, client = '203.0.113.7', status = 200): string {
  return `${client} - - [${clfTime(afterMs)}] "GET /things?page=2 HTTP/1.1" ${status} 5 "-" "curl/8"`;
}

export function clfTime(afterMs: number): string {
  const [date = '', time = ''] = new Date(START_MS + afterMs).toISOString().split('T');
  const [year, month, day] = date.split('-');
  return `${day}/${MONTHS[Number(month) - 1]}/${year}:${time.slice(0, 8)} +0000`;
}

export async function* stream(text: string | Uint8Array, chunk = 1_000): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text as string);
  for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk);
}

export const linesOf = (...lines: readonly string[]): string => `${lines.join('\n')}\n`;

export const perMinute = (limit: number): Limiter<never> => rateLimit({ limit, window: '1m' });

/** Replays lines, or bytes. */
export function replayed(
  log: readonly string[] | Uint8Array,
  options: Partial<ReplayOptions> = {},
): Promise<ReplayReport> {
  const bytes = log instanceof Uint8Array ? log : linesOf(...log);
  return replay({ logs: [stream(bytes)], policy: perMinute(2), ...options });
}

/** The report on the only limiter of a policy. */
export function only({ policy }: Pick<ReplayReport, 'policy'>) {
  const [limiter] = policy.limiters;
  if (!limiter?.judged) throw new Error(`not judged: ${limiter?.why}`);
  return limiter;
}
