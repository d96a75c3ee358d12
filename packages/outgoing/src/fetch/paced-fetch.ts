/** A `fetch` whose calls wait for a slot of a shaper, and that obeys the other side for all processes. */

import { isSpillwayError } from '@spillway/core';
import { checkKey, disregard } from '@spillway/core/direct';
import type { WebResponse, WebSignal } from '@spillway/core/fetch';
import type { HostSignal, Shaper } from '../shaper/contract.js';
import { type Call, callOf } from './call.js';
import { type HostFetch, hostClasses, type WebInit } from './host.js';
import { type PacedFetchOptions, type Pacing, pacingOf } from './options.js';
import { markRedirected, redirected } from './redirects.js';

/**
 * Makes a `fetch` whose calls start at the pace of `shaper`, by default one pace per host, over all processes that
 * share the shaper's store. What the other side says about its limits pauses the key for all of them:
 *
 * - 429 pauses the key, 503 the host: as long as `retry-after-ms` or `Retry-After` say; for a 429 else the reset of the
 *   `RateLimit` fields; else 1 s, doubled with each refusal in a row. At most `maxPause`, at least one period.
 * - `RateLimit` fields (drafts 6 to 11) with nothing left, on any other answer, pause the key until there is more.
 *
 * A redirect is followed as by `fetch`, but each hop is a call that takes its turn at the host it goes to.
 *
 * Otherwise it is `fetch`: the same arguments, read when it is called, and the same response with its body unread. A
 * signal ends the wait for the slot, too. Where no slot can be had, it rejects as `shaper.schedule` does. Addresses
 * without a host, such as `data:`, need no slot.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`. A call rejects with `SPW_KEY_INVALID` if `key` returns what is no key.
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
export function pacedFetch(shaper: Shaper, options: PacedFetchOptions = {}): HostFetch {
  const pacing = pacingOf(shaper, options);
  const paced = async (input: unknown, init?: WebInit): Promise<WebResponse> => {
    const call = callOf(input, init);
    if (call.host === '') return fetchNow(call, pacing);
    return new PacedCall(shaper, pacing, call).make();
  };
  return paced as HostFetch;
}

/** What came of a try that was made. */
type Answered = { readonly response: WebResponse } | { readonly error: unknown };

/** The tries of one call, and of those that it is redirected to. */
class PacedCall {
  private readonly shaper: Shaper;
  private readonly pacing: Pacing;
  private call: Call;
  private key: string;
  /** How many redirects were followed. */
  private hops = 0;

  /** @throws SpillwayError `SPW_KEY_INVALID` */
  constructor(shaper: Shaper, pacing: Pacing, call: Call) {
    this.shaper = shaper;
    this.pacing = pacing;
    this.call = call;
    this.key = keyOf(call, pacing);
  }

  async make(): Promise<WebResponse> {
    let last: Answered | undefined;
    for (let triesLeft = this.pacing.retries; ; ) {
      const answered = await this.next(last);
      if (answered === undefined) return this.resultOf(last as Answered);
      if (this.follow(answered)) {
        last = undefined;
        continue;
      }
      const isLast = triesLeft === 0 || !this.isWorthRepeating(answered) || !this.mayRepeat();
      if (isLast) return this.resultOf(answered);
      last = answered;
      triesLeft -= 1;
    }
  }

  /**
   * Makes what an answer redirects to the next call; false if the answer is none of these.
   *
   * @throws TypeError where `fetch` would reject
   */
  private follow(answered: Answered): boolean {
    if (!('response' in answered) || !answered.response?.headers) return false;
    let call: Call | undefined;
    try {
      call = redirected(this.call, answered.response, this.hops);
    } catch (error) {
      discard(answered);
      throw error;
    }
    if (!call) return false;
    discard(answered);
    this.key = keyOf(call, this.pacing);
    this.call = call;
    this.hops += 1;
    return true;
  }

  private resultOf(answered: Answered): WebResponse {
    if ('error' in answered) throw answered.error;
    if (this.hops > 0) markRedirected(answered.response);
    return answered.response;
  }

  /** Makes the call in a slot of its own; undefined if there is none for a repetition of `last`. */
  private async next(last: Answered | undefined): Promise<Answered | undefined> {
    const { call, key, pacing, shaper } = this;
    const signal = call.signal as HostSignal | undefined;
    try {
      for (;;) {
        if (key !== call.host) pacing.pauses.expect(call.host);
        const answered = await shaper.schedule(key, () => this.start(last), { signal });
        if (answered !== 'held') return answered;
      }
    } catch (error) {
      if (last === undefined) throw error;
      if (isSpillwayError(error) && !call.signal?.aborted) return undefined;
      discard(last);
      throw error;
    }
  }

  /** The slot has come. `held`: the host was paused while the call waited for the slot of its own key. */
  private async start(last: Answered | undefined): Promise<Answered | 'held'> {
    const { pauses } = this.pacing;
    const { host } = this.call;
    if (this.key !== host && (await pauses.passOn(host, this.key))) return 'held';
    if (last) discard(last);
    const startMs = pauses.nowMs();
    try {
      const response = await fetchNow(this.call, this.pacing);
      const trip = { startMs, endMs: pauses.nowMs() };
      // A `fetch` of yours may answer with anything, and that is between you and it.
      if (response?.headers) await pauses.obey(this.key, host, response, trip);
      return { response };
    } catch (error) {
      return { error };
    }
  }

  private mayRepeat(): boolean {
    return !this.call.isOnce && this.pacing.retryable(this.call.request) === true;
  }

  private isWorthRepeating(answered: Answered): boolean {
    if ('response' in answered) return REFUSALS.has(answered.response?.status);
    return this.pacing.retryErrors && !wasEnded(answered.error);
  }
}

const REFUSALS: ReadonlySet<unknown> = new Set([429, 503]);

/** @throws SpillwayError `SPW_KEY_INVALID` */
function keyOf(call: Call, pacing: Pacing): string {
  const key: unknown = pacing.key(call.request) ?? call.host;
  checkKey(key);
  return key;
}

function fetchNow(call: Call, pacing: Pacing): Promise<WebResponse> {
  // Called like the global function, which on some runtimes must not be a method of anything.
  const fetch = pacing.fetch() as (input: unknown, init?: WebInit) => Promise<WebResponse>;
  const until = withTimeout(call.signal, pacing.timeoutMs);
  const isSame = until === call.signal;
  if (isSame && !call.follows) return fetch(call.input, call.init);
  return fetch(call.input, {
    ...call.init,
    ...(!isSame && { signal: until }),
    ...(call.follows && { redirect: 'manual' }),
  });
}

function withTimeout(signal: WebSignal | undefined, ms: number | undefined): WebSignal | undefined {
  if (ms === undefined) return signal;
  const { AbortSignal } = hostClasses();
  const timeout = AbortSignal.timeout(ms);
  return signal ? AbortSignal.any([signal, timeout]) : timeout;
}

/** Whether time was over or somebody gave up. Where a signal has a reason of its own, the shaper rejects with it. */
function wasEnded(error: unknown): boolean {
  const name = (error as { readonly name?: unknown } | null | undefined)?.name;
  return name === 'AbortError' || name === 'TimeoutError';
}

/** Nobody reads this response: its connection is free for the next call. */
function discard(answered: Answered): void {
  if (!('response' in answered)) return;
  const body = answered.response.body as { cancel?: () => unknown } | null | undefined;
  try {
    disregard(body?.cancel?.());
  } catch {
    // A `fetch` of yours may answer with a body that cannot be cancelled.
  }
}
