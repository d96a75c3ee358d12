/** The options of a shaper, and its pace: as declared, or as live settings have set it. */

import {
  type Control,
  type DecisionEvent,
  type Duration,
  type HintOptions,
  type KeyedLimiterOptions,
  type KeyOverride,
  type LiveLimits,
  SpillwayError,
  type Store,
} from '@spillway/core';
import { checkOptions, mustBe, type NamesOf, Notices } from '@spillway/core/adapter';
import { liveNumbers } from '@spillway/core/control';
import {
  checkBurst,
  checkClientOptions,
  checkLimit,
  checkName,
  checkObservers,
  type DirectClient,
  integerBetween,
  type LiveNumbers,
  nameOf,
  oneOf,
  randomOf,
  shortWindow,
  tellOfLimiters,
  windowToMicroseconds,
} from '@spillway/core/direct';
import {
  durationBetween,
  makeShaperRule,
  type QueueRule,
  type StoreErrorPolicy,
} from '@spillway/core/store';

/** The pace of a shaper, and how long and how many jobs may wait for it. */
export interface ShaperOptions {
  /**
   * Identifies the pace in the store, together with the key: 1 to 64 printable ASCII characters. Required with a store.
   * Default: the numbers, as in `4-per-1s`.
   */
  readonly name?: string | undefined;
  /** Units per window: an integer from 1 to 1,000,000,000. They start one by one: 4 per second start every 250 ms. */
  readonly limit: number;
  /** `'1s'`, or milliseconds: from 1 ms to 400 days. */
  readonly window: Duration;
  /**
   * Units that may start at once after an idle time, and the largest cost: an integer from 1 to 1,000,000,000.
   * Default 1.
   */
  readonly burst?: number | undefined;
  /**
   * The longest wait. A job that would wait longer is rejected at once. An accepted job starts within this time, or is
   * rejected when the time has passed. 0 to 400 days. Default `'30s'`.
   */
  readonly maxWait?: Duration | undefined;
  /** How many jobs may wait in this process, over all keys: an integer from 1 to 1,000,000. Default 1,000. */
  readonly maxQueue?: number | undefined;
}

/** Where a shaper stores its pace, and what it does when the store fails. */
export interface ShaperSettings
  extends Omit<KeyedLimiterOptions<Store>, 'onStoreError' | 'denialCache'>,
    Pick<HintOptions, 'random'> {
  /**
   * What to do when the store fails: `local` (default) keeps `localShare` of the pace in this process; `deny` rejects
   * jobs that have no slot yet. Jobs that have a slot start in both cases.
   */
  readonly onStoreError?: 'local' | 'deny' | undefined;
  /**
   * With `onStoreError: 'local'`: the share of the pace that this process keeps when the store fails, above 0 up to 1.
   * Required with an asynchronous store. Without it each process would keep the whole pace, and eight processes
   * together eight times the pace.
   */
  readonly localShare?: number | undefined;
  /**
   * Live settings: `limit`, `window` and `factor` change the pace, of all keys or of one; jobs of a blocked key are
   * rejected. Jobs that have a slot keep it. Modes, shares, a live `burst` and allowed keys do not apply to shapers.
   * Default: none.
   */
  readonly control?: Control | undefined;
  /**
   * Called for each job that starts or is rejected, and for each reservation. Log keys only as a hash: see `Observer`.
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

/** The checked options. */
interface ShaperConfig {
  readonly name: string;
  readonly rule: QueueRule;
  readonly maxQueue: number;
  readonly random: () => number;
}

/**
 * @throws SpillwayError `SPW_LIMIT_INVALID`, `SPW_WINDOW_INVALID`, `SPW_BURST_INVALID`, `SPW_NAME_INVALID`,
 * `SPW_NAME_REQUIRED`, `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 */
export function readOptions(options: ShaperOptions, settings: ShaperSettings): ShaperConfig {
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

interface Pace {
  readonly rule: QueueRule;
  readonly onStoreError: StoreErrorPolicy;
}

export class LivePace {
  private readonly name: string;
  private readonly declared: Pace;
  private readonly client: DirectClient;
  /** Made of live limits, of all keys or of one. */
  private readonly paces = new WeakMap<LiveLimits, Pace>();

  constructor(name: string, rule: QueueRule, client: DirectClient) {
    this.name = name;
    this.client = client;
    this.declared = this.withPolicy(rule);
  }

  /** The pace of keys that have no override. */
  get now(): Pace {
    return this.paceWith(this.client.control?.settingsOf(this.name)?.limits);
  }

  paceFor(key: string): Pace {
    const { now } = this;
    const own = this.client.control?.limitsOf?.(this.name, key);
    return own ? this.paceWith(own) : now;
  }

  /** How much longer an operator blocks the key, in milliseconds; 0 if it is not blocked. */
  blockedMs(key: string): number {
    const ruling: KeyOverride | undefined = this.client.control?.overrideOf(this.name, key);
    return ruling?.verdict === 'block' ? ruling.endsInMs : 0;
  }

  private paceWith(limits: LiveLimits | undefined): Pace {
    if (limits === undefined) return this.declared;
    let pace = this.paces.get(limits);
    if (!pace) {
      pace = this.makePace(limits);
      this.paces.set(limits, pace);
    }
    return pace;
  }

  /** Invalid limits are reported as a fault; then the declared pace applies. */
  private makePace(limits: LiveLimits): Pace {
    const { rule } = this.declared;
    try {
      const { limit, window, burst } = liveNumbers<LiveNumbers>({ limit: rule.limit }, limits);
      if (burst !== undefined) this.reportFault(liveBurst(burst));
      const windowUs = window === undefined ? rule.windowUs : windowToMicroseconds(window);
      checkLimit('limit', limit);
      return this.withPolicy(makeShaperRule(limit, windowUs, rule.burst, rule.waitUs));
    } catch (error) {
      this.reportFault(error);
      return this.declared;
    }
  }

  private withPolicy(rule: QueueRule): Pace {
    return { rule, onStoreError: this.client.policyFor(rule) };
  }

  private reportFault(error: unknown): void {
    this.client.fault({ limiter: this.name, source: 'control', error });
  }
}

function liveBurst(burst: number): Error {
  const what = 'left out for a shaper, because jobs that wait may cost as much as the declared one';
  return mustBe('burst', what, burst, 'SPW_BURST_INVALID');
}
