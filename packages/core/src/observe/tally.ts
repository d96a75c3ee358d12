/**
 * Counts what guards report, for exporters of metrics to read when they are scraped: to increment a labelled counter of
 * prom-client takes as long as a decision in memory. So all exporters have the same numbers.
 */

import type { Control } from '../contract/control.js';
import type { Outcome, Reason } from '../contract/decision.js';
import type {
  BreakerEvent,
  DecisionEvent,
  Fault,
  Observer,
  Overflowing,
} from '../contract/observer.js';
import { readSafely, type Signal } from '../shed/load-signal.js';
import type { WorkerShedder } from '../shed/worker-shedder.js';

/** What has a value at every moment; read when metrics are collected. */
export interface Gauges {
  /** Guards, whose permits in progress are added up. */
  readonly guards?: readonly { readonly inProgress: number }[] | undefined;
  /** Worker shedders, told apart by name. */
  readonly shedders?:
    | readonly Pick<WorkerShedder, 'name' | 'shedAmount' | 'brakeFraction'>[]
    | undefined;
  /** Load signals, told apart by name. */
  readonly signals?: readonly Signal[] | undefined;
  /** Memory stores that no guard has; those of guards are added by `onStore`. */
  readonly stores?: readonly Overflowing[] | undefined;
}

/** The most series, in case a limiter of your own makes names or classes of what clients send. */
const SERIES = 10_000;
/** The limiter that stands for all others beyond them. */
const OTHERS = '(others)';

/** How many names of plans a limiter has as labels; the others are `other`. */
const PLANS = 32;
const OTHER_PLAN = 'other';

/** How many stores and controls are read; of older stores, the last number counts. */
const STORES = 1_000;

/** A number under its labels. */
export interface Sample<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}

interface Count<Label extends string> extends Sample<Label> {
  value: number;
}

type DecisionLabel = 'limiter' | 'outcome' | 'reason' | 'priority' | 'plan';

/** By limiter, outcome, reason, priority and plan. Five maps, so that no text need be made for each decision. */
type Counts = Map<
  string,
  Map<Outcome, Map<Reason | null, Map<string, Map<string, Count<DecisionLabel>>>>>
>;

/**
 * An observer that only counts, so that a request pays for an addition and not for an exporter. The metrics of
 * `@spillway/prometheus` and `@spillway/opentelemetry` are made of it; use it for exporters of your own. Labels have
 * few values: limiter names, words, and classes of priority; never a key. A label without a value is an empty text.
 * Beyond 10,000 series, all others are counted together as the limiter `(others)`.
 *
 * @example
 * ```ts
 * import { createGuard, rateLimit } from '@spillway/core';
 * import { Tally } from '@spillway/core/adapter';
 *
 * const tally = new Tally();
 * createGuard(rateLimit({ limit: 100, window: '1m' }), { observers: [tally] });
 * for (const { labels, value } of tally.decisions()) console.log(labels.limiter, labels.outcome, value);
 * ```
 */
export class Tally implements Observer {
  private readonly counts: Counts = new Map();
  /** By limiter. */
  private readonly plans = new Map<string, Set<string>>();
  private readonly decided: Count<DecisionLabel>[] = [];
  private readonly faulty = new Map<string, Map<string, Count<'limiter' | 'source'>>>();
  private readonly guards = new Set<NonNullable<Gauges['guards']>[number]>();
  private readonly shedders = new Set<NonNullable<Gauges['shedders']>[number]>();
  private readonly sources = new Set<Signal>();
  private readonly stores = new Set<Overflowing>();
  private readonly controls = new Set<Pick<Control, 'settingsLost'>>();
  private overflowedBefore = 0;
  private lastBreakerEvent: BreakerEvent | undefined;
  private open = 0;
  private readonly opened: Record<BreakerEvent['reason'], number> = { failures: 0, slow: 0 };

  /** Adds what is to be read; as often as you like, a thing twice counts once. */
  watch({ guards = [], shedders = [], signals = [], stores = [] }: Gauges): void {
    for (const guard of guards) this.guards.add(guard);
    for (const shedder of shedders) this.shedders.add(shedder);
    for (const signal of signals) this.sources.add(signal);
    for (const store of stores) this.onStore(store);
  }

  onStore(store: Overflowing): void {
    this.stores.add(store);
    if (this.stores.size <= STORES) return;
    const [oldest] = this.stores as Iterable<Overflowing>;
    this.stores.delete(oldest as Overflowing);
    this.overflowedBefore += (oldest as Overflowing).overflowed;
  }

  onControl(control: Pick<Control, 'settingsLost'>): void {
    this.controls.add(control);
    if (this.controls.size <= STORES) return;
    const [oldest] = this.controls;
    if (oldest) this.controls.delete(oldest);
  }

  onDecision({ limiter, outcome, allowed, reason, priority = '', policy }: DecisionEvent): void {
    const plan = policy?.plan ?? '';
    // In shadow a request passes though the store fails: with a reason it would be counted as refused.
    const why = outcome === 'error' && allowed ? null : reason;
    const known = this.counts.get(limiter)?.get(outcome)?.get(why)?.get(priority)?.get(plan);
    const count = known ?? this.newCount(limiter, outcome, why, priority, plan);
    count.value += 1;
  }

  private newCount(
    limiter: string,
    outcome: Outcome,
    reason: Reason | null,
    priority: string,
    plan: string,
  ): Count<DecisionLabel> {
    const isFull = this.decided.length >= SERIES && limiter !== OTHERS;
    const labels = {
      limiter: isFull ? OTHERS : limiter,
      outcome,
      reason: reason ?? '',
      priority: isFull ? '' : priority,
      plan: isFull ? '' : this.planLabel(limiter, plan),
    };
    const byPriority = inner(inner(inner(this.counts, labels.limiter), outcome), reason);
    const byPlan = inner(byPriority, labels.priority);
    let count = byPlan.get(labels.plan);
    if (!count) {
      count = { labels, value: 0 };
      byPlan.set(labels.plan, count);
      this.decided.push(count);
    }
    return count;
  }

  private planLabel(limiter: string, plan: string): string {
    if (plan === '') return plan;
    const names = this.plans.get(limiter) ?? new Set<string>();
    this.plans.set(limiter, names);
    if (names.size < PLANS) names.add(plan);
    return names.has(plan) ? plan : OTHER_PLAN;
  }

  onFault({ limiter: name, source }: Fault): void {
    const isFull = this.faulty.size >= SERIES && !this.faulty.has(name);
    const limiter = isFull ? OTHERS : name;
    const bySource = inner(this.faulty, limiter);
    const count = bySource.get(source) ?? { labels: { limiter, source }, value: 0 };
    bySource.set(source, count);
    count.value += 1;
  }

  /** All guards of a store pass on the same event: it counts once. */
  onBreaker(event: BreakerEvent): void {
    if (event === this.lastBreakerEvent) return;
    this.lastBreakerEvent = event;
    if (event.state === 'open') {
      this.open += 1;
      // An older copy of this package names no reason.
      this.opened[event.reason === 'slow' ? 'slow' : 'failures'] += 1;
    } else if (this.open > 0) this.open -= 1;
  }

  decisions(): readonly Sample<DecisionLabel>[] {
    return this.decided;
  }

  faults(): Sample<'limiter' | 'source'>[] {
    return [...this.faulty.values()].flatMap((bySource) => [...bySource.values()]);
  }

  /** Stores that are not asked now, because they fail or are slow. */
  get openBreakers(): number {
    return this.open;
  }

  /** How often a store was found to fail, and how often to be slow. */
  breakerOpenings(): Sample<'reason'>[] {
    return Object.entries(this.opened).map(([reason, value]) => ({ labels: { reason }, value }));
  }

  /** Decisions that memory stores took on a shared count because they were full. */
  get overflowed(): number {
    let sum = this.overflowedBefore;
    for (const { overflowed } of this.stores) sum += overflowed;
    return sum;
  }

  /** Controls whose settings are lost; undefined if no guard has a control that can tell. */
  get lostControls(): number | undefined {
    if (this.controls.size === 0) return undefined;
    let lost = 0;
    for (const { settingsLost } of this.controls) if (settingsLost) lost += 1;
    return lost;
  }

  /** Permits that requests hold now; undefined if no guard is watched. */
  get permitsInProgress(): number | undefined {
    if (this.guards.size === 0) return undefined;
    let permits = 0;
    for (const { inProgress } of this.guards) permits += inProgress;
    return permits;
  }

  shedAmounts(): Sample<'limiter'>[] {
    return [...this.shedders].map(({ name, shedAmount }) => sample(name, shedAmount));
  }

  brakeFractions(): Sample<'limiter'>[] {
    return [...this.shedders].map(({ name, brakeFraction }) => sample(name, brakeFraction));
  }

  /** Of the signals that have data. */
  signalValues(): Sample<'signal'>[] {
    return [...this.sources].flatMap((signal) => {
      const reading = readSafely(signal);
      return reading ? [{ labels: { signal: signal.name }, value: reading.value }] : [];
    });
  }
}

function sample(limiter: string, value: number): Sample<'limiter'> {
  return { labels: { limiter }, value };
}

/** The map under `key`, made when first asked for. */
function inner<Key, K, V>(outer: Map<Key, Map<K, V>>, key: Key): Map<K, V> {
  let found = outer.get(key);
  if (!found) {
    found = new Map<K, V>();
    outer.set(key, found);
  }
  return found;
}
