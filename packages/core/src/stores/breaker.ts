/** What all who use one store know of its outages: which parts of it do not answer, and need not be waited for. */

import { type Clock, systemClock } from '../base/clock.js';
import { asError, isSpillwayError } from '../base/errors.js';
import { disregard } from '../base/host.js';
import type { BreakerEvent } from '../contract/observer.js';
import type { Step, Store } from '../contract/store.js';
import { domainOf } from './domain.js';
import { Outage, unasked } from './outage.js';
import { OutageLog } from './outage-log.js';
import { type Host, Probe } from './probe.js';
import type { Asker } from './probe-step.js';

export interface BreakerSettings {
  /** Calls in a row that must fail before a part of the store is taken for down. */
  readonly failures: number;
  /** How often, at most, it is asked meanwhile whether it is back, in microseconds. */
  readonly probeUs: number;
}

type Listener = (event: BreakerEvent) => void;

/** More parts than any cluster has: beyond it, all others are one. */
const MOST_PARTS = 1_000;

export class Breaker {
  readonly log: OutageLog;
  /** Of the parts that have failed since they last answered; a part that is well has none. */
  private readonly outages = new Map<string, Outage>();
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
   * Why a step need not be asked; undefined if it should be. Later, if this request is the one that asks whether the
   * store is back: what is in the background never does.
   */
  bar(step: Step, host?: Host, background = false): Error | undefined | Promise<Error | undefined> {
    const outage = this.outageOf(step);
    if (!outage?.isOpen) return undefined;
    if (background) return unasked();
    const answered = outage.knock(host);
    if (!answered) return unasked();
    return answered.then(() => (this.outageOf(step)?.isOpen ? unasked() : undefined));
  }

  succeeded(step: Step): void {
    if (this.outages.size === 0) return;
    const part = this.partOf(step);
    if (this.outages.get(part)?.isOpen === false) this.outages.delete(part);
  }

  /** @param era {@link era} when the step was asked */
  failed(step: Step, thrown: unknown, era: number, asker: Asker): void {
    if (era !== this.closings || isOfTheCall(thrown)) return;
    const part = this.partOf(step);
    const outage = this.outages.get(part) ?? new Outage();
    if (outage.isOpen) return;
    this.outages.set(part, outage);
    outage.failures += 1;
    if (outage.failures < this.settings.failures) return;
    const error = asError(thrown);
    outage.open(this.probe(part, step.key, asker), this.clock.nowUs());
    this.log.opened(part, error);
    this.tell({ state: 'open', openMs: 0, error, ...named(part) });
  }

  private probe(part: string, key: string, asker: Asker): Probe {
    return new Probe({
      asker,
      key,
      everyUs: this.settings.probeUs,
      clock: this.clock,
      back: () => this.close(part),
      failed: (error) => this.log.stillDown(part, error),
    });
  }

  private close(part: string): void {
    const outage = this.outages.get(part);
    if (!outage) return;
    const openMs = outage.end(this.clock.nowUs());
    this.outages.delete(part);
    this.closings += 1;
    this.log.closed(part, openMs);
    this.tell({ state: 'closed', openMs, ...named(part) });
  }

  private outageOf(step: Step): Outage | undefined {
    return this.outages.size === 0 ? undefined : this.outages.get(this.partOf(step));
  }

  private partOf(step: Step): string {
    const part = domainOf(this.store, step);
    return this.outages.size < MOST_PARTS || this.outages.has(part) ? part : '';
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

function named(part: string): { part?: string } {
  return part === '' ? {} : { part };
}

/**
 * Whether an error says nothing about the next call: it was made before sending, or is about what this call asked for.
 */
function isOfTheCall(error: unknown): boolean {
  if (!isSpillwayError(error)) return false;
  return error.code !== 'SPW_STORE_TIMEOUT' && error.code !== 'SPW_STORE_UNAVAILABLE';
}
