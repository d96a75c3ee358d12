import type { UnitsKind } from '../contract/observer.js';
import type { Sample, Tally } from './tally.js';

export interface Metric {
  /** The name without a prefix: `breaker.open` is exported as `spillway.breaker.open` or `spillway_breaker_open`. */
  readonly name: string;
  /** A counter only increases while the process lives; a gauge is the current value. */
  readonly kind: 'counter' | 'gauge';
  readonly help: string;
  /**
   * The unit of a counter, in UCUM. Gauges have none, because with the unit `1`, Prometheus exporters for OpenTelemetry
   * would append `_ratio` to their names.
   */
  readonly unit?: string;
  readonly labels: readonly string[];
  read(tally: Tally): readonly Sample<string>[];
}

/**
 * The duration of store calls, the only histogram. It has no `read`: exporters get the durations from `onStoreCall`.
 */
export const STORE_CALL_DURATION = {
  name: 'store.call.duration',
  help: 'Duration of calls to the store, by outcome.',
  unit: 's',
  labels: ['outcome'],
  /** From 0.5 ms to 1 s: most stores answer within milliseconds, and the default timeout is 50 ms. */
  bucketsS: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
} as const;

/** What the counter of each kind of units counts. */
const UNITS: Readonly<Record<UnitsKind, string>> = {
  reserved: 'Units that limits with a meter have charged at admission.',
  added: 'Units of requests that were charged after admission.',
  returned: 'Units of requests that were taken off after admission.',
  cut: 'Units of requests that were cut off before they were settled.',
  silent: 'Units of requests that were never settled.',
  forgiven: 'Units that were not charged, because the count was at its limit and debt.',
  lost: 'Units that were not charged, because the store did not get them.',
};

/**
 * All counters and gauges, also for custom exporters.
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
export const METRICS: readonly Metric[] = /* @__PURE__ */ allMetrics();

function allMetrics(): readonly Metric[] {
  return [
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
      help: 'Callbacks that threw or returned an invalid value, and stores that failed.',
      unit: '{fault}',
      labels: ['limiter', 'source'],
      read: (tally) => tally.faults(),
    },
    ...unitMetrics(),
    {
      name: 'breaker.openings',
      kind: 'counter',
      help: 'How often the circuit breaker of a store opened, by reason.',
      unit: '{opening}',
      labels: ['reason'],
      read: (tally) => tally.breakerOpenings(),
    },
    {
      name: 'memory.overflowed',
      kind: 'counter',
      help: 'Decisions on a shared count, because the memory store is full.',
      unit: '{decision}',
      labels: [],
      read: (tally) => single(tally.overflowed),
    },
    gauge('breaker.open', 'Open circuit breakers: stores that fail or are slow.', [], (tally) =>
      single(tally.openBreakers),
    ),
    gauge(
      'settings.lost',
      'Controls whose store has lost the live settings. The last known settings stay active.',
      [],
      (tally) => single(tally.lostControls),
    ),
    gauge('permits.in_progress', 'Permits that requests hold now.', [], (tally) =>
      single(tally.permitsInProgress),
    ),
    gauge('jobs.waiting', 'Jobs of a shaper that wait for their start.', ['limiter'], (tally) =>
      tally.jobsWaiting(),
    ),
    gauge('jobs.running', 'Jobs of a shaper that run.', ['limiter'], (tally) =>
      tally.jobsRunning(),
    ),
    gauge(
      'shed.amount',
      'How far up the priority classes the ladder sheds, 0 to 1.',
      ['limiter'],
      (tally) => tally.shedAmounts(),
    ),
    gauge(
      'brake.fraction',
      'The fraction of requests that the brake rejects.',
      ['limiter'],
      (tally) => tally.brakeFractions(),
    ),
    gauge('signal.value', 'Load: 0 is idle, 1 is the target.', ['signal'], (tally) =>
      tally.signalValues(),
    ),
  ];
}

function single(value: number | undefined): Sample<string>[] {
  return value === undefined ? [] : [{ labels: {}, value }];
}

function unitMetrics(): Metric[] {
  const labels = ['limiter'];
  return (Object.keys(UNITS) as UnitsKind[]).map((kind) => ({
    name: `units.${kind}`,
    kind: 'counter',
    help: UNITS[kind],
    unit: '{unit}',
    labels,
    read: (tally) => tally.units(kind),
  }));
}

function gauge(
  name: string,
  help: string,
  labels: readonly string[],
  read: Metric['read'],
): Metric {
  return { name, kind: 'gauge', help, labels, read };
}
