import { checkObject } from '../base/check-shapes.js';
import { durationBetween, oneOf, positiveInteger } from '../base/checks.js';
import type { Duration } from '../base/duration.js';
import type { Logger } from '../base/host.js';
import { checkNames, type NamesOf } from '../base/option-names.js';
import { ON_STORE_ERROR, type OnStoreError } from '../contract/decision.js';
import type { BreakerSettings, Policies, Resilience } from '../contract/store-link.js';

export interface ResilienceOptions {
  /**
   * How long to wait for the store: 1 ms to 60 s. Calls with more than 128 keys get two or three times as long. Default
   * `'50ms'`.
   */
  readonly storeTimeout?: Duration | undefined;
  /**
   * When the store can't answer, `local` (default) counts in this process, `allow` lets requests pass, and `deny`
   * rejects them with 503.
   */
  readonly onStoreError?: OnStoreError | undefined;
  /**
   * When to stop calling the store: after `failures` failed calls in a row (default 5), at a refused connection, or if
   * many calls fail or are slow. A call is slow if it takes longer than `slowAfter` (1 ms to 60 s, default a little
   * above the usual latency). Probes, one per `probeEvery` (1 ms to 1 h, default 100 ms), notice when the store is
   * back. Limits with `allow` or `deny` still call a slow store. All users of a store share the breaker, with the
   * options of the first. `false` turns it off for this guard or limiter.
   */
  readonly breaker?:
    | {
        readonly failures?: number | undefined;
        readonly probeEvery?: Duration | undefined;
        readonly slowAfter?: Duration | undefined;
      }
    | false
    | undefined;
  /**
   * Gets warnings, and a line when the store fails or recovers. Also gets faults if `onFault` is not set. `false` turns
   * logging off. Default: the console.
   */
  readonly logger?: Logger | false | undefined;
}

const BREAKER_OPTIONS: NamesOf<Exclude<ResilienceOptions['breaker'], false | undefined>> = {
  failures: 1,
  probeEvery: 1,
  slowAfter: 1,
};

export function resilienceOf(options: ResilienceOptions, policies: Policies): Resilience {
  oneOf('onStoreError', options.onStoreError, ON_STORE_ERROR);
  return {
    timeoutUs: storeTimeoutOf(options),
    breaker: breakerSettings(options.breaker),
    policies,
  };
}

/** In microseconds. */
export function storeTimeoutOf({ storeTimeout = '50ms' }: ResilienceOptions): number {
  return durationBetween('storeTimeout', storeTimeout, '1ms', '60s');
}

function breakerSettings(breaker: ResilienceOptions['breaker'] = {}): BreakerSettings | undefined {
  if (breaker === false) return undefined;
  checkObject('breaker', breaker);
  checkNames('breaker', breaker, BREAKER_OPTIONS);
  const { failures = 5, probeEvery = '100ms', slowAfter } = breaker;
  return {
    failures: positiveInteger('breaker.failures', failures),
    probeUs: durationBetween('breaker.probeEvery', probeEvery, '1ms', '1h'),
    slowUs:
      slowAfter === undefined
        ? undefined
        : durationBetween('breaker.slowAfter', slowAfter, '1ms', '60s'),
  };
}
