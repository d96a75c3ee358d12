/** A `fetch` whose calls wait for a slot of a shaper, and that obeys the other side for all processes. */

import { checkKey } from '../base/checks.js';
import type { HostSignal, Shaper } from '../contract/shaper.js';
import type { WebResponse, WebSignal } from '../fetch/web.js';
import { type Call, callOf } from './call.js';
import { type HostFetch, hostClasses, type WebInit } from './host.js';
import { type PacedFetchOptions, type Pacing, pacingOf } from './options.js';

/**
 * Makes a `fetch` whose calls start at the pace of `shaper`, by default one pace per host, over all processes that
 * share the shaper's store. What the other side says about its limits pauses the key for all of them:
 *
 * - 429 pauses the key, 503 the host: as long as `retry-after-ms` or `Retry-After` say; for a 429 else the reset of the
 *   `RateLimit` fields; else 1 s, doubled with each refusal in a row. At most `maxPause`, at least one period.
 * - `RateLimit` fields (drafts 6 to 11) with nothing left, on any other answer, pause the key until there is more.
 *
 * Otherwise it is `fetch`: the same arguments, the same response with its body unread. A signal ends the wait for the
 * slot, too. Where no slot can be had, it rejects as `shaper.schedule` does.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`. A call rejects with `SPW_KEY_INVALID` if `key` returns what is no key.
 * @example
 * ```ts
 * import { pacedFetch, type Shaper } from '@spillway/core/fetch';
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
    return new PacedCall(shaper, pacing, call).make();
  };
  return paced as HostFetch;
}

/** What came of a try. What the shaper refuses is none of these. */
type Outcome =
  | { readonly response: WebResponse }
  | { readonly error: unknown }
  /** The host was paused while the call waited for the slot of its own key. */
  | 'held';

/** The tries of one call. */
class PacedCall {
  private readonly shaper: Shaper;
  private readonly pacing: Pacing;
  private readonly call: Call;
  private readonly key: string;

  /** @throws SpillwayError `SPW_KEY_INVALID` */
  constructor(shaper: Shaper, pacing: Pacing, call: Call) {
    this.shaper = shaper;
    this.pacing = pacing;
    this.call = call;
    const key: unknown = pacing.key(call.request) ?? call.host;
    checkKey(key);
    this.key = key;
  }

  async make(): Promise<WebResponse> {
    for (let triesLeft = this.mayRepeat() ? this.pacing.retries : 0; ; ) {
      const outcome = await this.takeSlot();
      if (outcome === 'held') continue;
      if (triesLeft === 0 || !this.isWorthRepeating(outcome)) {
        if ('error' in outcome) throw outcome.error;
        return outcome.response;
      }
      triesLeft -= 1;
      if ('response' in outcome) discard(outcome.response);
    }
  }

  private takeSlot(): Promise<Outcome> {
    const signal = this.call.signal as HostSignal | undefined;
    return this.shaper.schedule(this.key, () => this.start(), { signal });
  }

  /** The slot has come. */
  private async start(): Promise<Outcome> {
    const { pauses } = this.pacing;
    const { host } = this.call;
    if (this.key !== host && (await pauses.passOn(host, this.key))) return 'held';
    const startMs = pauses.nowMs();
    try {
      const response = await this.fetch();
      const trip = { startMs, endMs: pauses.nowMs() };
      // A `fetch` of yours may answer with anything, and that is between you and it.
      if (response?.headers) await pauses.obey(this.key, host, response, trip);
      return { response };
    } catch (error) {
      return { error };
    }
  }

  private fetch(): Promise<WebResponse> {
    const { call, pacing } = this;
    // Called like the global function, which on some runtimes must not be a method of anything.
    const fetch = pacing.fetch() as (input: unknown, init?: WebInit) => Promise<WebResponse>;
    const until = withTimeout(call.signal, pacing.timeoutMs);
    if (until === call.signal) return fetch(call.input, call.init);
    return fetch(call.input, { ...call.init, signal: until });
  }

  private mayRepeat(): boolean {
    return !this.call.isOnce && this.pacing.repeatable(this.call.request) === true;
  }

  private isWorthRepeating(outcome: Exclude<Outcome, 'held'>): boolean {
    if ('response' in outcome) {
      return outcome.response.status === 429 || outcome.response.status === 503;
    }
    return this.pacing.retryErrors && !wasEnded(outcome.error);
  }
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
function discard({ body }: WebResponse): void {
  const stream = body as { cancel?: () => Promise<unknown> } | null;
  stream?.cancel?.().catch(() => undefined);
}
