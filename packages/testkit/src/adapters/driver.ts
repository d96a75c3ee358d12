/** The interface between an adapter and the shared tests: how to build an app of its framework, and send requests. */

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

export interface Visit {
  readonly method: string;
  readonly path: string;
  /** The result of the adapter's `admissionsOf`. */
  readonly admissions: readonly Admission[];
  /** The framework's object for the request. */
  readonly holder: object;
}

/** A response: a string, an object as JSON, a stream, or nothing. The default status is 200. */
export interface Sent {
  readonly status?: number;
  readonly body?: string | Readable;
  readonly json?: object;
}

/** The answer of a handler. With `by`, the handler writes to Node's response directly. */
export type Answer = Sent | { readonly by: (res: ServerResponse) => void };

export type Handler = (visit: Visit) => Answer | Promise<Answer>;

type OwnAnswer = Omit<Sent, 'status'> | undefined;

/**
 * Returns the app's answer to a rejection, in place of the problem document. The status stays that of the rejection.
 * `next` is undefined if the framework passes none.
 */
export type OnRejected = (
  admission: Admission,
  next: ((error?: unknown) => unknown) | undefined,
) => OwnAnswer | Promise<OwnAnswer>;

export function sendOwn<Result>(
  own: ReturnType<OnRejected>,
  send: (sent: Sent) => Result,
): Result | undefined | Promise<Result | undefined> {
  if (own instanceof Promise) return own.then((sent) => sent && send(sent));
  return own && send(own);
}

export interface Mounted {
  close(): Promise<void>;
}

export interface Route<Guard> {
  /** `*` matches every path. */
  readonly path: string;
  readonly method?: 'GET' | 'DELETE';
  readonly guards?: readonly Guard[];
  readonly handle: Handler;
}

export interface App<Guard> {
  readonly guards?: readonly Guard[];
  /** Routes, mounted in this order. Default: `hello` for every path. */
  readonly routes?: readonly Route<Guard>[];
  /** Middleware that runs before the guards and receives Node's response. */
  readonly before?: (res: ServerResponse) => void;
  readonly onError?: (error: Error) => Sent;
}

export interface Driver<Guard = unknown> {
  /** Makes a limiter. Adds options that the adapter requires, such as a key if addresses are unknown. */
  rateLimit(options: RateLimitOptions): Limiter;
  concurrencyLimit(options: ConcurrencyLimitOptions): Limiter;
  guard(limiters: Limiter | readonly Limiter[], options?: GuardOptions): Guard;
  serve(app: App<Guard>): Promise<Service>;
  /** Normalizes headers for a comparison, if the framework loses their order or the case of their names. */
  shown(fields: Fields): Fields;
}

export interface RefusingDriver<Guard = unknown> extends Driver<Guard> {
  guard(
    limiters: Limiter | readonly Limiter[],
    options?: GuardOptions,
    onRejected?: OnRejected,
  ): Guard;
}

/** A driver for adapters whose guards can be mounted on the app and on routes. */
export type MiddlewareDriver<Guard extends Mounted = Mounted> = RefusingDriver<Guard>;

export type Fields = readonly (readonly [string, string])[];

export const HELLO: Route<never> = { path: '*', handle: () => ({ body: 'hello' }) };

export function noting<Guard>(driver: Driver<Guard>): { outcomes: ResponseEnd[]; guard: Guard } {
  const outcomes: ResponseEnd[] = [];
  const refundIf = (_request: unknown, { durationMs: _, ...end }: RequestOutcome): boolean => {
    outcomes.push(end);
    return false;
  };
  const limiter = driver.rateLimit({ name: 'noting', limit: 100, window: '1h', refundIf });
  return { outcomes, guard: driver.guard(limiter) };
}

export function serveLimit<Guard>(
  driver: Driver<Guard>,
  limit: RateLimitOptions,
  options?: GuardOptions,
): Promise<Service> {
  return driver.serve({ guards: [driver.guard(driver.rateLimit(limit), options)] });
}

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
