import { isSpillwayError } from '@spillway/core';
import { checkKey, disregard } from '@spillway/core/direct';
import type { WebResponse, WebSignal } from '@spillway/core/fetch';
import type { ScheduleOptions, Shaper } from '../shaper/contract.js';
import { type Call, hostClasses, type PacedFetch, readCall, type WebInit } from './call.js';
import {
  type PacedFetchConfig,
  type PacedFetchOptions,
  readFetchOptions,
} from './paced-fetch-options.js';
import { isRejection } from './pauses.js';
import { markRedirected, redirectedCall } from './redirects.js';

/**
 * Makes a `fetch` whose calls start at the pace of `shaper`, by default with one pace for each host. All processes that
 * share the store of the shaper share the pace. Responses pause calls in all these processes:
 *
 * - A 429 pauses the key, and a 503 pauses the host, for as long as `retry-after-ms` or `Retry-After` says. A 403 with
 *   `Retry-After` is handled like a 429, because GitHub limits rates with it.
 * - A 429 without these headers pauses the key until the reset in the `RateLimit` headers. If a 429 or 503 states no
 *   time, the pause lasts 1 s, doubled with each such rejection in a row.
 * - These pauses last at least one period of the key's pace, and at most `maxPause`.
 * - If the `RateLimit` headers (drafts 6 to 11) of any other response show no remaining units, the key is paused until
 *   about the reset. It is also paused if further calls wait, and calls in flight may use up the remaining units. A
 *   reset before the key's own pace uses up the units causes no pause.
 *
 * Calls take the arguments of `fetch`, plus `pace` with the priority and cost of the call. A signal also aborts the
 * wait for the slot. If a call gets no slot, it rejects as `shaper.schedule` does; if a retry gets none, the call ends
 * with the result before it. Addresses without a host, such as `data:`, need no slot. Redirects are followed as in
 * `fetch`, but each hop waits for a slot of its target. In browsers, and with `integrity`, the runtime follows
 * redirects without slots.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`. A call rejects with `SPW_KEY_INVALID` if `key`
 * returns an invalid key.
 * @example
 * ```ts
 * import { pacedFetch, type Shaper } from '@spillway/outgoing';
 *
 * declare const carrier: Shaper; // 10 calls a second, over all processes
 *
 * const send = pacedFetch(carrier, { retries: 2, timeout: '5s' });
 * const response = await send('https://api.example.com/messages/7', { method: 'PUT', body: 'Hello' });
 * ```
 */
export function pacedFetch<Pace extends string = never>(
  shaper: Shaper<Pace>,
  options: PacedFetchOptions = {},
): PacedFetch<Pace> {
  const config = readFetchOptions(shaper, options);
  const paced = async (input: unknown, init?: WebInit): Promise<WebResponse> => {
    const call = readCall(input, init);
    if (call.host === '') return fetchNow(call, config);
    return config.pauses.runCall((schedule) =>
      new PacedCall(config, call, schedule).fetchWithRetries(),
    );
  };
  return paced as PacedFetch<Pace>;
}

type TryResult = { readonly response: WebResponse } | { readonly error: unknown };

class PacedCall {
  private readonly config: PacedFetchConfig;
  private call: Call;
  private key: string;
  private readonly schedule: Shaper['schedule'];
  private redirectCount = 0;

  constructor(config: PacedFetchConfig, call: Call, schedule: Shaper['schedule']) {
    this.config = config;
    this.call = call;
    this.schedule = schedule;
    this.key = keyOf(call, config);
  }

  async fetchWithRetries(): Promise<WebResponse> {
    let last: TryResult | undefined;
    for (let retriesLeft = this.config.retries; ; ) {
      const result = await this.tryOnce(last);
      if (result === undefined) return this.unwrap(last as TryResult);
      if (this.followRedirect(result)) {
        last = undefined;
        continue;
      }
      if (retriesLeft === 0 || !this.isWorthRetry(result) || !this.isRetryable()) {
        return this.unwrap(result);
      }
      last = result;
      retriesLeft -= 1;
    }
  }

  /**
   * Directs the next try to the target of a redirect. Returns false if the result is not a redirect to follow.
   *
   * @throws TypeError for redirects that make `fetch` reject; SpillwayError `SPW_KEY_INVALID` if the new key is invalid
   */
  private followRedirect(result: TryResult): boolean {
    if (!('response' in result) || !result.response?.headers) return false;
    let call: Call | undefined;
    try {
      call = redirectedCall(this.call, result.response, this.redirectCount);
    } catch (error) {
      discardBody(result);
      throw error;
    }
    if (!call) return false;
    discardBody(result);
    this.key = keyOf(call, this.config);
    this.call = call;
    this.redirectCount += 1;
    return true;
  }

  private unwrap(result: TryResult): WebResponse {
    if ('error' in result) throw result.error;
    if (this.redirectCount > 0) markRedirected(result.response);
    return result.response;
  }

  private async tryOnce(last: TryResult | undefined): Promise<TryResult | undefined> {
    const { call, key, schedule, config } = this;
    const job = { ...call.pace, signal: call.signal } as ScheduleOptions;
    try {
      return await config.pauses.runInSlot(schedule, key, call.host, job, () => this.start(last));
    } catch (error) {
      if (last === undefined) throw error;
      if (isSpillwayError(error) && !call.signal?.aborted) return undefined;
      discardBody(last);
      throw error;
    }
  }

  private async start(last: TryResult | undefined): Promise<TryResult> {
    const { pauses } = this.config;
    if (last) discardBody(last);
    const startMs = pauses.nowMs();
    try {
      const response = await fetchNow(this.call, this.config);
      const trip = { startMs, endMs: pauses.nowMs() };
      // A custom `fetch` may return anything. Values without headers are passed on.
      if (response?.headers) await pauses.handleResponse(this.key, this.call.host, response, trip);
      return { response };
    } catch (error) {
      return { error };
    }
  }

  private isRetryable(): boolean {
    if (this.call.isBodyOneShot) return false;
    const said: unknown = this.config.retryable(this.call.request);
    disregard(said); // of an async function, which may reject
    return said === true;
  }

  private isWorthRetry(result: TryResult): boolean {
    if ('response' in result) return result.response != null && isRejection(result.response);
    return this.config.retryErrors && !wasAborted(result.error);
  }
}

function keyOf(call: Call, config: PacedFetchConfig): string {
  const key: unknown = config.key(call.request) ?? call.host;
  checkKey(key);
  return key;
}

function fetchNow(call: Call, config: PacedFetchConfig): Promise<WebResponse> {
  // Called without a receiver, because on some runtimes the global function must not be called as a method.
  const fetch = config.fetch() as (input: unknown, init?: WebInit) => Promise<WebResponse>;
  const signal = withTimeout(call.signal, config.timeoutMs);
  const isSame = signal === call.signal;
  if (isSame && !call.followsRedirects) return fetch(call.input, call.init);
  return fetch(call.input, {
    ...call.init,
    ...(!isSame && { signal }),
    ...(call.followsRedirects && { redirect: 'manual' }),
  });
}

function withTimeout(signal: WebSignal | undefined, ms: number | undefined): WebSignal | undefined {
  if (ms === undefined) return signal;
  const { AbortSignal } = hostClasses();
  const timeout = AbortSignal.timeout(ms);
  return signal ? AbortSignal.any([signal, timeout]) : timeout;
}

/**
 * Whether an error is an abort or a timeout. An abort with a custom reason is not recognized. Such a call may be
 * retried, but the shaper rejects the retry, because the signal of the call is aborted.
 */
function wasAborted(error: unknown): boolean {
  const name = (error as { readonly name?: unknown } | null | undefined)?.name;
  return name === 'AbortError' || name === 'TimeoutError';
}

/** Cancels a body that nobody reads, which frees its connection for the next call. */
function discardBody(result: TryResult): void {
  if (!('response' in result)) return;
  const body = result.response.body as { cancel?: () => unknown } | null | undefined;
  try {
    disregard(body?.cancel?.());
  } catch {
    // The body of a custom `fetch` may not be cancellable.
  }
}
