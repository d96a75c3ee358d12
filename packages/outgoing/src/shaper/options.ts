/** The options of a shaper, checked. */

import {
  type Control,
  type DecisionEvent,
  type Duration,
  type HintOptions,
  type KeyedLimiterOptions,
  SpillwayError,
  type Store,
} from '@spillway/core';
import { checkOptions, mustBe, type NamesOf, Notices } from '@spillway/core/adapter';
import {
  checkBurst,
  checkClientOptions,
  checkLimit,
  checkName,
  checkObservers,
  integerBetween,
  nameOf,
  oneOf,
  randomOf,
  shortWindow,
  tellOfLimiters,
  windowToMicroseconds,
} from '@spillway/core/direct';
import { durationBetween, makeShaperRule, type QueueRule } from '@spillway/core/store';

/** The pace of a shaper, and how much may wait for it. */
export interface ShaperOptions {
  /**
   * With the key, identifies the pace in the store: 1 to 64 printable ASCII characters. Required with a store. Default:
   * the numbers, as in `4-per-1s`.
   */
  readonly name?: string | undefined;
  /** Units per window: an integer from 1 to 1,000,000,000. They start one by one: 4 per second start every 250 ms. */
  readonly limit: number;
  /** `'1s'`, or milliseconds: from 1 ms to 400 days. */
  readonly window: Duration;
  /** Units that may start at once after a rest, and the largest cost: an integer from 1 to 1,000,000,000. Default 1. */
  readonly burst?: number | undefined;
  /**
   * The longest wait. A job that would wait longer is refused; one that was accepted starts within this time, or is
   * rejected when it is over. 0 to 400 days. Default `'30s'`.
   */
  readonly maxWait?: Duration | undefined;
  /** How many jobs may wait in this process, over all keys: an integer from 1 to 1,000,000. Default 1,000. */
  readonly maxQueue?: number | undefined;
}

/** Where a shaper keeps its pace, and what it does when the store does not answer. */
export interface ShaperSettings
  extends Omit<KeyedLimiterOptions<Store>, 'onStoreError' | 'denialCache'>,
    Pick<HintOptions, 'random'> {
  /**
   * What to do when the store cannot answer: `local` (default) keeps `localShare` of the pace in this process, `deny`
   * refuses what has no start yet. What has one starts in both cases.
   */
  readonly onStoreError?: 'local' | 'deny' | undefined;
  /**
   * With `onStoreError: 'local'`: this process's share of the pace while the store does not answer, above 0 up to 1.
   * Required with a store that answers later, because otherwise each process would keep the whole pace, and eight
   * processes eight times the pace.
   */
  readonly localShare?: number | undefined;
  /**
   * Live settings: `limit`, `window` and `factor` change the pace, of all keys or of one, and a blocked key is refused.
   * What has a slot keeps it. Modes, shares, a live `burst` and allowed keys are not for shapers. Default: none.
   */
  readonly control?: Control | undefined;
  /**
   * Told of each job when it starts or is refused, and of each reservation. The key is for logs that hash it: see
   * `Observer`.
   */
  readonly onDecision?: ((event: DecisionEvent, key: string | undefined) => void) | undefined;
}

const SHAPER_OPTIONS: NamesOf<ShaperOptions> = {
  name: 1,
  limit: 1,
  window: 1,
  burst: 1,
  maxWait: 1,
  maxQueue: 1,
};

const SHAPER_SETTINGS: NamesOf<ShaperSettings> = {
  store: 1,
  storeTimeout: 1,
  onStoreError: 1,
  localShare: 1,
  control: 1,
  breaker: 1,
  clock: 1,
  random: 1,
  logger: 1,
  validate: 1,
  onDecision: 1,
  onFault: 1,
  observers: 1,
};

/** The options as a shaper goes by them. */
interface ShaperNumbers {
  readonly name: string;
  readonly rule: QueueRule;
  readonly maxQueue: number;
  readonly random: () => number;
}

/**
 * @throws SpillwayError `SPW_LIMIT_INVALID`, `SPW_WINDOW_INVALID`, `SPW_BURST_INVALID`, `SPW_NAME_INVALID`,
 * `SPW_NAME_REQUIRED`, `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 */
export function numbersOf(options: ShaperOptions, settings: ShaperSettings): ShaperNumbers {
  checkOptions(options, 'createShaper()', SHAPER_OPTIONS, ['its second argument', SHAPER_SETTINGS]);
  const { limit, window, burst = 1, maxWait = '30s', maxQueue = 1_000 } = options;
  checkLimit('limit', limit);
  const windowUs = windowToMicroseconds(window);
  checkBurst(burst);
  const waitUs = durationBetween('maxWait', maxWait, '0ms', '400d');
  integerBetween('maxQueue', maxQueue, 1, 1_000_000);
  checkSettings(settings);
  if (settings.store && options.name === undefined) {
    throw new SpillwayError(
      'SPW_NAME_REQUIRED',
      'name is required with a store: it identifies the pace there, so that no other meets its counts',
    );
  }
  const name = checkName(nameOf(options));
  const notices = shortWindow('shaper', name, window);
  tellOfLimiters(new Notices(settings), [{ name, notices }], 0);
  const rule = makeShaperRule(limit, windowUs, burst, waitUs);
  return { name, rule, maxQueue, random: randomOf(settings) };
}

function checkSettings(settings: ShaperSettings): void {
  const first = ['its first argument', SHAPER_OPTIONS] as const;
  checkOptions(settings, 'the second argument of createShaper()', SHAPER_SETTINGS, first);
  checkClientOptions(settings);
  checkObservers(settings);
  const { store, onStoreError, localShare } = settings;
  oneOf('onStoreError', onStoreError, ['local', 'deny']);
  const mayFail = store !== undefined && !store.sync && onStoreError !== 'deny';
  if (mayFail && localShare === undefined) {
    const what = `a share of the pace for when the store does not answer (1 / 8 in each of eight processes), unless onStoreError is 'deny'`;
    throw mustBe('localShare', what, localShare);
  }
}
