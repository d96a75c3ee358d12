/** What exporters export, as series of Prometheus: `name{label="value"}` with its number. */

import { DataPointType, type MetricData, MetricReader } from '@opentelemetry/sdk-metrics';

export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of a scrape. */
export function parseScrape(text: string): Series[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key, text]);
      return { name, labels: Object.fromEntries(pairs), value: Number(value) };
    });
}

/** Reads what a provider's instruments say now. */
export class Reader extends MetricReader {
  async read(): Promise<readonly MetricData[]> {
    const { resourceMetrics, errors } = await this.collect();
    if (errors.length > 0) throw new AggregateError(errors);
    return resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
  }

  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/**
 * The series that OpenTelemetry's rules for Prometheus make of metrics (specification, "Prometheus and OpenMetrics
 * Compatibility"). Dots become underscores, seconds and counters get their endings, and other units are left out. Of
 * histograms, only the counts are returned.
 */
export function asPrometheus(metrics: readonly MetricData[]): Series[] {
  return metrics.flatMap((metric) => {
    const { name: dotted, unit } = metric.descriptor;
    const name = dotted.replaceAll('.', '_') + (unit === 's' ? '_seconds' : '');
    if (metric.dataPointType === DataPointType.HISTOGRAM) {
      return metric.dataPoints.flatMap(({ attributes, value }) => {
        const labels = attributes as Record<string, string>;
        return [{ name: `${name}_count`, labels, value: value.count }];
      });
    }
    if (metric.dataPointType === DataPointType.EXPONENTIAL_HISTOGRAM) throw new Error(dotted);
    const isCounter = metric.dataPointType === DataPointType.SUM && metric.isMonotonic;
    return metric.dataPoints.map(({ attributes, value }) => ({
      name: isCounter ? `${name}_total` : name,
      labels: attributes as Record<string, string>,
      value,
    }));
  });
}

/** One line for each series, in order; labels without a value are the same as none. */
export function lines(series: readonly Series[]): string[] {
  return series
    .map(({ name, labels, value }) => {
      const known = Object.entries(labels).filter(([, text]) => text !== '');
      const pairs = known.map(([key, text]) => `${key}="${text}"`).sort();
      return `${name}{${pairs.join(',')}} ${value}`;
    })
    .sort();
}
