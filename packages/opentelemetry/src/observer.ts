/** An observer whose counts a Meter of OpenTelemetry collects. */

import { type Histogram, type Meter, metrics, type ObservableResult } from '@opentelemetry/api';
import type { Observer, StoreCallEvent } from '@spillway/core';
import { type Gauges, type Sample, Tally } from '@spillway/core/adapter';

export interface OpenTelemetryOptions {
  /**
   * Who makes the instruments. Default: the global provider's meter `@spillway/opentelemetry`, so register the provider
   * first.
   */
  readonly meter?: Meter | undefined;
}

export interface OpenTelemetryObserver extends Observer {
  /** Adds guards, shedders and signals whose gauges are read at each collection. */
  watch(what: Gauges): void;
}

/** From half a millisecond to a second: a store is near, or it is waited for 50 ms, unless you say otherwise. */
const BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];

/**
 * An observer for the option `observers` of guards, one for all of a process. Its attributes are limiter names and
 * words of few values,
 * never a key. A request pays for an addition; the rest is done at the collection.
 *
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
  return new TallyObserver(options.meter ?? metrics.getMeter('@spillway/opentelemetry'));
}

class TallyObserver extends Tally implements OpenTelemetryObserver {
  private readonly latency: Histogram;
  /** By outcome. */
  private readonly attributes = new Map<string, { outcome: string }>();
  private readonly meter: Meter;

  constructor(meter: Meter) {
    super();
    this.meter = meter;
    this.latency = meter.createHistogram('spillway.store.call.duration', {
      description: 'How long calls of the store took, by what came of them.',
      unit: 's',
      advice: { explicitBucketBoundaries: BUCKETS_S },
    });
    this.addCounters();
    this.addGauges();
  }

  onStoreCall({ durationMs, outcome }: StoreCallEvent): void {
    let attributes = this.attributes.get(outcome);
    if (!attributes) {
      attributes = { outcome };
      this.attributes.set(outcome, attributes);
    }
    this.latency.record(durationMs / 1000, attributes);
  }

  private addCounters(): void {
    this.counter(
      'spillway.decisions',
      'Decisions on requests, by limiter, outcome, reason and priority.',
      '{decision}',
      (result) => observe(result, this.decisions()),
    );
    this.counter(
      'spillway.faults',
      'Callbacks that threw or returned junk, and stores that failed.',
      '{fault}',
      (result) => observe(result, this.faults()),
    );
    this.counter(
      'spillway.breaker.openings',
      'How often a store was found not to answer.',
      '{opening}',
      (result) => result.observe(this.breakerOpenings),
    );
    this.counter(
      'spillway.memory.overflowed',
      'Decisions on a count that is shared because the store in memory is full.',
      '{decision}',
      (result) => result.observe(this.overflowed),
    );
  }

  private addGauges(): void {
    this.gauge(
      'spillway.breaker.open',
      'Stores that are not asked now because they do not answer.',
      (result) => result.observe(this.openBreakers),
    );
    this.gauge('spillway.permits.in_progress', 'Permits that requests hold now.', (result) => {
      const value = this.permitsInProgress;
      if (value !== undefined) result.observe(value);
    });
    this.gauge(
      'spillway.shed.amount',
      'How far up the classes the ladder sheds, 0 to 1.',
      (result) => observe(result, this.shedAmounts()),
    );
    this.gauge(
      'spillway.brake.fraction',
      'The fraction of requests that the brake refuses.',
      (result) => observe(result, this.brakeFractions()),
    );
    this.gauge('spillway.signal.value', 'Load: 0 is idle, 1 is at the mark.', (result) =>
      observe(result, this.signalValues()),
    );
  }

  private counter(
    name: string,
    description: string,
    unit: string,
    read: (result: ObservableResult) => void,
  ): void {
    this.meter.createObservableCounter(name, { description, unit }).addCallback(read);
  }

  /** Without a unit: that of a ratio would end up in the name where the metrics are translated for Prometheus. */
  private gauge(name: string, description: string, read: (result: ObservableResult) => void): void {
    this.meter.createObservableGauge(name, { description }).addCallback(read);
  }
}

/** An attribute without a value is left out, as OpenTelemetry has it. */
function observe<Label extends string>(
  result: ObservableResult,
  samples: readonly Sample<Label>[],
): void {
  for (const { labels, value } of samples) {
    const known = Object.entries<string>(labels).filter(([, text]) => text !== '');
    result.observe(value, Object.fromEntries(known));
  }
}
