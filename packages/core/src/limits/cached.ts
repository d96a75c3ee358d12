import { checkOptions } from '../base/check-shapes.js';
import {
  checkCallback,
  checkClock,
  checkKey,
  durationBetween,
  integerBetween,
} from '../base/checks.js';
import { type Clock, systemClock } from '../base/clock.js';
import type { Duration } from '../base/duration.js';
import { disregard, type Eventually, isThenable, outside } from '../base/host.js';
import type { NamesOf } from '../base/option-names.js';
import { within } from '../base/within.js';

/** Options of {@link cached}. */
export interface CachedOptions {
  /** How long a value is fresh: 1 ms to 24 h. Default `'30s'`. */
  readonly ttl?: Duration | undefined;
  /**
   * How long after `ttl` calls still return the stale value, while it is reloaded in the background: 0 ms to 7 d. After
   * that, callers wait for the load. Default `'5m'`.
   */
  readonly staleFor?: Duration | undefined;
  /** The most keys in the cache: an integer from 2 to 1,000,000. Default 10,000. */
  readonly max?: number | undefined;
  /** The most loads at a time: an integer from 1 to 1,000. Default 8. */
  readonly concurrent?: number | undefined;
  /** Source of time, for tests. Default: the process's monotonic clock. */
  readonly clock?: Clock | undefined;
}

/** A function that returns cached values; made by {@link cached}. */
export interface Cached<Value> {
  /**
   * Returns the value of a key, if it is cached or `load` returns it without a promise. Otherwise returns a promise,
   * which rejects if the load fails. A key is a string of 1 to 8,192 UTF-16 units; anything else throws
   * `SPW_KEY_INVALID`.
   */
  (key: string): Eventually<Value>;
  /**
   * Evicts the key, so that the next call loads it. The result of a running load is not cached. Other processes reload
   * the key after `ttl`.
   */
  invalidate(key: string): void;
  invalidateAll(): void;
  /**
   * The age in milliseconds of the oldest value that was returned recently (in the last one to two minutes), for a
   * gauge.
   */
  readonly oldestMs: number;
}

const NAMES: NamesOf<CachedOptions> = { ttl: 1, staleFor: 1, max: 1, concurrent: 1, clock: 1 };

/** A load that takes longer than this counts as failed, and another load may run in its place. */
const LOAD_MS = 5_000;
/** How long to wait after a failed load before the key is loaded again. */
const PAUSE_US = 1_000_000;
const GAUGE_US = 60_000_000;

/**
 * Makes a function that loads values through a cache, for callbacks that query a database, such as for a tenant's plan.
 * Concurrent calls for a key share one load. A load fails after 5 s. After a failed load, the key can be loaded again a
 * second later. `undefined` is cached like any value. Loads run outside of any request's async context.
 *
 * The method follows RFC 5861, sections 3 and 4 (`stale-while-revalidate` and `stale-if-error`).
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts run
 * import { cached } from '@spillway/core';
 *
 * const plans = new Map([['acme', 500]]); // a table of your database
 * const limitOf = cached(async (tenant) => plans.get(tenant), { ttl: '1m' });
 *
 * await limitOf('acme'); // 500
 * limitOf('acme'); // 500
 * plans.set('acme', 900);
 * limitOf.invalidate('acme');
 * await limitOf('acme'); // 900
 * ```
 */
export function cached<Value>(
  load: (key: string) => Value | PromiseLike<Value>,
  options: CachedOptions = {},
): Cached<Value> {
  const cache = new Cache(load, options);
  const get = (key: string): Eventually<Value> => cache.get(key);
  Object.defineProperty(get, 'oldestMs', { get: () => cache.oldestMs, enumerable: true });
  return Object.assign(get as Cached<Value>, {
    invalidate: (key: string) => cache.invalidate(key),
    invalidateAll: () => cache.invalidateAll(),
  });
}

interface Entry<Value> {
  kept: { readonly value: Value; readonly atUs: number } | undefined;
  load: Load<Value> | undefined;
  failed: { readonly error: unknown; readonly atUs: number } | undefined;
}

interface Load<Value> {
  readonly value: Promise<Value>;
  startUs: number;
}

type Entries<Value> = Map<string, Entry<Value>>;

class Cache<Value> {
  private readonly load: (key: string) => Value | PromiseLike<Value>;
  private readonly clock: Clock;
  private readonly ttlUs: number;
  private readonly staleUs: number;
  private readonly half: number;
  private readonly concurrent: number;
  // Two generations approximate LRU. Used keys move to `recent`. When `recent` holds half of `max`, it replaces
  // `before`, and the old keys are dropped.
  private recent: Entries<Value> = new Map();
  private before: Entries<Value> = new Map();
  private readonly running = new Set<Load<Value>>();
  private readonly waiting: (() => void)[] = [];
  private readonly ages: [us: number, us: number] = [0, 0];
  private agesUs = -Infinity;

  constructor(load: (key: string) => Value | PromiseLike<Value>, options: CachedOptions) {
    checkOptions(options, 'cached()', NAMES);
    checkCallback('load', load ?? null);
    checkClock(options.clock);
    const { ttl = '30s', staleFor = '5m', max = 10_000, concurrent = 8 } = options;
    this.load = load;
    this.clock = options.clock ?? systemClock;
    this.ttlUs = durationBetween('ttl', ttl, '1ms', '24h');
    this.staleUs = this.ttlUs + durationBetween('staleFor', staleFor, '0ms', '7d');
    this.half = Math.floor(integerBetween('max', max, 2, 1_000_000) / 2);
    this.concurrent = integerBetween('concurrent', concurrent, 1, 1_000);
  }

  get(key: string): Eventually<Value> {
    checkKey(key);
    const nowUs = this.clock.nowUs();
    const entry = this.entryOf(key);
    const { kept } = entry;
    const ageUs = kept ? nowUs - kept.atUs : Infinity;
    if (!kept || ageUs >= this.staleUs) return this.loaded(key, entry, nowUs);
    if (ageUs >= this.ttlUs && this.mayLoad(entry, nowUs) && this.hasRoom(nowUs)) {
      disregard(this.beginLoad(key, entry));
    }
    const { value, atUs } = entry.kept ?? kept; // a load that answers at once has replaced it
    this.noteAge(nowUs, nowUs - atUs);
    return value;
  }

  invalidate(key: string): void {
    // A running load writes its result to its old entry, which is no longer in the cache.
    this.recent.delete(key);
    this.before.delete(key);
  }

  invalidateAll(): void {
    this.recent.clear();
    this.before.clear();
  }

  get oldestMs(): number {
    this.noteAge(this.clock.nowUs(), 0);
    return Math.max(...this.ages) / 1_000;
  }

  private entryOf(key: string): Entry<Value> {
    const known = this.recent.get(key);
    if (known) return known;
    const entry = this.before.get(key) ?? { kept: undefined, load: undefined, failed: undefined };
    if (this.recent.size >= this.half) {
      this.before = this.recent;
      this.recent = new Map();
    }
    this.recent.set(key, entry);
    return entry;
  }

  private loaded(key: string, entry: Entry<Value>, nowUs: number): Eventually<Value> {
    if (this.mayLoad(entry, nowUs)) return this.beginLoad(key, entry);
    return entry.load?.value ?? Promise.reject(entry.failed?.error);
  }

  private mayLoad({ load, failed }: Entry<Value>, nowUs: number): boolean {
    if (load) return this.isLost(load, nowUs);
    return !failed || nowUs - failed.atUs >= PAUSE_US;
  }

  /** Whether a load is overdue: on Workers, a load stops with its request and may never settle. */
  private isLost({ startUs }: Load<Value>, nowUs: number): boolean {
    return nowUs - startUs > 2_000 * LOAD_MS;
  }

  private hasRoom(nowUs: number): boolean {
    if (this.running.size < this.concurrent) return true;
    for (const load of this.running) if (this.isLost(load, nowUs)) this.running.delete(load);
    return this.running.size < this.concurrent;
  }

  private beginLoad(key: string, entry: Entry<Value>): Eventually<Value> {
    const startUs = this.clock.nowUs();
    if (!this.hasRoom(startUs)) return this.queued(key, entry);
    let own: Value | PromiseLike<Value>;
    try {
      own = outside(() => this.load(key));
    } catch (error) {
      return this.keepError(entry, error);
    }
    if (!isThenable(own)) return this.keepValue(entry, own as Value, startUs);
    return this.follow(entry, own as PromiseLike<Value>, startUs);
  }

  private follow(entry: Entry<Value>, own: PromiseLike<Value>, startUs: number): Promise<Value> {
    const value = within(LOAD_MS, own).then((result) => {
      if (entry.load === load) entry.load = undefined;
      this.running.delete(load);
      this.waiting.shift()?.();
      return 'value' in result
        ? this.keepValue(entry, result.value, startUs)
        : this.keepError(entry, result.error);
    });
    const load: Load<Value> = { value, startUs };
    entry.load = load;
    this.running.add(load);
    return value;
  }

  private queued(key: string, entry: Entry<Value>): Promise<Value> {
    if (this.waiting.length >= 2 * this.half) {
      return this.keepError(entry, new Error(`more than ${2 * this.half} keys wait to be loaded`));
    }
    const value = new Promise<void>((resolve) => this.waiting.push(resolve)).then(() => {
      entry.load = undefined;
      const loaded = this.beginLoad(key, entry);
      if (!entry.load) this.waiting.shift()?.(); // it ended at once, so no end of a load wakes the next
      return loaded;
    });
    entry.load = { value, startUs: Infinity };
    return value;
  }

  private keepValue(entry: Entry<Value>, value: Value, atUs: number): Value {
    entry.kept = { value, atUs };
    entry.failed = undefined;
    return value;
  }

  private keepError(entry: Entry<Value>, error: unknown): Promise<never> {
    entry.failed = { error, atUs: this.clock.nowUs() };
    return Promise.reject(error);
  }

  private noteAge(nowUs: number, ageUs: number): void {
    const minutes = Math.floor((nowUs - this.agesUs) / GAUGE_US);
    if (minutes >= 1) {
      this.ages[1] = minutes === 1 ? this.ages[0] : 0;
      this.ages[0] = 0;
      this.agesUs = Number.isFinite(this.agesUs) ? this.agesUs + minutes * GAUGE_US : nowUs;
    }
    this.ages[0] = Math.max(this.ages[0], ageUs);
  }
}
