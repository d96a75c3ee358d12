/** What all who use one store know of its outages: which parts of it do not answer, and need not be waited for. */

import { type Clock, systemClock } from '../base/clock.js';
import { asError, isSpillwayError } from '../base/errors.js';
import { disregard } from '../base/host.js';
import type { BreakerEvent } from '../contract/observer.js';
import type { Step, Store } from '../contract/store.js';
import { domainOf } from './domain.js';
import { Health, unasked } from './health.js';
import { OutageLog, type Told } from './outage-log.js';
import { type Host, Probe } from './probe.js';
import type { Asker } from './probe-step.js';
import { Stalls } from './stalls.js';

export interface BreakerSettings {
  /** Calls in a row that must fail before a part of the store is taken for down. */
  readonly failures: number;
  /** How often, at most, it is asked meanwhile whether it is back, in microseconds. */
  readonly probeUs: number;
  /** From which time on a call is slow, in microseconds. Default: 10 ms above the median of the part. */
  readonly slowUs?: number | undefined;
}

type Listener = (event: BreakerEvent) => void;

/** More parts than any cluster has: so many that are well are known, and as many that are not. */
const MOST_PARTS = 1_000;

/** So many other parts must fail, with no answer of another one between, before all others are taken for down. */
const OTHER_PARTS = 20;

export class Breaker {
  readonly log: OutageLog;
  /** Of calls that are under way: a store is not slow because this process stood still. */
  readonly stalls: Stalls = new Stalls();
  /** Parts in which nothing failed or was slow lately, the oldest first. */
  private readonly well = new Map<string, Health>();
  /** The other parts, the one that failed last at the end. */
  private readonly unwell = new Map<string, Health>();
  /** Parts that failed when all in {@link unwell} were open: one of them alone says nothing about the rest. */
  private readonly failedElsewhere = new Set<string>();
  /** All parts that are not in {@link unwell}, while they are taken for down. */
  private elsewhere: Health | undefined;
  private readonly listeners = new Set<Listener>();
  private closings = 0;
  private readonly store: Pick<Store, 'domainOf' | 'label'>;
  private readonly settings: BreakerSettings;
  private readonly clock: Clock;

  /** @param store whose it is: only asked for its parts and its name */
  constructor(
    store: Pick<Store, 'domainOf' | 'label'>,
    settings: BreakerSettings,
    clock: Clock = systemClock,
  ) {
    this.store = store;
    this.settings = settings;
    this.clock = clock;
    this.log = new OutageLog(() => store.label ?? 'the store', clock);
  }

  /** Told when a part is taken for down, and when it is back. */
  listen(listener: Listener): void {
    this.listeners.add(listener);
  }

  /**
   * What {@link failed} is told of a call that is asked now: what was asked before says nothing about a store that is
   * back.
   */
  get era(): number {
    return this.closings;
  }

  /**
   * Why steps of one part need not be asked; undefined if they should be. Later, if this request is the one that asks
   * whether the store is back: what is in the background never does. A part that answers, though slowly, is asked what
   * only it can say: about claims, and what is given back.
   */
  bar(
    steps: readonly Step[],
    host?: Host,
    background = false,
  ): Error | undefined | Promise<Error | undefined> {
    const step = steps[0] as Step;
    const health = this.openAt(step);
    if (!health) return undefined;
    if (health.isSick && (background || steps.some(({ claim }) => claim))) return undefined;
    if (background) return unasked();
    const answered = health.knock(host, step.key);
    if (!answered) return unasked();
    return answered.then(() => (this.openAt(step) ? unasked() : undefined));
  }

  /** @param tookUs how long the store took; undefined if that says nothing about it */
  succeeded(step: Step, tookUs: number | undefined, asker: Asker): void {
    const part = domainOf(this.store, step);
    const health = this.unwell.get(part) ?? this.well.get(part) ?? this.newPart(part);
    if (health.isOpen) return;
    if (!this.failedElsewhere.has(part)) this.failedElsewhere.clear();
    const nowUs = this.clock.nowUs();
    health.answered(tookUs, nowUs, this.settings.slowUs);
    if (health.isWell(nowUs)) {
      if (this.unwell.delete(part)) this.keepWell(part, health);
    } else if (this.keepUnwell(part, health)) {
      const sickness = health.sickness(nowUs);
      if (sickness?.kind === 'slow') this.open(health, sickness, part, step.key, asker);
    }
  }

  /** @param era {@link era} when the step was asked */
  failed(step: Step, thrown: unknown, era: number, asker: Asker): void {
    if (era !== this.closings || isOfTheCall(thrown)) return;
    const part = domainOf(this.store, step);
    const nowUs = this.clock.nowUs();
    const health = this.unwell.get(part) ?? this.well.get(part) ?? new Health();
    if (health.isOpen) return;
    const failures = health.fail(nowUs);
    if (!this.keepUnwell(part, health)) {
      this.failedElsewhere.add(part);
      if (this.failedElsewhere.size < OTHER_PARTS || this.elsewhere) return;
      this.elsewhere = new Health();
      this.open(this.elsewhere, asError(thrown), undefined, step.key, asker);
      return;
    }
    const isDown = failures >= this.settings.failures || isUnavailable(thrown);
    const error = isDown ? asError(thrown) : health.sickness(nowUs, thrown);
    if (error) this.open(health, error, part, step.key, asker);
  }

  /** @param part undefined: all that are not in {@link unwell} */
  private open(
    health: Health,
    error: Error & { readonly kind?: string },
    part: string | undefined,
    key: string,
    asker: Asker,
  ): void {
    const { settings, clock } = this;
    const told = this.log.opened(part, error);
    const probe = new Probe({
      asker,
      key,
      // One that fails must not keep all others away.
      asksLastKey: part === undefined,
      everyUs: settings.probeUs,
      clock,
      stalls: this.stalls,
      answered: (tookUs) => {
        if (!health.probed(tookUs, settings.slowUs)) return false;
        this.close(health, part, told);
        return true;
      },
      failed: (failure) => {
        health.probeFailed();
        this.log.stillDown(told, failure);
      },
    });
    const cause = health.open(error, probe, clock.nowUs());
    this.tell({ state: 'open', openMs: 0, error, cause, ...named(part) });
  }

  private close(health: Health, part: string | undefined, told: Told): void {
    const openMs = health.close(this.clock.nowUs());
    if (part === undefined) {
      this.elsewhere = undefined;
      this.failedElsewhere.clear();
    } else {
      this.unwell.delete(part);
      this.keepWell(part, health);
    }
    this.closings += 1;
    this.log.closed(told, openMs);
    this.tell({ state: 'closed', openMs, ...named(part) });
  }

  /** What is known of the part of a step that is not asked. */
  private openAt(step: Step): Health | undefined {
    if (this.unwell.size === 0) return undefined;
    const health = this.unwell.get(domainOf(this.store, step)) ?? this.elsewhere;
    return health?.isOpen ? health : undefined;
  }

  private newPart(part: string): Health {
    const health = new Health();
    this.keepWell(part, health);
    return health;
  }

  private keepWell(part: string, health: Health): void {
    const { well } = this;
    const [oldest] = well.keys();
    if (well.size >= MOST_PARTS && oldest !== undefined) well.delete(oldest);
    well.set(part, health);
  }

  /** False if there is no room: too many parts are open. */
  private keepUnwell(part: string, health: Health): boolean {
    const { unwell } = this;
    if (!unwell.delete(part) && unwell.size >= MOST_PARTS) {
      const oldest = [...unwell.keys()].find((name) => !unwell.get(name)?.isOpen);
      if (oldest === undefined) return false;
      unwell.delete(oldest);
    }
    this.well.delete(part);
    unwell.set(part, health);
    return true;
  }

  private tell(event: BreakerEvent): void {
    for (const listener of this.listeners) {
      try {
        disregard(listener(event));
      } catch {
        // A listener that fails must not change what is decided.
      }
    }
  }
}

/** The store has only one part, or all others are meant. */
function named(part = ''): { part?: string } {
  return part === '' ? {} : { part };
}

/**
 * Whether an error says nothing about the next call: it was made before sending, or is about what this call asked for.
 */
function isOfTheCall(error: unknown): boolean {
  if (!isSpillwayError(error)) return false;
  return error.code !== 'SPW_STORE_TIMEOUT' && error.code !== 'SPW_STORE_UNAVAILABLE';
}

/** Whether the store's client knows that nobody will answer: one more call would only cost time. */
function isUnavailable(error: unknown): boolean {
  return isSpillwayError(error) && error.code === 'SPW_STORE_UNAVAILABLE';
}
