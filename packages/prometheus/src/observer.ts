import { type Observer, SpillwayError, type StoreCallEvent } from '@spillway/core';
import {
  checkOptions,
  type Gauges,
  METRICS,
  type Metric,
  mustBe,
  STORE_CALL_DURATION,
  Tally,
} from '@spillway/core/adapter';
import { Counter, register as defaultRegistry, Gauge, Histogram, type Registry } from 'prom-client';

/** Options of the observer for Prometheus. */
export interface PrometheusOptions {
  /** Where the metrics are registered. Default: prom-client's own registry. */
  readonly register?: Registry | undefined;
  /** The prefix of all metric names. Default `spillway_`, which the dashboard and the alerts expect. */
  readonly prefix?: string | undefined;
}

export interface PrometheusObserver extends Observer {
  /** Adds guards, shedders or signals. Their gauges are read at each scrape. */
  watch(what: Gauges): void;
}

/**
 * An observer for the option `observers`. Use one for all guards of a process. Labels have few values, such as limiter
 * names, and are never keys.
 *
 * @throws SpillwayError `SPW_OPTION_UNKNOWN`, and `SPW_OPTION_INVALID` if the prefix can't start a metric name,
 * `register` is not a registry, or it already has these metrics
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
  checkOptions(options, 'prometheusObserver()', { register: 1, prefix: 1 });
  const { register = defaultRegistry, prefix = 'spillway_' } = options;
  if (typeof prefix !== 'string' || !/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(prefix)) {
    throw mustBe('prefix', 'letters, digits and underscores', prefix);
  }
  if (typeof register?.getSingleMetric !== 'function') {
    throw mustBe('register', 'a Registry of prom-client', register);
  }
  if (register.getSingleMetric(`${prefix}decisions_total`)) {
    throw new SpillwayError(
      'SPW_OPTION_INVALID',
      'register already has these metrics: use one observer for all guards',
    );
  }
  return new TallyObserver(register, prefix);
}

class TallyObserver extends Tally implements PrometheusObserver {
  private readonly calls = new Map<string, (seconds: number) => void>();
  private readonly latency: Histogram<'outcome'>;

  constructor(register: Registry, prefix: string) {
    super();
    const { help, bucketsS, labels } = STORE_CALL_DURATION;
    this.latency = new Histogram({
      name: `${prefix}store_call_duration_seconds`,
      help,
      labelNames: [...labels],
      buckets: [...bucketsS],
      registers: [register],
    });
    for (const metric of METRICS) {
      if (metric.kind === 'counter') addCounter(metric, this, register, prefix);
      else addGauge(metric, this, register, prefix);
    }
  }

  onStoreCall({ durationMs, outcome }: StoreCallEvent): void {
    let observe = this.calls.get(outcome);
    if (!observe) {
      observe = this.latency.labels({ outcome }).observe;
      this.calls.set(outcome, observe);
    }
    observe(durationMs / 1000);
  }
}

function addCounter(metric: Metric, tally: Tally, register: Registry, prefix: string): void {
  new Counter({
    name: `${prefix}${underscored(metric)}_total`,
    help: metric.help,
    labelNames: metric.labels,
    registers: [register],
    collect() {
      this.reset();
      for (const { labels, value } of metric.read(tally)) this.inc(labels, value);
    },
  });
}

function addGauge(metric: Metric, tally: Tally, register: Registry, prefix: string): void {
  new Gauge({
    name: prefix + underscored(metric),
    help: metric.help,
    labelNames: metric.labels,
    registers: [register],
    // How prom-client combines the values of node:cluster workers: counts, such as permits and jobs, are added. Of
    // fractions and loads, the highest value counts.
    aggregator: /^(shed|brake|signal)/.test(metric.name) ? 'max' : 'sum',
    collect() {
      this.reset();
      this.remove({}); // prom-client adds a zero to a gauge without labels
      for (const { labels, value } of metric.read(tally)) this.set(labels, value);
    },
  });
}

function underscored({ name }: Metric): string {
  return name.replaceAll('.', '_');
}
