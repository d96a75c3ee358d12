import { type Histogram, type Meter, metrics, trace } from '@opentelemetry/api';
import type { Observer, StoreCallEvent } from '@spillway/core';
import {
  checkOptions,
  type Gauges,
  METRICS,
  type Metric,
  mustBe,
  STORE_CALL_DURATION,
  Tally,
} from '@spillway/core/adapter';

const PREFIX = 'spillway.';

/** Options of the observer for OpenTelemetry. */
export interface OpenTelemetryOptions {
  /**
   * The meter that creates the instruments. Default: the meter `@spillway/opentelemetry` of the global provider, which
   * you must register first.
   */
  readonly meter?: Meter | undefined;
}

export interface OpenTelemetryObserver extends Observer {
  /** Adds guards, shedders or signals. Their gauges are read at each collection. */
  watch(what: Gauges): void;
}

/**
 * An observer for the option `observers`. All guards of a process share one: calls with the same meter return the same
 * observer. Attributes have few values, such as limiter names, and are never keys.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { openTelemetryObserver } from '@spillway/opentelemetry';
 * import { rateLimit, spillway } from '@spillway/express';
 *
 * const metrics = openTelemetryObserver();
 * app.use(spillway(rateLimit({ limit: 100, window: '1m' }), { observers: [metrics] }));
 * ```
 */
export function openTelemetryObserver(options: OpenTelemetryOptions = {}): OpenTelemetryObserver {
  checkOptions(options, 'openTelemetryObserver()', { meter: 1 });
  const { meter = metrics.getMeter('@spillway/opentelemetry') } = options;
  if (typeof meter?.createHistogram !== 'function') throw mustBe('meter', 'a Meter', meter);
  const known = observers.get(meter);
  if (known) return known;
  const observer = new TallyObserver(meter);
  observers.set(meter, observer);
  return observer;
}

/** Of several observers of one meter, the SDK would export only the counts of the last. */
const observers = new WeakMap<Meter, OpenTelemetryObserver>();

class TallyObserver extends Tally implements OpenTelemetryObserver {
  private readonly latency: Histogram;
  private readonly attributes = new Map<string, { outcome: string }>();

  constructor(meter: Meter) {
    super();
    const { name, help, unit, bucketsS } = STORE_CALL_DURATION;
    this.latency = meter.createHistogram(PREFIX + name, {
      description: help,
      unit,
      advice: { explicitBucketBoundaries: [...bucketsS] },
    });
    for (const metric of METRICS) addInstrument(metric, this, meter);
  }

  onStoreCall({ durationMs, outcome }: StoreCallEvent): void {
    let attributes = this.attributes.get(outcome);
    if (!attributes) {
      attributes = { outcome };
      this.attributes.set(outcome, attributes);
    }
    this.latency.record(durationMs / 1000, attributes);
  }

  /** Adds an event to the span in which the job was scheduled. */
  onWait({ limiter, waitMs, outcome }: Wait): void {
    trace.getActiveSpan()?.addEvent('spillway.wait', { limiter, wait_ms: waitMs, outcome });
  }
}

type Wait = Parameters<NonNullable<Observer['onWait']>>[0];

function addInstrument(metric: Metric, tally: Tally, meter: Meter): void {
  const { name, help: description, unit } = metric;
  const instrument =
    metric.kind === 'counter'
      ? meter.createObservableCounter(PREFIX + name, { description, ...(unit && { unit }) })
      : meter.createObservableGauge(PREFIX + name, { description });
  instrument.addCallback((result) => {
    for (const { labels, value } of metric.read(tally)) result.observe(value, known(labels));
  });
}

/** As is usual in OpenTelemetry, an attribute without a value is left out. */
function known(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([, text]) => text !== ''));
}
