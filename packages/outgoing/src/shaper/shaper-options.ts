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
  checkCallback,
  checkClientOptions,
  checkLimit,
  checkName,
  integerBetween,
  nameOf,
  oneOf,
  randomOf,
  shortWindow,
  tellOfLimiters,
  windowToMicroseconds,
} from '@spillway/core/direct';
import { durationBetween } from '@spillway/core/store';

/** The numbers of one pace. */
export interface PaceNumbers {
  /**
   * Units per window: an integer from 1 to 1,000,000,000. Apart from `burst`, units start one by one: with 4 per
   * second, one every 250 ms.
   */
  readonly limit: number;
  /** A duration such as `'1s'`, from 1 ms to 400 days. */
  readonly window: Duration;
  /**
   * How many units may start at once after an idle time: an integer from 1 to 1,000,000,000. No job can cost more.
   * Default 1.
   */
  readonly burst?: number | undefined;
}

/** Options of every shaper: how many jobs may run at once, how many may wait, and for how long. */
export interface QueueOptions {
  /**
   * Name in the store: 1 to 64 printable ASCII characters, counting the suffix that the shaper appends (`/permits`, or
   * `/` and a pace's name). Required with a store. Default: the numbers, as in `4-per-1s` or `2-at-once`, or the names
   * of the paces, joined by `+`.
   */
  readonly name?: string | undefined;
  /**
   * How many jobs of a key may run at once, in all processes: an integer from 1 to 1,000,000,000. Default: any number.
   */
  readonly maxConcurrent?: number | undefined;
  /**
   * With `maxConcurrent`: how long permits stay taken after their process crashed, 1 s to 24 h. A running process
   * renews its permits. Default `'30s'`.
   */
  readonly lease?: Duration | undefined;
  /**
   * The longest wait, 0 to 400 days. A job that would wait longer is rejected at once, except with `maxConcurrent`,
   * because its wait is then unknown. A job that was accepted, but has not started within this time, is rejected 50 ms
   * later, or one unit's time later if that is longer. Default `'30s'`.
   */
  readonly maxWait?: Duration | undefined;
  /** How many jobs may wait in this process, over all keys, 1 to 1,000,000. Default 1,000. */
  readonly maxQueue?: number | undefined;
  /**
   * Returns other numbers for a key. The declared numbers apply if it fails or returns an invalid number, and in place
   * of numbers that it omits. Called often, so it must be fast.
   */
  readonly plan?: ((key: string) => ShaperPlan | undefined) | undefined;
}

interface WithoutPace {
  /** Only for shapers with one pace. */
  readonly limit?: undefined;
  /** Only for shapers with one pace. */
  readonly window?: undefined;
  /** Only for shapers with one pace. */
  readonly burst?: undefined;
}

/** A shaper with one pace, with or without `maxConcurrent`. */
export interface OnePaceOptions extends QueueOptions, PaceNumbers {
  readonly paces?: undefined;
}

/** A shaper with several paces, such as requests and tokens per minute. A job starts when all of them allow it. */
export interface SeveralPacesOptions<Pace extends string = string>
  extends QueueOptions,
    WithoutPace {
  /** The paces by name, at most 8. A name has 1 to 16 letters, digits, `_` and `-`, and is not `permits`. */
  readonly paces: { readonly [Name in Pace]: PaceNumbers };
}

/** A shaper without a pace. */
export interface ConcurrencyOptions extends QueueOptions, WithoutPace {
  readonly maxConcurrent: number;
  readonly paces?: undefined;
}

/** Options of a shaper: a pace, several paces or `maxConcurrent`, and the options of every shaper. */
export type ShaperOptions = OnePaceOptions | SeveralPacesOptions | ConcurrencyOptions;

/** Numbers for one key, in place of the declared ones. */
export interface ShaperPlan extends Partial<PaceNumbers> {
  readonly maxConcurrent?: number | undefined;
  readonly paces?: { readonly [Name in string]?: Partial<PaceNumbers> } | undefined;
}

/** Where a shaper stores its pace, and what it does when the store fails. */
export interface ShaperSettings
  extends Omit<KeyedLimiterOptions<Store>, 'onStoreError' | 'denialCache'>,
    Pick<HintOptions, 'random'> {
  /**
   * When the store fails, `local` (default) continues in this process at `localShare` of the pace. `deny` grants no
   * slots: reservations and jobs that need one are rejected at once. With `maxConcurrent`, jobs instead wait for the
   * store, for at most `maxWait`.
   */
  readonly onStoreError?: 'local' | 'deny' | undefined;
  /**
   * With `onStoreError: 'local'`: this process's share of the pace and of `maxConcurrent` while the store fails, above
   * 0 up to 1. Required with an asynchronous store.
   */
  readonly localShare?: number | undefined;
  /**
   * Live settings: `limit`, `window`, `factor`, `allPlans` and blocked keys. Others do not apply to shapers. Default:
   * none.
   */
  readonly control?: Control | undefined;
  /**
   * Called for each job that starts or is rejected, and for each reservation, but not for rejections by a closed
   * shaper. Hash the key before you log it: see `Observer`.
   */
  readonly onDecision?: ((event: DecisionEvent, key: string | undefined) => void) | undefined;
}

const PACE_NUMBERS: NamesOf<PaceNumbers> = { limit: 1, window: 1, burst: 1 };

const SHAPER_OPTIONS: NamesOf<OnePaceOptions> = {
  ...PACE_NUMBERS,
  name: 1,
  paces: 1,
  maxConcurrent: 1,
  lease: 1,
  maxWait: 1,
  maxQueue: 1,
  plan: 1,
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

export interface DeclaredPace extends PaceNumbers {
  /** The name of the pace in `paces`; undefined without `paces`. */
  readonly label: string | undefined;
  /** The name of the pace in the store and in live settings. */
  readonly name: string;
}

export interface ShaperConfig {
  readonly name: string;
  readonly paces: readonly DeclaredPace[];
  /**
   * Whether no pace was declared. The shaper then has one unlimited pace, because pauses are stored with the count of a
   * pace.
   */
  readonly isUnlimited: boolean;
  readonly maxConcurrent: number | undefined;
  readonly leaseUs: number;
  readonly waitUs: number;
  readonly maxQueue: number;
  readonly plan: QueueOptions['plan'];
  readonly random: () => number;
}

/** A pace too fast to delay anything. */
const UNLIMITED: PaceNumbers = { limit: 1_000_000_000, window: 1, burst: 1_000_000_000 };

const MAX_PACES = 8;

export function readOptions(options: ShaperOptions, settings: ShaperSettings): ShaperConfig {
  checkOptions(options, 'createShaper()', SHAPER_OPTIONS, ['its second argument', SHAPER_SETTINGS]);
  const { maxConcurrent, lease = '30s', maxWait = '30s', maxQueue = 1_000, plan } = options;
  if (maxConcurrent !== undefined) checkLimit('maxConcurrent', maxConcurrent);
  const leaseUs = durationBetween('lease', lease, '1s', '24h');
  const waitUs = durationBetween('maxWait', maxWait, '0ms', '400d');
  integerBetween('maxQueue', maxQueue, 1, 1_000_000);
  checkCallback('plan', plan);
  const declared = readPaces(options);
  checkSettings(settings);
  if (settings.store && options.name === undefined) {
    throw new SpillwayError(
      'SPW_NAME_REQUIRED',
      'name is required with a store: it identifies the pace there, so that no other meets its counts',
    );
  }
  const name = checkName(options.name === undefined ? defaultName(options) : options.name);
  if (maxConcurrent !== undefined) checkName(`${name}/permits`);
  const paces = declared.map((pace): DeclaredPace => {
    const own = pace.label === undefined ? name : checkName(`${name}/${pace.label}`);
    return { ...pace, name: own };
  });
  const isUnlimited = declared[0] === UNLIMITED_PACE;
  const notices = isUnlimited
    ? []
    : paces.flatMap((pace) => shortWindow('shaper', pace.name, pace.window));
  tellOfLimiters(new Notices(settings), [{ name, notices }], 0);
  const random = randomOf(settings);
  return { name, paces, isUnlimited, maxConcurrent, leaseUs, waitUs, maxQueue, plan, random };
}

type Labelled = PaceNumbers & Pick<DeclaredPace, 'label'>;

const UNLIMITED_PACE: Labelled = { ...UNLIMITED, label: undefined };

function readPaces(options: ShaperOptions): readonly Labelled[] {
  const { paces, limit, window, burst, maxConcurrent } = options;
  if (paces === undefined) {
    const hasPace = limit !== undefined || window !== undefined || burst !== undefined;
    if (!hasPace && maxConcurrent !== undefined) return [UNLIMITED_PACE];
    return [{ ...checkPace({ limit, window, burst } as PaceNumbers), label: undefined }];
  }
  if (limit !== undefined || window !== undefined || burst !== undefined) {
    throw mustBe('paces', 'given without limit, window and burst', paces);
  }
  if (typeof paces !== 'object' || paces === null || Array.isArray(paces)) {
    throw mustBe('paces', 'an object, as in { requests: { limit: 500, window: "1m" } }', paces);
  }
  const labels = Object.keys(paces);
  if (labels.length === 0 || labels.length > MAX_PACES) {
    throw mustBe('paces', `an object with 1 to ${MAX_PACES} paces`, paces);
  }
  return labels.map((label) => {
    if (!/^[\w-]{1,16}$/.test(label) || label === 'permits') {
      throw mustBe('the name of a pace', '1 to 16 letters, digits, _ and -', label);
    }
    const pace = paces[label] as PaceNumbers;
    checkOptions(pace, `the pace "${label}"`, PACE_NUMBERS);
    return { ...checkPace(pace), label };
  });
}

function checkPace({ limit, window, burst = 1 }: PaceNumbers): PaceNumbers {
  checkLimit('limit', limit);
  windowToMicroseconds(window);
  checkBurst(burst);
  return { limit, window, burst };
}

function defaultName({ paces, limit, window, maxConcurrent }: ShaperOptions): string {
  if (paces) return Object.keys(paces).join('+');
  if (limit === undefined) return `${maxConcurrent}-at-once`;
  return nameOf({ limit, window: window as Duration });
}

function checkSettings(settings: ShaperSettings): void {
  const first = ['its first argument', SHAPER_OPTIONS] as const;
  checkOptions(settings, 'the second argument of createShaper()', SHAPER_SETTINGS, first);
  checkClientOptions(settings);
  const { store, onStoreError, localShare } = settings;
  oneOf('onStoreError', onStoreError, ['local', 'deny']);
  const mayFail = store !== undefined && !store.sync && onStoreError !== 'deny';
  if (mayFail && localShare === undefined) {
    const what = `a share of the pace for when the store does not answer (1 / 8 in each of eight processes), unless onStoreError is 'deny'`;
    throw mustBe('localShare', what, localShare);
  }
}
