/** What an adapter's tests give to the shared sentences: how to build an app of its framework, and how to ask it. */

import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type {
  Admission,
  ConcurrencyLimitOptions,
  GuardOptions,
  Limiter,
  RateLimitOptions,
  RequestOutcome,
  ResponseEnd,
} from '@spillway/core';
import type { Service } from '../http.js';

/** What a handler knows of its request. */
export interface Visit {
  readonly method: string;
  readonly path: string;
  /** What the adapter's `admissionsOf` says of it. */
  readonly admissions: readonly Admission[];
}

/** What is sent: a text, an object as JSON, a stream, or nothing. Status 200 unless told otherwise. */
export interface Sent {
  readonly status?: number;
  readonly body?: string | Readable;
  readonly json?: object;
}

/** What a handler answers; `by` writes to Node's response itself. */
export type Answer = Sent | { readonly by: (res: ServerResponse) => void };

export type Handler = (visit: Visit) => Answer | Promise<Answer>;

type OwnAnswer = Omit<Sent, 'status'> | undefined;

/**
 * What an app answers a refusal with, in place of the problem document; its status is the refusal's. `next` is what the
 * framework hands to the app for that, if anything.
 */
export type OnRejected = (
  admission: Admission,
  next: ((error?: unknown) => unknown) | undefined,
) => OwnAnswer | Promise<OwnAnswer>;

/** Sends an own answer by the driver's means, if there is one. */
export function sendOwn<Result>(
  own: ReturnType<OnRejected>,
  send: (sent: Sent) => Result,
): Result | undefined | Promise<Result | undefined> {
  if (own instanceof Promise) return own.then((sent) => sent && send(sent));
  return own && send(own);
}

/** What `spillway(limiters, options)` of an adapter returned. */
export interface Mounted {
  close(): Promise<void>;
}

export interface Route<Guard> {
  /** `*` is every path. */
  readonly path: string;
  readonly method?: 'GET' | 'DELETE';
  readonly guards?: readonly Guard[];
  readonly handle: Handler;
}

export interface App<Guard> {
  /** In front of everything, in this order. */
  readonly guards?: readonly Guard[];
  /** In this order. Default: `hello` answers every path. */
  readonly routes?: readonly Route<Guard>[];
  /** Middleware before the guards that is shown Node's response. */
  readonly before?: (res: ServerResponse) => void;
  /** Answers what a handler or an own answer threw. */
  readonly onError?: (error: Error) => Sent;
}

/** What the simplest sentences need: one guard in front of routes. */
export interface Driver<Guard = unknown> {
  /** With what the adapter cannot do without, such as a key where no address is known. */
  rateLimit(options: RateLimitOptions): Limiter;
  concurrencyLimit(options: ConcurrencyLimitOptions): Limiter;
  guard(limiters: Limiter | readonly Limiter[], options?: GuardOptions): Guard;
  /** Serves an app until the test is over. */
  serve(app: App<Guard>): Promise<Service>;
  /** Fields as the framework leaves them comparable: their order or the case of their names may be lost. */
  shown(fields: Fields): Fields;
}

/** Where guards hand refusals to the app. */
export interface RefusingDriver<Guard = unknown> extends Driver<Guard> {
  guard(
    limiters: Limiter | readonly Limiter[],
    options?: GuardOptions,
    onRejected?: OnRejected,
  ): Guard;
}

/** Where guards can also be mounted on the app and on routes. */
export type MiddlewareDriver<Guard extends Mounted = Mounted> = RefusingDriver<Guard>;

export type Fields = readonly (readonly [string, string])[];

/** Answers every path with `hello`. */
export const HELLO: Route<never> = { path: '*', handle: () => ({ body: 'hello' }) };

/** A guard that notes how each request ended, and gives nothing back. */
export function noting<Guard>(driver: Driver<Guard>): { outcomes: ResponseEnd[]; guard: Guard } {
  const outcomes: ResponseEnd[] = [];
  const refundIf = (_request: unknown, { durationMs: _, ...end }: RequestOutcome): boolean => {
    outcomes.push(end);
    return false;
  };
  const limiter = driver.rateLimit({ name: 'noting', limit: 100, window: '1h', refundIf });
  return { outcomes, guard: driver.guard(limiter) };
}

/** Serves one guard of one limiter in front of `hello`. */
export function serveLimit<Guard>(
  driver: Driver<Guard>,
  limit: RateLimitOptions,
  options?: GuardOptions,
): Promise<Service> {
  return driver.serve({ guards: [driver.guard(driver.rateLimit(limit), options)] });
}

/** A promise and what fulfils it. */
export function latch(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

export const failing: readonly [string, () => Promise<never>][] = [
  [
    'throws',
    () => {
      throw new Error('mine');
    },
  ],
  ['rejects', () => Promise.reject(new Error('mine'))],
];
