import { checkObject } from '../base/check-shapes.js';
import { durationBetween, oneOf, positiveInteger } from '../base/checks.js';
import { type Duration, toMicroseconds } from '../base/duration.js';
import type { Logger } from '../base/host.js';
import { checkNames, type NamesOf } from '../base/option-names.js';
import { ON_STORE_ERROR, type OnStoreError } from '../contract/decision.js';
import type { BreakerSettings, Policies, Resilience } from '../contract/store-link.js';

export interface ResilienceOptions {
  /**
   * How long to wait for the store: 1 ms to 60 s. Calls with more than 128 keys have twice this time, and with more
   * than 640 keys three times. Default `'50ms'`.
   */
  readonly storeTimeout?: Duration | undefined;
  /**
   * What to do when the store can't answer: `local` (default) counts in this process, including the requests it
   * admitted before the outage; `allow` lets requests pass; `deny` answers 503.
   */
  readonly onStoreError?: OnStoreError | undefined;
  /**
   * When to stop calling the store. The breaker opens at the first `SPW_STORE_UNAVAILABLE`, and after `failures` failed
   * calls in a row (default 5). It also opens if more than a fifth of at least 20 calls in 10 s failed, or more than a
   * tenth took longer than `slowAfter` (1 ms to 60 s, default 10 ms above the usual median). It closes when probes
   * succeed, at most one per `probeEvery` (default 100 ms). All users of a store share one breaker, with the options of
   * the first. `false` turns it off.
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
   * Gets one line when the store fails and one when it recovers; further outages within a minute share one line.
   * Without `onFault`, also gets faults: at most one line per minute for each limiter and source. `false` turns logging
   * off. Default: the console.
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
    probeUs: toMicroseconds(probeEvery, 'breaker.probeEvery'),
    slowUs:
      slowAfter === undefined
        ? undefined
        : durationBetween('breaker.slowAfter', slowAfter, '1ms', '60s'),
  };
}
