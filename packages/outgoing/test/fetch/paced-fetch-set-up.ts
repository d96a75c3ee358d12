/** One shaper in virtual time, and a partner whose answers the test decides. */

import { type PacedFetchOptions, type PauseEvent, pacedFetch } from '@spillway/outgoing';
import { FakeShaper } from './fake-shaper.js';
import { VirtualTime } from './virtual-time.js';

/** An answer: a status and fields, or an error. */
export type Answer = readonly [status: number, headers?: Record<string, string>] | Error;

export const URL_A = 'https://a.example/messages';

export interface SetUp {
  readonly time: VirtualTime;
  readonly shaper: FakeShaper;
  readonly send: typeof fetch;
  /** When the partner received each call, in milliseconds since the start. */
  readonly calls: { readonly atMs: number; readonly args: unknown[] }[];
  readonly events: PauseEvent[];
  /** Pauses of the shaper, as `key: ms`. */
  pauses(): string[];
}

export const PERIOD_MS = 100;

/** @param answers one for each call, in order; later calls get a 200. A call takes no time unless `fetch` is given. */
export function setUp(answers: readonly Answer[] = [], options: PacedFetchOptions = {}): SetUp {
  const time = new VirtualTime();
  const shaper = new FakeShaper(time, PERIOD_MS);
  const beginMs = time.nowMs();
  const calls: { atMs: number; args: unknown[] }[] = [];
  const events: PauseEvent[] = [];
  const partner = async (...args: unknown[]): Promise<Response> => {
    const answer = answers[calls.length] ?? [200];
    calls.push({ atMs: time.nowMs() - beginMs, args });
    if (answer instanceof Error) throw answer;
    return new Response(null, { status: answer[0], headers: answer[1] ?? {} });
  };
  const send = pacedFetch(shaper, {
    fetch: partner,
    clock: time.clock,
    random: () => 0,
    onPause: (event) => void events.push(event),
    ...options,
  });
  const pauses = (): string[] => shaper.pauses.map(({ key, ms }) => `${key}: ${ms}`);
  return { time, shaper, send, calls, events, pauses };
}

/** The result of a promise that must settle within `ms` of virtual time. */
export async function within<T>(time: VirtualTime, ms: number, promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  await time.run(ms);
  return Promise.race([promise, Promise.reject(new Error(`not settled within ${ms} ms`))]);
}
