import type { Clock, Duration, Fault, HintOptions, Logger } from '@spillway/core';
import { checkOptions, mustBe, type NamesOf, tellFault } from '@spillway/core/adapter';
import {
  checkCallback,
  checkClock,
  checkFlag,
  checkHas,
  integerBetween,
  randomOf,
  shareFromZero,
} from '@spillway/core/direct';
import { durationBetween, systemClock } from '@spillway/core/store';
import type { Shaper } from '../shaper/contract.js';
import { callSafely, safeRandom } from '../shaper/outcomes.js';
import { type HostFetch, type HostRequest, hostClasses } from './call.js';
import { type PauseEvent, Pauses } from './pauses.js';

/** Options of {@link pacedFetch}. */
export interface PacedFetchOptions extends Pick<HintOptions, 'random'> {
  /**
   * Returns the key of a call from its request (without the body), or undefined for the default. A key must not be the
   * name of another host. Default: the host with its port, such as `api.example.com` or `localhost:8080`.
   */
  readonly key?: ((request: HostRequest) => string | undefined) | undefined;
  /**
   * How many times a call may be retried after a 429, a 503, or a 403 with `Retry-After`: 0 to 100. Calls whose body is
   * a stream, and calls of a `Request` with a body, are never retried. Default 0.
   */
  readonly retries?: number | undefined;
  /** Which calls may be retried. Default: GET, HEAD, OPTIONS, PUT and DELETE. */
  readonly retryable?: ((request: HostRequest) => boolean) | undefined;
  /** Whether calls that fail without a response are retried too, except for aborts and timeouts. Default false. */
  readonly retryErrors?: boolean | undefined;
  /**
   * How long each try or redirect may take after its wait for a slot, including the body: 1 ms to 24 h. Default: no
   * timeout.
   */
  readonly timeout?: Duration | undefined;
  /**
   * The longest pause that a response can cause: 1 ms to 24 h. Values below the shaper's period are raised to it, but
   * not above 24 h. Default `'1m'`.
   */
  readonly maxPause?: Duration | undefined;
  /**
   * The longest random addition to a pause, as a fraction of the pause or, after a spent quota, of the shaper's period:
   * 0 to 1. Default 0.2.
   */
  readonly jitter?: number | undefined;
  /**
   * Also reads `X-RateLimit-Remaining` and `X-RateLimit-Reset` if there are no valid `RateLimit` headers. Default
   * false.
   */
  readonly xRateLimit?: boolean | undefined;
  /** The function that makes the calls. Default: the global `fetch`. */
  readonly fetch?: HostFetch | undefined;
  /** Called for each pause that a response in this process caused, once the store has saved it. */
  readonly onPause?: ((event: PauseEvent) => void) | undefined;
  /** Called when the shaper could not set or read a pause or a wait, or when `onPause` or `random` fails. */
  readonly onFault?: ((fault: Fault) => void) | undefined;
  /** Logs faults if `onFault` is not set, at most once a minute. Default: the console. */
  readonly logger?: Logger | false | undefined;
  /** Source of time, for tests. Default: the process's monotonic clock. */
  readonly clock?: Clock | undefined;
}

const NAMES: NamesOf<PacedFetchOptions> = {
  key: 1,
  retries: 1,
  retryable: 1,
  retryErrors: 1,
  timeout: 1,
  maxPause: 1,
  jitter: 1,
  random: 1,
  xRateLimit: 1,
  fetch: 1,
  onPause: 1,
  onFault: 1,
  logger: 1,
  clock: 1,
};

export interface PacedFetchConfig {
  readonly key: (request: HostRequest) => string | undefined;
  readonly retries: number;
  readonly retryable: (request: HostRequest) => boolean;
  readonly retryErrors: boolean;
  readonly timeoutMs: number | undefined;
  readonly fetch: () => HostFetch;
  readonly pauses: Pauses;
}

export function readFetchOptions<Pace extends string>(
  shaper: Shaper<Pace>,
  options: PacedFetchOptions,
): PacedFetchConfig {
  if (shaper === undefined) throw mustBe('shaper', 'what createShaper returns', shaper);
  for (const method of ['runTask', 'pause', 'pauseOf', 'paceOf', 'waitOf', 'queueLength'])
    checkHas('shaper', method, shaper);
  checkOptions(options, 'pacedFetch()', NAMES);
  for (const name of ['key', 'retryable', 'fetch', 'onPause', 'onFault'] as const) {
    checkCallback(name, options[name]);
  }
  checkFlag('retryErrors', options.retryErrors);
  const { timeout } = options;
  return {
    key: options.key ?? (() => undefined),
    retries: integerBetween('retries', options.retries ?? 0, 0, 100),
    retryable: options.retryable ?? (({ method }) => IDEMPOTENT.has(method)),
    retryErrors: options.retryErrors === true,
    timeoutMs: timeout === undefined ? undefined : Math.ceil(millisecondsOf('timeout', timeout)),
    fetch: () => options.fetch ?? hostClasses().fetch,
    pauses: makePauses(shaper, options),
  };
}

const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

function makePauses<Pace extends string>(shaper: Shaper<Pace>, options: PacedFetchOptions): Pauses {
  checkHas('logger', 'warn', options.logger === false ? undefined : options.logger);
  checkClock(options.clock);
  checkFlag('xRateLimit', options.xRateLimit);
  const { onPause, onFault, logger } = options;
  const reportFault = (source: 'observer' | 'store', error: unknown): void =>
    tellFault(onFault, { limiter: shaper.name, source, error }, logger);
  const onCallbackError = (error: unknown): void => reportFault('observer', error);
  return new Pauses(shaper, {
    clock: options.clock ?? systemClock,
    maxPauseMs: millisecondsOf('maxPause', options.maxPause ?? '1m'),
    jitter: shareFromZero('jitter', options.jitter ?? 0.2),
    random: safeRandom(randomOf(options), onCallbackError),
    withX: options.xRateLimit === true,
    onPause: (event) => callSafely(() => onPause?.(event), onCallbackError),
    onError: (error) => reportFault('store', error),
  });
}

function millisecondsOf(option: string, duration: Duration): number {
  return durationBetween(option, duration, '1ms', '1d') / 1000;
}
