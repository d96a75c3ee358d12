/** For all suites: a clock that only tests move, while HTTP works, and functions that send requests. */

import type http from 'node:http';
import { systemClock } from '@spillway/core/store';
import type { Service } from 'spillway-testkit/http';
import { afterAll, afterEach, beforeAll, beforeEach, vi } from 'vitest';

const HOUR = 3_600_000;

/**
 * Stops clocks and timers, those of Spillway too, for the tests of a file. Each test begins at the next full hour. Some
 * packages read the clock when they are loaded, so a file must not load them earlier.
 */
export function virtualTime(): void {
  beforeAll(() => {
    vi.useFakeTimers({
      toFake: [
        'Date',
        'performance',
        'hrtime',
        'setTimeout',
        'clearTimeout',
        'setInterval',
        'clearInterval',
      ],
      now: Date.UTC(2026, 0, 1),
    });
    Object.defineProperty(systemClock, 'nowUs', {
      value: () => Date.now() * 1_000,
      configurable: true,
    });
  });
  beforeEach(async () => {
    vi.spyOn(console, 'error').mockReturnValue();
    vi.spyOn(console, 'warn').mockReturnValue();
    await passes(HOUR - (Date.now() % HOUR));
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.clearAllTimers(); // what a package left behind would run in the next test
  });
  afterAll(() => {
    Reflect.deleteProperty(systemClock, 'nowUs');
    vi.useRealTimers();
  });
}

/** Lets this much time pass. */
export async function passes(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/** A request of a trial: its address, method and headers. */
export interface Sent {
  readonly path?: string;
  readonly method?: string;
  /** The address that the proxy in front has seen. Default 203.0.113.1. */
  readonly from?: string;
  readonly fields?: http.OutgoingHttpHeaders;
}

export async function ask(service: Service, sent: Sent = {}) {
  const { path = '/', method = 'GET', from = '203.0.113.1', fields } = sent;
  return service.get(path, { method, headers: { 'x-forwarded-for': from, ...fields } });
}

/** The statuses of requests, one after another. */
export async function statuses(
  service: Service,
  requests: number | readonly Sent[],
): Promise<number[]> {
  const all = typeof requests === 'number' ? Array<Sent>(requests).fill({}) : requests;
  const seen: number[] = [];
  for (const sent of all) seen.push((await ask(service, sent)).status);
  return seen;
}

/**
 * When each of these may start, all requested at once, in milliseconds; `refused` if it may not. Rounded down to 10 ms,
 * because some packages go through several timers for one start.
 */
export async function startsOf(
  all: readonly (() => PromiseLike<unknown>)[],
): Promise<(number | 'refused')[]> {
  const began = Date.now();
  const started = Promise.all(
    all.map((start) =>
      start().then(
        () => Math.floor((Date.now() - began) / 10) * 10,
        () => 'refused' as const,
      ),
    ),
  );
  await passes(30_000);
  return started;
}
