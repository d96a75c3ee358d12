/** The options of calls that go out. */

import type { Clock, Duration, Fault, HintOptions, Logger } from '@spillway/core';
import { checkOptions, mustBe, type NamesOf, tellFault } from '@spillway/core/adapter';
import {
  checkCallback,
  checkClock,
  checkFlag,
  checkHas,
  integerBetween,
  isThenable,
  randomOf,
  shareFromZero,
} from '@spillway/core/direct';
import { durationBetween, systemClock } from '@spillway/core/store';
import type { Shaper } from '../shaper/contract.js';
import { type HostFetch, type HostRequest, hostClasses } from './host.js';
import { type PauseEvent, Pauses } from './pauses.js';

/** Options of {@link pacedFetch}. */
export interface PacedFetchOptions extends Pick<HintOptions, 'random'> {
  /**
   * The key whose slot a call takes, from a request without its body; undefined: the host. Default: the host with its
   * port, such as `api.example.com` or `localhost:8080`. With keys of your own a 429 pauses the key, a 503 all keys of
   * the host. The name of a host is a key like any other, so do not use it for something else.
   */
  readonly key?: ((request: HostRequest) => string | undefined) | undefined;
  /**
   * How often a call is made again after a 429 or a 503, 0 to 100. Each time it takes a slot again, and so waits until
   * the pause is over. Where no slot can be had for that, the answer that is there is the result. Default 0. Calls
   * whose body is a stream, or a `Request` with a body, are never repeated.
   */
  readonly retries?: number | undefined;
  /**
   * Which calls may be repeated at all. Default: GET, HEAD, OPTIONS, PUT and DELETE, which by HTTP do the same if done
   * twice.
   */
  readonly retryable?: ((request: HostRequest) => boolean) | undefined;
  /** Whether a call that failed without an answer is repeated, too. Not after `signal` or `timeout`. Default false. */
  readonly retryErrors?: boolean | undefined;
  /**
   * How long a call may take, its body included, from when its slot has come: 1 ms to 24 h, a fraction of a millisecond
   * counts as a whole one. Then it fails with the runtime's `TimeoutError`. Each repetition has this time again.
   * Default: no end.
   */
  readonly timeout?: Duration | undefined;
  /**
   * The longest pause that an answer can cause, from 1 ms to 24 h, but never less than one period of the shaper, up to
   * 24 h. Default `'1m'`.
   */
  readonly maxPause?: Duration | undefined;
  /**
   * How much longer than told a pause may be, from 0 to 1: that share of it, at random, so that not all clients of a
   * server come back at once. For a quota that is spent, that share of one period. Default 0.2.
   */
  readonly jitter?: number | undefined;
  /** Reads `X-RateLimit-Remaining` and `X-RateLimit-Reset`, too, where there is no `RateLimit`. Default false. */
  readonly xRateLimit?: boolean | undefined;
  /** The function that makes the calls. Default: the global `fetch`. */
  readonly fetch?: HostFetch | undefined;
  /** Told of each pause that this process caused. */
  readonly onPause?: ((event: PauseEvent) => void) | undefined;
  /**
   * Told when the shaper could not pause, or when `onPause` or `random` fails. The call is answered all the same.
   */
  readonly onFault?: ((fault: Fault) => void) | undefined;
  /** Told of that, once a minute, where there is no `onFault`. Default: the console. */
  readonly logger?: Logger | false | undefined;
  /** For tests. Default: the clock of this process. */
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

/** The options, checked and complete. */
export interface Pacing {
  readonly key: (request: HostRequest) => string | undefined;
  readonly retries: number;
  readonly retryable: (request: HostRequest) => boolean;
  readonly retryErrors: boolean;
  readonly timeoutMs: number | undefined;
  readonly fetch: () => HostFetch;
  readonly pauses: Pauses;
}

/** @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN` */
export function pacingOf(shaper: Shaper, options: PacedFetchOptions): Pacing {
  if (shaper === undefined) throw mustBe('shaper', 'what createShaper returns', shaper);
  for (const method of ['schedule', 'pause', 'pauseOf', 'waitOf'])
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
    pauses: pausesOf(shaper, options),
  };
}

const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

function pausesOf(shaper: Shaper, options: PacedFetchOptions): Pauses {
  checkHas('logger', 'warn', options.logger === false ? undefined : options.logger);
  checkClock(options.clock);
  checkFlag('xRateLimit', options.xRateLimit);
  const { onPause, onFault, logger } = options;
  const tell = (source: 'observer' | 'store', error: unknown): void =>
    tellFault(onFault, { limiter: shaper.name, source, error }, logger);
  const tellObserver = (error: unknown): void => tell('observer', error);
  return new Pauses(shaper, {
    clock: options.clock ?? systemClock,
    maxPauseMs: millisecondsOf('maxPause', options.maxPause ?? '1m'),
    jitter: shareFromZero('jitter', options.jitter ?? 0.2),
    random: chanceOf(randomOf(options), tellObserver),
    withX: options.xRateLimit === true,
    onPause: (event) => {
      try {
        const returned: unknown = onPause?.(event);
        if (isThenable(returned)) returned.then(undefined, tellObserver);
      } catch (error) {
        tellObserver(error);
      }
    },
    onError: (error) => tell('store', error),
  });
}

/** `random`, but 0 where that throws or answers something else. `tell` is told of the mistake. */
function chanceOf(random: () => number, tell: (error: unknown) => void): () => number {
  return () => {
    try {
      const chance: unknown = random();
      return shareFromZero('random', chance);
    } catch (error) {
      tell(error);
      return 0;
    }
  };
}

function millisecondsOf(option: string, duration: Duration): number {
  return durationBetween(option, duration, '1ms', '1d') / 1000;
}
