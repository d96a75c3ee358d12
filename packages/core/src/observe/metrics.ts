/** What exporters of metrics export: name, kind, help text, unit and labels, and how it is read from a Tally. */

import type { Sample, Tally } from './tally.js';

/** A number that is read from a tally whenever metrics are collected. */
export interface Metric {
  /** Without prefix, dots between words: `breaker.open` is `spillway.breaker.open`, or `spillway_breaker_open`. */
  readonly name: string;
  /** A counter adds up for as long as the process lives; a gauge is what it is now. */
  readonly kind: 'counter' | 'gauge';
  readonly help: string;
  /**
   * What a counter counts, as UCUM has it. Gauges have none: that of a ratio would end up in the name where the metrics
   * of OpenTelemetry are translated for Prometheus.
   */
  readonly unit?: string;
  readonly labels: readonly string[];
  read(tally: Tally): readonly Sample<string>[];
}

/** How long calls of the store take: the one histogram. It is fed by `onStoreCall`, so there is nothing to read. */
export const STORE_CALL_DURATION = {
  name: 'store.call.duration',
  help: 'How long calls of the store took, by what came of them.',
  unit: 's',
  labels: ['outcome'],
  /** From half a millisecond to a second: a store is near, or it is waited for 50 ms, unless you say otherwise. */
  bucketsS: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
} as const;

/**
 * All counters and gauges, for exporters of your own too.
 *
 * @example
 * ```ts
 * import { METRICS, Tally } from '@spillway/core/adapter';
 *
 * const tally = new Tally();
 * for (const metric of METRICS) {
 *   for (const { labels, value } of metric.read(tally)) console.log(metric.name, labels, value);
 * }
 * ```
 */
export const METRICS: readonly Metric[] = [
  {
    name: 'decisions',
    kind: 'counter',
    help: 'Decisions on requests, by limiter, outcome, reason, priority and plan.',
    unit: '{decision}',
    labels: ['limiter', 'outcome', 'reason', 'priority', 'plan'],
    read: (tally) => tally.decisions(),
  },
  {
    name: 'faults',
    kind: 'counter',
    help: 'Callbacks that threw or returned junk, and stores that failed.',
    unit: '{fault}',
    labels: ['limiter', 'source'],
    read: (tally) => tally.faults(),
  },
  {
    name: 'breaker.openings',
    kind: 'counter',
    help: 'How often a store was found to fail, or to be slow.',
    unit: '{opening}',
    labels: ['reason'],
    read: (tally) => tally.breakerOpenings(),
  },
  {
    name: 'memory.overflowed',
    kind: 'counter',
    help: 'Decisions on a count that is shared because the store in memory is full.',
    unit: '{decision}',
    labels: [],
    read: (tally) => single(tally.overflowed),
  },
  {
    name: 'breaker.open',
    kind: 'gauge',
    help: 'Stores that are not asked now because they fail or are slow.',
    labels: [],
    read: (tally) => single(tally.openBreakers),
  },
  {
    name: 'settings.lost',
    kind: 'gauge',
    help: 'Controls whose store has lost the live settings: the last known ones stay in force.',
    labels: [],
    read: (tally) => single(tally.lostControls),
  },
  {
    name: 'permits.in_progress',
    kind: 'gauge',
    help: 'Permits that requests hold now.',
    labels: [],
    read: (tally) => single(tally.permitsInProgress),
  },
  {
    name: 'shed.amount',
    kind: 'gauge',
    help: 'How far up the classes the ladder sheds, 0 to 1.',
    labels: ['limiter'],
    read: (tally) => tally.shedAmounts(),
  },
  {
    name: 'brake.fraction',
    kind: 'gauge',
    help: 'The fraction of requests that the brake refuses.',
    labels: ['limiter'],
    read: (tally) => tally.brakeFractions(),
  },
  {
    name: 'signal.value',
    kind: 'gauge',
    help: 'Load: 0 is idle, 1 is at the mark.',
    labels: ['signal'],
    read: (tally) => tally.signalValues(),
  },
];

/** A number without labels; nothing where nobody knows it. */
function single(value: number | undefined): Sample<string>[] {
  return value === undefined ? [] : [{ labels: {}, value }];
}
