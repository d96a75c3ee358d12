/** An observer whose counts prom-client collects. */

import { type Observer, SpillwayError, type StoreCallEvent } from '@spillway/core';
import { type Gauges, type Sample, Tally } from '@spillway/core/adapter';
import { Counter, register as defaultRegistry, Gauge, Histogram, type Registry } from 'prom-client';

export interface PrometheusOptions {
  /** Where the metrics are registered. Default: prom-client's own registry. */
  readonly register?: Registry | undefined;
  /** How all names begin. Default `spillway_`, as the dashboard and the alerts have it. */
  readonly prefix?: string | undefined;
}

export interface PrometheusObserver extends Observer {
  /** Adds guards, shedders and signals whose gauges are read at each scrape. */
  watch(what: Gauges): void;
}

/** From half a millisecond to a second: a store is near, or it is waited for 50 ms, unless you say otherwise. */
const BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];

/**
 * An observer for the option `observers` of guards, one for all of a process. Its labels are limiter names and words of
 * few values, never
 * a key. A request pays for an addition; the rest is done at the scrape.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID` for a prefix that cannot begin a name, or a registry that has these
 *   metrics already
 * @example
 * ```ts
 * import { rateLimit, spillway } from '@spillway/express';
 * import { prometheusObserver } from '@spillway/prometheus';
 * import { register } from 'prom-client';
 *
 * const metrics = prometheusObserver();
 * app.use(spillway(rateLimit({ limit: 100, window: '1m' }), { observers: [metrics] }));
 * app.get('/metrics', async (_req, res) => res.type(register.contentType).send(await register.metrics()));
 * ```
 */
export function prometheusObserver(options: PrometheusOptions = {}): PrometheusObserver {
  const { register = defaultRegistry, prefix = 'spillway_' } = options;
  if (typeof prefix !== 'string' || !/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(prefix)) {
    throw invalid(`prefix must be letters, digits and underscores, got ${JSON.stringify(prefix)}`);
  }
  if (register.getSingleMetric(`${prefix}decisions_total`)) {
    throw invalid('the registry has these metrics already: use one observer for all guards');
  }
  return new TallyObserver(register, prefix);
}

class TallyObserver extends Tally implements PrometheusObserver {
  private readonly calls = new Map<string, (seconds: number) => void>();
  private readonly latency: Histogram<'outcome'>;
  private readonly register: Registry;
  private readonly prefix: string;

  constructor(register: Registry, prefix: string) {
    super();
    this.register = register;
    this.prefix = prefix;
    this.latency = new Histogram({
      name: `${prefix}store_call_duration_seconds`,
      help: 'How long calls of the store took, by what came of them.',
      labelNames: ['outcome'],
      buckets: BUCKETS_S,
      registers: [register],
    });
    this.addCounters();
    this.addGauges();
  }

  onStoreCall({ durationMs, outcome }: StoreCallEvent): void {
    let observe = this.calls.get(outcome);
    if (!observe) {
      observe = this.latency.labels({ outcome }).observe;
      this.calls.set(outcome, observe);
    }
    observe(durationMs / 1000);
  }

  private addCounters(): void {
    this.counter(
      'decisions_total',
      'Decisions on requests, by limiter, outcome, reason and priority.',
      ['limiter', 'outcome', 'reason', 'priority'],
      () => this.decisions(),
    );
    this.counter(
      'faults_total',
      'Callbacks that threw or returned junk, and stores that failed.',
      ['limiter', 'source'],
      () => this.faults(),
    );
    this.counter('breaker_openings_total', 'How often a store was found not to answer.', [], () => [
      { labels: {}, value: this.breakerOpenings },
    ]);
    this.counter(
      'memory_overflowed_total',
      'Decisions on a count that is shared because the store in memory is full.',
      [],
      () => [{ labels: {}, value: this.overflowed }],
    );
  }

  private addGauges(): void {
    this.gauge(
      'breaker_open',
      'Stores that are not asked now because they do not answer.',
      [],
      () => [{ labels: {}, value: this.openBreakers }],
    );
    this.gauge('permits_in_progress', 'Permits that requests hold now.', [], () => {
      const value = this.permitsInProgress;
      return value === undefined ? [] : [{ labels: {}, value }];
    });
    this.gauge('shed_amount', 'How far up the classes the ladder sheds, 0 to 1.', ['limiter'], () =>
      this.shedAmounts(),
    );
    this.gauge(
      'brake_fraction',
      'The fraction of requests that the brake refuses.',
      ['limiter'],
      () => this.brakeFractions(),
    );
    this.gauge('signal_value', 'Load: 0 is idle, 1 is at the mark.', ['signal'], () =>
      this.signalValues(),
    );
  }

  private counter<Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    read: () => readonly Sample<Label>[],
  ): void {
    new Counter({
      ...this.config(name, help, labelNames),
      collect() {
        this.reset();
        for (const { labels, value } of read()) this.inc(labels, value);
      },
    });
  }

  private gauge<Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    read: () => readonly Sample<Label>[],
  ): void {
    new Gauge({
      ...this.config(name, help, labelNames),
      // Of the workers of node:cluster: permits and breakers add up, of loads the worst counts.
      aggregator: labelNames.length === 0 ? 'sum' : 'max',
      collect() {
        this.reset();
        this.remove({}); // the zero that a gauge without labels begins with
        for (const { labels, value } of read()) this.set(labels, value);
      },
    });
  }

  private config<Label extends string>(name: string, help: string, labelNames: Label[]) {
    return { name: this.prefix + name, help, labelNames, registers: [this.register] };
  }
}

function invalid(message: string): SpillwayError {
  return new SpillwayError('SPW_OPTION_INVALID', message);
}
