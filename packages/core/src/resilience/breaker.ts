/** Store decorator: a store that does not answer is not waited for; a question in the background finds out when it is back. */

import { type Clock, systemClock } from '../clock.js';
import { isSpillwayError, SpillwayError } from '../errors.js';
import type { BreakerEvent } from '../guard/observer.js';
import { isLater } from '../host.js';
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

/** Asks for a key that nobody counts, and changes nothing. */
const PROBE: readonly Step[] = [
  {
    op: 'look',
    limiter: 'spillway',
    key: 'probe',
    rule: makeRule('fixed-window', 1, 1_000_000),
    cost: 1,
    binding: false,
  },
];

/** What all guards of one store know of it. */
export class Breaker {
  private failures = 0;
  private openedUs: number | undefined;
  private probedUs = 0;
  private probing = false;
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
          ? `Spillway: the store does not answer (${error?.message}). Requests are decided without it, by onStoreError, until it does.`
          : `Spillway: the store answers again, after ${(openMs / 1000).toFixed(1)} s.`,
      ),
    );
  }

  succeeded(): void {
    if (!this.isOpen) this.failures = 0;
  }

  failed(error: Error): void {
    this.failures += 1;
    if (this.isOpen || this.failures < this.settings.failures) return;
    this.openedUs = this.clock.nowUs();
    this.probedUs = this.openedUs;
    this.tell({ state: 'open', openMs: 0, error });
  }

  /** Asks the store whether it is back, unless it was asked a moment ago. */
  probe(ask: () => ReturnType<Store['apply']>): void {
    const nowUs = this.clock.nowUs();
    if (this.probing || nowUs - this.probedUs < this.settings.probeUs) return;
    this.probing = true;
    this.probedUs = nowUs;
    Promise.resolve()
      .then(ask)
      .then(
        () => this.close(),
        () => undefined,
      )
      .finally(() => {
        this.probing = false;
      });
  }

  private close(): void {
    if (this.openedUs === undefined) return;
    const openMs = (this.clock.nowUs() - this.openedUs) / 1000;
    this.openedUs = undefined;
    this.failures = 0;
    this.tell({ state: 'closed', openMs });
  }

  private tell(event: BreakerEvent): void {
    for (const listener of this.listeners) {
      try {
        listener(event);
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
      breaker.probe(() => this.store.apply(PROBE));
      return Promise.reject(
        new SpillwayError('SPW_STORE_UNAVAILABLE', 'the store did not answer and is not asked'),
      );
    }
    let answers: ReturnType<Store['apply']>;
    try {
      answers = this.store.apply(steps, options);
    } catch (error) {
      this.note(error);
      throw error;
    }
    return isLater(answers) ? this.watch(answers) : answers;
  }

  private watch(answers: Promise<readonly Answer[]>): Promise<readonly Answer[]> {
    return answers.then(
      (value) => {
        this.breaker.succeeded();
        return value;
      },
      (error: unknown) => {
        this.note(error);
        throw error;
      },
    );
  }

  /** An error that the store itself answered with came at once: it costs nobody time, and may be of one key only. */
  private note(error: unknown): void {
    if (isSpillwayError(error) && error.code === 'SPW_STORE_ERROR') this.breaker.succeeded();
    else this.breaker.failed(error instanceof Error ? error : new Error(String(error)));
  }
}
