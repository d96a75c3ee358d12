/**
 * Counts events, so that exporters read the counts only when they are scraped. Incrementing a labelled counter of
 * prom-client for each decision would take as long as a decision of the memory store.
 */

import { getOrMake } from '../base/get-or-make.js';
import type { Control } from '../contract/control.js';
import type { Outcome, Reason } from '../contract/decision.js';
import type {
  BreakerEvent,
  DecisionEvent,
  Fault,
  Observer,
  Overflowing,
  UnitsEvent,
  UnitsKind,
} from '../contract/observer.js';
import { readSafely, type Signal } from '../shed/load-signal.js';
import type { WorkerShedder } from '../shed/worker-shedder.js';

/** Sources of gauges, read when metrics are collected. */
export interface Gauges {
  /** Guards; the sum of their permits in progress is one gauge. */
  readonly guards?: readonly { readonly inProgress: number }[] | undefined;
  /** Worker shedders, labelled by name. */
  readonly shedders?:
    | readonly Pick<WorkerShedder, 'name' | 'shedAmount' | 'brakeFraction'>[]
    | undefined;
  /** Load signals, labelled by name. */
  readonly signals?: readonly Signal[] | undefined;
  /** Shapers of `@spillway/outgoing`, labelled by name. */
  readonly shapers?:
    | readonly { readonly name: string; readonly waiting: number; readonly running: number }[]
    | undefined;
  /** Memory stores of guards and limiters that don't have this tally as an observer. `onStore` adds the others. */
  readonly stores?: readonly Overflowing[] | undefined;
}

/** Maximum number of series, in case a custom limiter derives names or classes from client input. */
const SERIES = 10_000;
const OTHERS = '(others)';

/** Maximum number of plan names per limiter; further plans get the label `other`. */
const PLANS = 32;
const OTHER_PLAN = 'other';

/** A tally reads at most this many stores and controls: the newest. Counts of dropped stores stay in the sum. */
const STORES = 1_000;

export interface Sample<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}

interface Count<Label extends string> extends Sample<Label> {
  value: number;
}

type DecisionLabel = 'limiter' | 'outcome' | 'reason' | 'priority' | 'plan';

/** Nested maps avoid building a string key for each decision. */
type Counts = Map<
  string,
  Map<Outcome, Map<Reason | null, Map<string, Map<string, Count<DecisionLabel>>>>>
>;

/**
 * An observer that counts events for `@spillway/prometheus`, `@spillway/opentelemetry` and custom exporters; each
 * decision costs only a lookup and an addition. Labels have low cardinality: limiter names, outcomes, reasons, priority
 * classes and plans, never keys. A label without a value is an empty string. Beyond 10,000 series, everything else is
 * counted under the limiter `(others)`.
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
  private readonly plans = new Map<string, Set<string>>();
  private readonly decided: Count<DecisionLabel>[] = [];
  private readonly faulty = new Map<string, Map<string, Count<'limiter' | 'source'>>>();
  private readonly spent = new Map<string, Map<UnitsKind, number>>();
  private readonly guards = new Set<NonNullable<Gauges['guards']>[number]>();
  private readonly shedders = new Set<NonNullable<Gauges['shedders']>[number]>();
  private readonly sources = new Set<Signal>();
  private readonly shapers = new Set<NonNullable<Gauges['shapers']>[number]>();
  private readonly stores = new Set<Overflowing>();
  private readonly controls = new Set<Pick<Control, 'settingsLost'>>();
  private overflowedBefore = 0;
  /** What each dropped store had counted, which {@link overflowedBefore} contains. */
  private readonly dropped = new WeakMap<Overflowing, number>();
  private open = 0;
  private readonly opened: Record<BreakerEvent['reason'], number> = { failures: 0, slow: 0 };

  /** Adds sources of gauges. Adding the same object again has no effect. */
  watch({ guards = [], shedders = [], signals = [], shapers = [], stores = [] }: Gauges): void {
    for (const guard of guards) this.guards.add(guard);
    for (const shedder of shedders) this.shedders.add(shedder);
    for (const signal of signals) this.sources.add(signal);
    for (const shaper of shapers) this.shapers.add(shaper);
    for (const store of stores) this.onStore(store);
  }

  onStore(store: Overflowing): void {
    if (!this.stores.has(store)) this.overflowedBefore -= this.dropped.get(store) ?? 0;
    this.stores.add(store);
    if (this.stores.size <= STORES) return;
    const [oldest] = this.stores as Iterable<Overflowing>;
    const { overflowed } = oldest as Overflowing;
    this.stores.delete(oldest as Overflowing);
    this.dropped.set(oldest as Overflowing, overflowed);
    this.overflowedBefore += overflowed;
  }

  onControl(control: Pick<Control, 'settingsLost'>): void {
    this.controls.add(control);
    if (this.controls.size <= STORES) return;
    const [oldest] = this.controls;
    if (oldest) this.controls.delete(oldest);
  }

  onDecision({ limiter, outcome, allowed, reason, priority = '', policy }: DecisionEvent): void {
    const plan = policy?.plan ?? '';
    // In shadow mode, requests pass even if the store fails. With a reason, they would be counted as rejected.
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
    return getOrMake(byPlan, labels.plan, () => {
      const count = { labels, value: 0 };
      this.decided.push(count);
      return count;
    });
  }

  private planLabel(limiter: string, plan: string): string {
    if (plan === '') return plan;
    const names = getOrMake(this.plans, limiter, () => new Set<string>());
    if (names.size < PLANS) names.add(plan);
    return names.has(plan) ? plan : OTHER_PLAN;
  }

  onFault({ limiter: name, source }: Fault): void {
    const isFull = this.faulty.size >= SERIES && !this.faulty.has(name);
    const limiter = isFull ? OTHERS : name;
    const bySource = inner(this.faulty, limiter);
    getOrMake(bySource, source, () => ({ labels: { limiter, source }, value: 0 })).value += 1;
  }

  onUnits({ limiter: name, kind, units }: UnitsEvent): void {
    const isFull = this.spent.size >= SERIES && !this.spent.has(name);
    const limiter = isFull ? OTHERS : name;
    const byKind = inner(this.spent, limiter);
    byKind.set(kind, (byKind.get(kind) ?? 0) + units);
  }

  onBreaker({ state, reason }: BreakerEvent): void {
    if (state === 'open') {
      this.open += 1;
      // An older copy of this package sends no reason.
      this.opened[reason === 'slow' ? 'slow' : 'failures'] += 1;
    } else if (this.open > 0) this.open -= 1;
  }

  decisions(): readonly Sample<DecisionLabel>[] {
    return this.decided;
  }

  faults(): Sample<'limiter' | 'source'>[] {
    return [...this.faulty.values()].flatMap((bySource) => [...bySource.values()]);
  }

  /** Units of limits with a meter: see {@link UnitsEvent}. */
  units(kind: UnitsKind): Sample<'limiter'>[] {
    // A limiter has a sample of each kind, because a query can't add up series if some are missing.
    return Array.from(this.spent, ([limiter, byKind]) => {
      return { labels: { limiter }, value: byKind.get(kind) ?? 0 };
    });
  }

  get openBreakers(): number {
    return this.open;
  }

  breakerOpenings(): Sample<'reason'>[] {
    return Object.entries(this.opened).map(([reason, value]) => ({ labels: { reason }, value }));
  }

  /** How many decisions used a shared count because a memory store was full. */
  get overflowed(): number {
    let sum = this.overflowedBefore;
    for (const { overflowed } of this.stores) sum += overflowed;
    return sum;
  }

  /**
   * Number of controls (sources of live changes to limits) whose storage has lost the settings. Undefined if no guard
   * or limiter has reported a control.
   */
  get lostControls(): number | undefined {
    if (this.controls.size === 0) return undefined;
    let lost = 0;
    for (const control of this.controls) if (isLost(control)) lost += 1;
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
    return byName(this.shedders, ({ shedAmount }) => shedAmount, Math.max);
  }

  brakeFractions(): Sample<'limiter'>[] {
    return byName(this.shedders, ({ brakeFraction }) => brakeFraction, Math.max);
  }

  jobsWaiting(): Sample<'limiter'>[] {
    return byName(this.shapers, ({ waiting }) => waiting, sum);
  }

  jobsRunning(): Sample<'limiter'>[] {
    return byName(this.shapers, ({ running }) => running, sum);
  }

  signalValues(): Sample<'signal'>[] {
    const read = [...this.sources].flatMap((signal) => {
      const reading = readSafely(signal);
      return reading ? [{ name: signal.name, value: reading.value }] : [];
    });
    return byName(read, ({ value }) => value, Math.max).map(({ labels, value }) => {
      return { labels: { signal: labels.limiter }, value };
    });
  }
}

/** Sources with the same name share a sample, because exporters would keep only the last of several. */
function byName<Source extends { readonly name: string }>(
  sources: Iterable<Source>,
  read: (source: Source) => number,
  join: (one: number, other: number) => number,
): Sample<'limiter'>[] {
  const values = new Map<string, number>();
  for (const source of sources) {
    values.set(source.name, join(values.get(source.name) ?? 0, read(source)));
  }
  return Array.from(values, ([limiter, value]) => ({ labels: { limiter }, value }));
}

function sum(one: number, other: number): number {
  return one + other;
}

function inner<Key, K, V>(outer: Map<Key, Map<K, V>>, key: Key): Map<K, V> {
  return getOrMake(outer, key, () => new Map<K, V>());
}

/** A custom control that fails must not fail the whole scrape. It may have lost its settings. */
function isLost(control: Pick<Control, 'settingsLost'>): boolean {
  try {
    return control.settingsLost === true;
  } catch {
    return true;
  }
}
