/** The observer for prom-client: where it registers, and what a scrape reads. */

import { createGuard, createLimiter, memoryStore, rateLimit, type Store } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { prometheusObserver } from '@spillway/prometheus';
import { AggregatorRegistry, register as defaultRegister, Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';

const request = {
  method: 'GET',
  path: '/',
  clientIp: '203.0.113.7',
  header: () => undefined,
  raw: undefined,
};
const hourly = () => rateLimit({ name: 'hourly', limit: 2, window: '1h' });

function setUp() {
  const register = new Registry();
  const observer = prometheusObserver({ register });
  const scraped = async (line: string) => (await register.metrics()).split('\n').includes(line);
  return { register, observer, scraped };
}

/** A store in memory that answers later and can fail. */
class FlakyStore implements Store {
  readonly sync = false;
  away = false;
  private readonly memory = memoryStore();

  async apply(steps: Parameters<Store['apply']>[0]) {
    if (this.away) throw new Error('away');
    return this.memory.apply(steps);
  }
}

describe('the observer for prom-client', () => {
  afterEach(() => defaultRegister.clear());

  it('registers with prom-client itself unless told otherwise', async () => {
    const observer = prometheusObserver();
    await createGuard(hourly(), { observers: [observer] }).admit(request);
    expect(await defaultRegister.metrics()).toContain(
      'spillway_decisions_total{limiter="hourly",outcome="allowed",reason="",priority="",plan=""} 1',
    );
  });

  it('counts limits without HTTP: their decisions, the calls of their store and its failures', async () => {
    const { register, observer, scraped } = setUp();
    const store = remoteStore(new FlakyStore());
    const settings = { store, observers: [observer], logger: false } as const;
    const limiter = createLimiter({ name: 'jobs', limit: 1, window: '1h' }, settings);
    for (let i = 0; i < 3; i += 1) await limiter.consume('ada');
    await limiter.peek('ada');
    store.away = true;
    await limiter.consume('bob');
    const of = (rest: string) => `spillway_decisions_total{limiter="jobs",${rest}`;
    for (const line of [
      of('outcome="allowed",reason="",priority="",plan=""} 1'),
      of('outcome="denied",reason="rate",priority="",plan=""} 2'),
      of('outcome="error",reason="",priority="",plan=""} 1'),
      'spillway_faults_total{limiter="jobs",source="store"} 1',
    ]) {
      expect(await scraped(line), line).toBe(true);
    }
    // The denial cache answered the third request.
    expect(await register.metrics()).toMatch(
      /spillway_store_call_duration_seconds_count\{outcome="ok"\} 3/,
    );
  });

  it('begins all names as it is told', async () => {
    const register = new Registry();
    prometheusObserver({ register, prefix: 'api_' });
    const names = register.getMetricsAsArray().map(({ name }) => name);
    expect(names).toHaveLength(20);
    expect(names.every((name) => name.startsWith('api_'))).toBe(true);
  });

  it.each(['', '1st_', 'my-api_', 'a b'])('refuses the prefix %j', (prefix) => {
    expect(() => prometheusObserver({ register: new Registry(), prefix })).toThrow(
      'prefix must be',
    );
  });

  it('refuses a second life in one registry, which would count half', () => {
    const { register } = setUp();
    expect(() => prometheusObserver({ register })).toThrow('use one observer for all guards');
    expect(() => prometheusObserver({ register, prefix: 'other_' })).not.toThrow();
  });

  it('serves several guards, and adds up what has one name', async () => {
    const { observer, scraped } = setUp();
    const guards = [hourly(), hourly()].map((l) => createGuard(l, { observers: [observer] }));
    for (const guard of guards) await guard.admit(request);
    expect(
      await scraped(
        'spillway_decisions_total{limiter="hourly",outcome="allowed",reason="",priority="",plan=""} 2',
      ),
    ).toBe(true);
  });

  it('tells an outage of a store once, however many guards have it, and when it ends', async () => {
    const { observer, scraped } = setUp();
    const store = remoteStore(new FlakyStore());
    const breaker = { failures: 1, probeEvery: 1 };
    const options = { store, breaker, logger: false, observers: [observer] } as const;
    const guards = [hourly(), hourly()].map((limiter) => createGuard(limiter, options));
    const admitAll = () => Promise.all(guards.map((guard) => guard.admit(request)));
    expect(await scraped('spillway_breaker_open 0')).toBe(true);
    expect(await scraped('spillway_breaker_openings_total{reason="failures"} 0')).toBe(true);
    store.away = true;
    await admitAll();
    expect(await scraped('spillway_breaker_open 1')).toBe(true);
    expect(await scraped('spillway_breaker_openings_total{reason="failures"} 1')).toBe(true);
    store.away = false;
    const recovers = () => admitAll().then(() => scraped('spillway_breaker_open 0'));
    await expect.poll(recovers).toBe(true);
    expect(await scraped('spillway_breaker_openings_total{reason="failures"} 1')).toBe(true);
  });

  it('measures calls of the store in seconds', async () => {
    const { register, observer } = setUp();
    const options = { store: remoteStore(new FlakyStore()), observers: [observer] };
    await createGuard(hourly(), options).admit(request);
    const text = await register.metrics();
    const sum = /^spillway_store_call_duration_seconds_sum\{outcome="ok"\} (\S+)$/m.exec(text);
    expect(Number(sum?.[1])).toBeGreaterThan(0);
    expect(Number(sum?.[1])).toBeLessThan(0.05); // it was answered before the deadline
    expect(text).toContain('_bucket{le="0.05",outcome="ok"} 1');
  });

  it('has gauges only of what it watches', async () => {
    const { register, observer } = setUp();
    const gauges = async () =>
      (await register.metrics()).split('\n').filter((line) => /^spillway_(per|sig|sh)/.test(line));
    expect(await gauges()).toEqual([]);
    const reading = { value: 1.25, ageMs: 0 };
    let load: typeof reading | undefined = reading;
    const signal = { name: 'pool', read: () => load };
    observer.watch({ guards: [{ inProgress: 3 }, { inProgress: 4 }], signals: [signal] });
    observer.watch({ shedders: [{ name: 'workers', shedAmount: 0.5, brakeFraction: 0.1 }] });
    expect(await gauges()).toEqual([
      'spillway_permits_in_progress 7',
      'spillway_shed_amount{limiter="workers"} 0.5',
      'spillway_signal_value{signal="pool"} 1.25',
    ]);
    load = undefined; // without data there is no value, not the last one
    expect(await gauges()).toHaveLength(2);
  });

  it('can be scraped when a signal fails', async () => {
    const { register, observer } = setUp();
    const read = () => {
      throw new Error('sensor');
    };
    observer.watch({ signals: [{ name: 'pool', read }] });
    expect(await register.metrics()).toContain('spillway_breaker_open 0');
  });

  it('adds up the permits and jobs of the workers of a cluster, and shows the worst of their loads', async () => {
    const workers = [0.2, 0.6].map((shedAmount) => {
      const { register, observer } = setUp();
      const shedder = { name: 'workers', shedAmount, brakeFraction: 0 };
      const shaper = { name: 'mails', waiting: 2, running: 1 };
      observer.watch({ guards: [{ inProgress: 3 }], shedders: [shedder], shapers: [shaper] });
      return register.getMetricsAsJSON();
    });
    const text = await AggregatorRegistry.aggregate(await Promise.all(workers)).metrics();
    expect(text).toContain('spillway_permits_in_progress 6');
    expect(text).toContain('spillway_jobs_waiting{limiter="mails"} 4');
    expect(text).toContain('spillway_jobs_running{limiter="mails"} 2');
    expect(text).toContain('spillway_shed_amount{limiter="workers"} 0.6');
  });

  it('speaks OpenMetrics too', async () => {
    const register = new Registry();
    register.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never);
    const observer = prometheusObserver({ register });
    await createGuard(hourly(), { observers: [observer] }).admit(request);
    const text = await register.metrics();
    expect(text).toContain('# TYPE spillway_decisions counter');
    expect(text).toContain('spillway_decisions_total{limiter="hourly",outcome="allowed"');
  });
});
