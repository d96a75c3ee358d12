/** The two exporters export the same numbers, and the right ones. */

import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { openTelemetryObserver } from '@spillway/opentelemetry';
import { prometheusObserver } from '@spillway/prometheus';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { asPrometheus, lines, parseScrape, Reader, type Series } from './exports.js';
import { play, SECRET_KEY, type Watcher } from './story.js';

interface Exporter {
  readonly observer: Watcher;
  read(): Promise<Series[]>;
}

function prometheus(): Exporter {
  const register = new Registry();
  const observer = prometheusObserver({ register });
  return { observer, read: async () => parseScrape(await register.metrics()) };
}

function openTelemetry(): Exporter {
  const reader = new Reader();
  const meter = new MeterProvider({ readers: [reader] }).getMeter('test');
  const observer = openTelemetryObserver({ meter });
  return { observer, read: async () => asPrometheus(await reader.read()) };
}

/** The series after the story, without durations, which vary. */
const EXPECTED = [
  'spillway_breaker_open{} 1',
  'spillway_breaker_openings_total{reason="failures"} 1',
  'spillway_breaker_openings_total{reason="slow"} 0',
  'spillway_decisions_total{limiter="at-once",outcome="allowed"} 1',
  'spillway_decisions_total{limiter="at-once",outcome="denied",reason="concurrency"} 1',
  'spillway_decisions_total{limiter="faulty",outcome="allowed"} 1',
  'spillway_decisions_total{limiter="fleet",outcome="error",reason="store-error"} 3',
  'spillway_decisions_total{limiter="flood",outcome="allowed"} 3',
  'spillway_decisions_total{limiter="old",outcome="skipped"} 5',
  'spillway_decisions_total{limiter="open",outcome="allowed"} 1',
  'spillway_decisions_total{limiter="open",outcome="error"} 3',
  'spillway_decisions_total{limiter="per-key",outcome="allowed"} 4',
  'spillway_decisions_total{limiter="per-key",outcome="denied",reason="rate"} 1',
  'spillway_decisions_total{limiter="trial",outcome="allowed"} 1',
  'spillway_decisions_total{limiter="trial",outcome="would-deny",reason="rate"} 4',
  'spillway_decisions_total{limiter="workers",outcome="allowed",priority="get"} 4',
  'spillway_decisions_total{limiter="workers",outcome="allowed",priority="post"} 1',
  'spillway_faults_total{limiter="faulty",source="key"} 1',
  'spillway_faults_total{limiter="fleet",source="store"} 3',
  'spillway_faults_total{limiter="open",source="store"} 3',
  'spillway_brake_fraction{limiter="workers"} 0',
  'spillway_jobs_running{limiter="partner"} 1',
  'spillway_jobs_waiting{limiter="partner"} 2',
  'spillway_memory_overflowed_total{} 2',
  'spillway_permits_in_progress{} 1',
  'spillway_settings_lost{} 1',
  'spillway_shed_amount{limiter="workers"} 0',
  'spillway_signal_value{signal="pool"} 0.5',
  'spillway_decisions_total{limiter="spent",outcome="allowed"} 5',
  'spillway_units_added_total{limiter="spent"} 993',
  'spillway_units_cut_total{limiter="spent"} 10',
  'spillway_units_forgiven_total{limiter="spent"} 837',
  'spillway_units_lost_total{limiter="spent"} 0',
  'spillway_units_reserved_total{limiter="spent"} 50',
  'spillway_units_returned_total{limiter="spent"} 6',
  'spillway_units_silent_total{limiter="spent"} 10',
  'spillway_store_call_duration_seconds_count{outcome="ok"} 1',
  'spillway_store_call_duration_seconds_count{outcome="unavailable"} 1',
];

const told = (series: readonly Series[]) =>
  lines(series.filter(({ name }) => !/_(bucket|sum)$/.test(name)));

describe.each([
  { name: 'prom-client', make: prometheus },
  { name: 'OpenTelemetry', make: openTelemetry },
])('metrics of $name', ({ make }) => {
  it('tell what happened, each label by its few values', async () => {
    const { observer, read } = make();
    await play([observer]);
    expect(told(await read())).toEqual([...EXPECTED].sort());
  });

  it('add up over time, and tell the same when nothing happened', async () => {
    const { observer, read } = make();
    await play([observer]);
    const once = told(await read());
    expect(told(await read())).toEqual(once);
    await play([observer]);
    const twice = told(await read());
    expect(twice).toContain('spillway_decisions_total{limiter="per-key",outcome="allowed"} 8');
    expect(twice).toContain('spillway_breaker_openings_total{reason="failures"} 2');
    expect(twice).toContain('spillway_permits_in_progress{} 2');
  });

  it('name no key and no address', async () => {
    const { observer, read } = make();
    await play([observer]);
    const text = JSON.stringify(await read());
    expect(text).toContain('per-key');
    expect(text).not.toContain(SECRET_KEY);
    expect(text).not.toContain('203.0.113');
  });
});
