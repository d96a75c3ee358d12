/** The observer for OpenTelemetry: its instruments, by the conventions. */

import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  type ContextManager,
  context,
  metrics,
  ROOT_CONTEXT,
  trace,
} from '@opentelemetry/api';
import { MeterProvider, type MetricData, MetricReader } from '@opentelemetry/sdk-metrics';
import { createGuard, createLimiters, memoryStore, rateLimit, type Store } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { openTelemetryObserver } from '@spillway/opentelemetry';
import { createShaper } from '@spillway/outgoing';
import { afterEach, describe, expect, it } from 'vitest';

const request = {
  method: 'GET',
  path: '/',
  clientIp: '203.0.113.7',
  header: () => undefined,
  raw: undefined,
};
const hourly = () => rateLimit({ name: 'hourly', limit: 2, window: '1h' });

class Reader extends MetricReader {
  async read(): Promise<readonly MetricData[]> {
    const { resourceMetrics } = await this.collect();
    return resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  }
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

function setUp() {
  const reader = new Reader();
  const provider = new MeterProvider({ readers: [reader] });
  const points = async (name: string) =>
    (await reader.read()).find(({ descriptor }) => descriptor.name === name)?.dataPoints;
  return { reader, provider, points };
}

/** Answers later, from memory. */
function asyncStore(): Store {
  const memory = memoryStore();
  return remoteStore({ sync: false, apply: async (steps) => memory.apply(steps) });
}

describe('the observer for OpenTelemetry', () => {
  afterEach(() => metrics.disable());

  it("takes the global provider's meter unless told otherwise", async () => {
    const { provider, points } = setUp();
    metrics.setGlobalMeterProvider(provider);
    await createGuard(hourly(), { observers: [openTelemetryObserver()] }).admit(request);
    expect(await points('spillway.decisions')).toMatchObject([{ value: 1 }]);
  });

  it('counts limits without HTTP', async () => {
    const { provider, points } = setUp();
    const observer = openTelemetryObserver({ meter: provider.getMeter('test') });
    const limits = {
      user: { limit: 1, window: '1h' },
      tenant: { limit: 9, window: '1h' },
    } as const;
    const limiters = createLimiters(limits, { store: asyncStore(), observers: [observer] });
    for (let i = 0; i < 2; i += 1) await limiters.consume({ user: 'ada', tenant: 'acme' });
    const counted = (await points('spillway.decisions')) as readonly {
      readonly value: unknown;
      readonly attributes: Readonly<Record<string, unknown>>;
    }[];
    expect(counted.map(({ attributes, value }) => [...Object.values(attributes), value])).toEqual([
      ['user', 'allowed', 1],
      ['tenant', 'allowed', 2],
      ['user', 'denied', 'rate', 1],
    ]);
  });

  it('is the same for one meter, so no count is lost where each guard makes its own', async () => {
    const { provider, points } = setUp();
    metrics.setGlobalMeterProvider(provider);
    const guards = [1, 2].map(() =>
      createGuard(hourly(), { observers: [openTelemetryObserver()] }),
    );
    for (const guard of [...guards, ...guards]) await guard.admit(request);
    expect(await points('spillway.decisions')).toMatchObject([{ value: 4 }]);
    const meter = provider.getMeter('another');
    expect(openTelemetryObserver({ meter })).toBe(openTelemetryObserver({ meter }));
    expect(openTelemetryObserver({ meter })).not.toBe(openTelemetryObserver());
  });

  it('costs nothing but counts where no provider is registered', async () => {
    const guard = createGuard(hourly(), { observers: [openTelemetryObserver()] });
    expect(await guard.admit(request)).toMatchObject({ allowed: true });
  });

  it('leaves out an attribute that has no value', async () => {
    const { provider, points } = setUp();
    const observer = openTelemetryObserver({ meter: provider.getMeter('test') });
    const guard = createGuard(hourly(), { observers: [observer] });
    for (let i = 0; i < 3; i += 1) await guard.admit(request);
    expect(await points('spillway.decisions')).toMatchObject([
      { attributes: { limiter: 'hourly', outcome: 'allowed' }, value: 2 },
      { attributes: { limiter: 'hourly', outcome: 'denied', reason: 'rate' }, value: 1 },
    ]);
    expect((await points('spillway.decisions'))?.[0]?.attributes).not.toHaveProperty('reason');
  });

  it('has names with dots, and units', async () => {
    const { provider, reader } = setUp();
    const observer = openTelemetryObserver({ meter: provider.getMeter('test') });
    observer.watch({
      guards: [{ inProgress: 3 }],
      shedders: [{ name: 'workers', shedAmount: 0.5, brakeFraction: 0.1 }],
      signals: [{ name: 'pool', read: () => ({ value: 0.5, ageMs: 0 }) }],
    });
    observer.onFault?.({ limiter: 'hourly', source: 'key', error: new Error('no key') });
    const store = asyncStore();
    await createGuard(hourly(), { store, observers: [observer] }).admit(request);
    const told = (await reader.read()).map(({ descriptor: { name, unit } }) => [name, unit]);
    expect(Object.fromEntries(told)).toEqual({
      'spillway.decisions': '{decision}',
      'spillway.faults': '{fault}',
      'spillway.memory.overflowed': '{decision}',
      'spillway.store.call.duration': 's',
      'spillway.breaker.openings': '{opening}',
      'spillway.breaker.open': '',
      'spillway.permits.in_progress': '',
      'spillway.shed.amount': '',
      'spillway.brake.fraction': '',
      'spillway.signal.value': '',
    });
  });

  it('measures calls of the store in seconds, in buckets fit for them', async () => {
    const { provider, points } = setUp();
    const observer = openTelemetryObserver({ meter: provider.getMeter('test') });
    const store = asyncStore();
    await createGuard(hourly(), { store, observers: [observer] }).admit(request);
    const [point] = (await points('spillway.store.call.duration')) ?? [];
    expect(point).toMatchObject({ attributes: { outcome: 'ok' }, value: { count: 1 } });
    const { buckets, sum } = point!.value as { buckets: { boundaries: number[] }; sum: number };
    expect(buckets.boundaries[0]).toBe(0.0005);
    expect(sum).toBeGreaterThan(0);
    expect(sum).toBeLessThan(0.05); // it was answered before the deadline
  });

  it('adds an event for each wait to the span in which a job of a shaper was scheduled', async () => {
    const events: unknown[] = [];
    const span = {
      addEvent: (name: string, attributes: object) => events.push([name, attributes]),
    };
    const contexts = new AsyncLocalStorage<Context>();
    const manager: ContextManager = {
      active: () => contexts.getStore() ?? ROOT_CONTEXT,
      with: (active, run, self, ...args) => contexts.run(active, () => run.apply(self, args)),
      bind: (_, target) => target,
      enable: () => manager,
      disable: () => manager,
    };
    context.setGlobalContextManager(manager);
    const shaper = createShaper(
      { name: 'partner', limit: 100, window: '1s' },
      { observers: [openTelemetryObserver()] },
    );
    const inSpan = trace.setSpan(ROOT_CONTEXT, span as never);
    await context.with(inSpan, () => shaper.schedule('acme', () => 'sent'));
    await shaper.schedule('acme', () => 'sent, without a span');
    await shaper.close();
    context.disable();
    const wait_ms = expect.any(Number);
    expect(events).toEqual([
      ['spillway.wait', { limiter: 'partner', wait_ms, outcome: 'started' }],
    ]);
  });
});
