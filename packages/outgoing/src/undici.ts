/** @spillway/outgoing/undici: a pace for the calls of undici's dispatchers. */

import { checkOptions, mustBe, type NamesOf } from '@spillway/core/adapter';
import { checkKey } from '@spillway/core/direct';
import type { Dispatcher } from 'undici';
import { type PacedFetchOptions, readFetchOptions } from './fetch/paced-fetch-options.js';
import type { Pauses } from './fetch/pauses.js';
import type { ScheduleOptions, Shaper } from './shaper/contract.js';

/** Options of {@link pacedDispatch}: `origin`, and a part of the options of `pacedFetch`. */
export interface PacedDispatchOptions
  extends Pick<
    PacedFetchOptions,
    | 'key'
    | 'maxPause'
    | 'jitter'
    | 'random'
    | 'xRateLimit'
    | 'onPause'
    | 'onFault'
    | 'logger'
    | 'clock'
  > {
  /**
   * The origin of calls that name none, such as `https://api.example.com`. Required for the methods of a `Pool` or
   * `Client`, such as `request`, because an interceptor can't read the origin of its dispatcher.
   */
  readonly origin?: string | URL | undefined;
}

const NAMES: NamesOf<PacedDispatchOptions> = {
  key: 1,
  maxPause: 1,
  jitter: 1,
  random: 1,
  xRateLimit: 1,
  onPause: 1,
  onFault: 1,
  logger: 1,
  clock: 1,
  origin: 1,
};

type Dispatch = Dispatcher['dispatch'];
type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;
/** Tells the handler of its first error only: an abort also ends the wait, and undici then reports it again. */
type Fail = (controller: Controller, error: Error) => void;

/**
 * Makes an interceptor for the `compose` method of an undici `Agent`, `Pool` or `Client`. Calls start at the pace of
 * `shaper`, by default with one pace for each host. Responses pause calls as with `pacedFetch`. If interceptors such
 * as `retry` and `redirect` are composed after it, each try and hop waits for its own slot.
 *
 * An abort also ends the wait for a slot. A call that gets no slot fails with the error of `shaper.schedule`. With
 * `maxConcurrent`, a call counts as running until the response headers have arrived.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import type { Shaper } from '@spillway/outgoing';
 * import { pacedDispatch } from '@spillway/outgoing/undici';
 * import { Agent, interceptors, request } from 'undici';
 *
 * declare const partner: Shaper; // 10 calls a second, over all processes
 *
 * const dispatcher = new Agent().compose(pacedDispatch(partner), interceptors.retry());
 * const { statusCode } = await request('https://api.example.com/messages/7', { dispatcher });
 * ```
 */
export function pacedDispatch<Pace extends string = never>(
  shaper: Shaper<Pace>,
  options: PacedDispatchOptions = {},
): Dispatcher.DispatcherComposeInterceptor {
  checkOptions(options, 'pacedDispatch()', NAMES);
  const { origin, ...others } = options;
  const { pauses } = readFetchOptions(shaper, others);
  if (origin !== undefined) originOf(origin);
  return (dispatch) => (call, handler) => {
    const waiting = new WaitController();
    let hasFailed = false;
    const fail: Fail = (controller, error) => {
      if (!hasFailed) handler.onResponseError?.(controller, error);
      hasFailed = true;
    };
    // This controller can abort the call until the call starts. At the start, undici calls `onRequestStart` again.
    handler.onRequestStart?.(waiting, {});
    void dispatchInSlot(dispatch, call, handler, fail, pauses, options, waiting.signal).catch(
      (error: Error) => fail(waiting, error),
    );
    return true;
  };
}

function originOf(given: unknown): string {
  const url = URL.canParse(String(given)) ? new URL(String(given)) : undefined;
  if (url?.host && url.origin !== 'null') return url.origin;
  throw mustBe('origin', "an origin, as in 'https://api.example.com'", given);
}

/** Methods that no `Request` can have. */
const NOT_OF_REQUESTS = /^(CONNECT|TRACE|TRACK)$/i;

class WaitController implements Controller {
  readonly paused = false;
  private readonly controller = new AbortController();

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get aborted(): boolean {
    return this.signal.aborted;
  }

  get reason(): Error | null {
    return (this.signal.reason as Error | undefined) ?? null;
  }

  abort(reason: Error): void {
    this.controller.abort(reason);
  }

  pause(): void {}

  resume(): void {}
}

/** Resolves when the response headers have arrived and were handled, or when the call was upgraded or has failed. */
async function dispatchInSlot(
  dispatch: Dispatch,
  call: Dispatcher.DispatchOptions,
  handler: Handler,
  fail: Fail,
  pauses: Pauses,
  { key: keyOf, origin }: PacedDispatchOptions,
  signal: AbortSignal,
): Promise<void> {
  const { method, path, headers: sent } = call;
  // Not resolved against the origin, because a path such as `//a/b` would then name another host. The path of CONNECT
  // is a host and a port.
  const isWhole = /^https?:\/\//.test(path);
  const { host, href } = new URL(
    isWhole ? path : `${originOf(call.origin ?? origin)}/${path.replace(/^\//, '')}`,
  );
  const request =
    keyOf &&
    !NOT_OF_REQUESTS.test(method) &&
    new Request(href, { method, headers: headersOf(sent) });
  const key: unknown = request ? (keyOf(request) ?? host) : host;
  checkKey(key);
  const job = { signal } as ScheduleOptions;
  const send = (): Promise<void> => {
    const startMs = pauses.nowMs();
    return new Promise((resolve) => {
      dispatch(call, {
        onRequestStart: (controller, context) => {
          // A handler can abort the call also after its slot, while it waits for a connection.
          if (signal.aborted) controller.abort(signal.reason as Error);
          else handler.onRequestStart?.(controller, context);
        },
        onRequestUpgrade: (controller, status, headers, socket) => {
          resolve();
          handler.onRequestUpgrade?.(controller, status, headers, socket);
        },
        onResponseStart: (controller, status, headers, message) => {
          // Informational responses (1xx) come before the final one.
          if (status >= 200) {
            const response = { status, headers: headersOf(headers), body: null };
            const trip = { startMs, endMs: pauses.nowMs() };
            void pauses.handleResponse(key, host, response, trip).then(resolve);
          }
          handler.onResponseStart?.(controller, status, headers, message);
        },
        onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
        onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
        onResponseError: (controller, error) => {
          resolve();
          fail(controller, error);
        },
      });
    });
  };
  await pauses.runCall((schedule) => pauses.runInSlot(schedule, key, host, job, send));
}

/** Converts headers from any form that undici accepts: a record, pairs, or a flat list of names and values. */
function headersOf(given: Dispatcher.DispatchOptions['headers']): Headers {
  const headers = new Headers();
  const flat = Array.isArray(given) ? (given as readonly string[]) : undefined;
  const pairs = flat
    ? flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]] as const] : []))
    : isIterable(given)
      ? given
      : Object.entries(given ?? {});
  for (const [name, value] of pairs) {
    for (const one of [value].flat()) {
      // Some versions of undici decode headers as UTF-8, but `Headers` takes only bytes.
      if (one !== undefined && /^[\0-\xff]*$/.test(one)) headers.append(name, one);
    }
  }
  return headers;
}

function isIterable(
  given: object | null | undefined,
): given is Iterable<[string, string | string[] | undefined]> {
  return typeof given === 'object' && given !== null && Symbol.iterator in given;
}
