/** Store decorator: a store that does not answer is not waited for; a question in the background finds out when it is back. */

import { type Clock, systemClock } from '../clock.js';
import { isSpillwayError, SpillwayError } from '../errors.js';
import type { BreakerEvent } from '../guard/observer.js';
import { afterIdly, disregard, isLater } from '../host.js';
import { makeRule } from '../rule.js';
import type { Answer, ApplyOptions, Step, Store } from '../store.js';
import type { Logger } from './stack.js';

export interface BreakerSettings {
  /** Calls in a row that must fail before the store is taken for down. */
  readonly failures: number;
  /** How often, at most, it is asked meanwhile whether it is back, in microseconds. */
  readonly probeUs: number;
}

type Listener = (event: BreakerEvent) => void;
type Ask = () => ReturnType<Store['apply']>;

/** A question that has been under way so long is lost: on some hosts a promise ends with the request that made it. */
const LOST_US = 5_000_000;

/** The store is asked by itself for so long after somebody last wanted it. */
const WANTED_US = 10_000_000;

/** Charges something, for a second, that nobody counts: a store that can only read, or has no memory left, is not back. */
const PROBE: Omit<Step, 'key'> = {
  op: 'take',
  limiter: 'spillway',
  rule: makeRule('fixed-window', 1_000_000, 1_000_000),
  cost: 1,
  binding: false,
};

/** What all guards of one store know of it. */
export class Breaker {
  private failures = 0;
  private openedUs: number | undefined;
  private probedUs = 0;
  private probing = false;
  /** Whether the store is back: asked of whoever failed, for a store may be several servers. */
  private ask: Ask | undefined;
  /** When somebody last asked for what the store knows. */
  private wantedUs = 0;
  /** How often it has closed: what was asked before says nothing about the store that is back. */
  private times = 0;
  private readonly listeners = new Set<Listener>();
  private readonly loggers = new Set<Logger>();

  constructor(
    private readonly settings: BreakerSettings,
    private readonly clock: Clock,
  ) {}

  get isOpen(): boolean {
    return this.openedUs !== undefined;
  }

  listen(listener: Listener): void {
    this.listeners.add(listener);
  }

  /** Tells `logger` of each outage once, however many guards have it. */
  tellOnce(logger: Logger): void {
    if (this.loggers.has(logger)) return;
    this.loggers.add(logger);
    this.listen(({ state, openMs, error }) =>
      logger.warn(
        state === 'open'
          ? `Spillway: the store does not decide (${error?.message}). Until it does, onStoreError decides.`
          : `Spillway: the store decides again, after ${(openMs / 1000).toFixed(1)} s.`,
      ),
    );
  }

  succeeded(): void {
    if (!this.isOpen) this.failures = 0;
  }

  /** What {@link failed} is told of a call that is asked now. */
  get era(): number {
    return this.times;
  }

  failed(error: Error, era: number, ask: Ask): void {
    if (this.isOpen || era !== this.times) return;
    this.failures += 1;
    if (this.failures < this.settings.failures) return;
    this.openedUs = this.clock.nowUs();
    this.probedUs = this.openedUs;
    this.wantedUs = this.openedUs;
    this.ask = ask;
    this.tell({ state: 'open', openMs: 0, error });
    this.probeLater();
  }

  /** Somebody would have asked the store: asks it whether it is back, unless it was asked a moment ago. */
  probe(): void {
    this.wantedUs = this.clock.nowUs();
    this.probeNow();
  }

  private probeNow(): void {
    const sinceUs = this.clock.nowUs() - this.probedUs;
    const { ask } = this;
    if (!this.isOpen || !ask || sinceUs < this.settings.probeUs) return;
    if (this.probing && sinceUs < LOST_US) return;
    this.probing = true;
    this.probedUs = this.clock.nowUs();
    Promise.resolve()
      .then(ask)
      .then(
        () => this.close(),
        () => undefined,
      )
      .then(() => {
        this.probing = false;
        this.probeLater();
      });
  }

  /** So that the store is found back in time also by requests that are few. */
  private probeLater(): void {
    if (!this.isOpen || this.clock.nowUs() - this.wantedUs > WANTED_US) return;
    afterIdly(Math.ceil(this.settings.probeUs / 1000) + 1, () => this.probeNow());
  }

  private close(): void {
    if (this.openedUs === undefined) return;
    const openMs = (this.clock.nowUs() - this.openedUs) / 1000;
    this.openedUs = undefined;
    this.failures = 0;
    this.times += 1;
    this.tell({ state: 'closed', openMs });
  }

  private tell(event: BreakerEvent): void {
    for (const listener of this.listeners) {
      try {
        disregard(listener(event));
      } catch {
        // A logger that fails must not change what is decided.
      }
    }
  }
}

const BREAKER = Symbol('spillway.breaker');

/** The one breaker of a store, whoever uses it; the first to ask chooses its settings. */
export function breakerOf(
  store: Store,
  settings: BreakerSettings,
  clock: Clock = systemClock,
): Breaker {
  const owner = store as Store & { [BREAKER]?: Breaker };
  if (!owner[BREAKER]) {
    Object.defineProperty(owner, BREAKER, { value: new Breaker(settings, clock) });
  }
  return owner[BREAKER] as Breaker;
}

/** Rejects at once with `SPW_STORE_UNAVAILABLE` while `breaker` is open. */
export function withBreaker(store: Store, breaker: Breaker): Store {
  return store.sync ? store : new BreakerStore(store, breaker);
}

class BreakerStore implements Store {
  readonly sync = false;

  constructor(
    private readonly store: Store,
    private readonly breaker: Breaker,
  ) {}

  apply(steps: readonly Step[], options?: ApplyOptions): ReturnType<Store['apply']> {
    const { breaker } = this;
    if (breaker.isOpen) {
      breaker.probe();
      return Promise.reject(
        new SpillwayError('SPW_STORE_UNAVAILABLE', 'the store did not answer and is not asked'),
      );
    }
    // What nobody waits for has a deadline of its own, and no say in whether others wait.
    if (options?.background) return this.store.apply(steps, options);
    const { era } = breaker;
    let answers: ReturnType<Store['apply']>;
    try {
      answers = this.store.apply(steps, options);
    } catch (error) {
      this.note(error, era, steps);
      throw error;
    }
    return isLater(answers) ? this.watch(answers, era, steps) : answers;
  }

  private watch(
    answers: Promise<readonly Answer[]>,
    era: number,
    steps: readonly Step[],
  ): Promise<readonly Answer[]> {
    return answers.then(
      (value) => {
        this.breaker.succeeded();
        return value;
      },
      (error: unknown) => {
        this.note(error, era, steps);
        throw error;
      },
    );
  }

  /**
   * `SPW_STORE_ERROR` is about this call only, such as a value that is not ours: the store decides for others. All else would fail
   * the next call too.
   */
  private note(thrown: unknown, era: number, steps: readonly Step[]): void {
    if (isSpillwayError(thrown) && thrown.code === 'SPW_STORE_ERROR') {
      this.breaker.succeeded();
      return;
    }
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    // The same keys: in a cluster, they lie where it failed.
    const probe = (): readonly Step[] => steps.map(({ key }) => ({ ...PROBE, key }));
    this.breaker.failed(error, era, () => this.store.apply(probe()));
  }
}
