/**
 * A wrong value in place of options, from plain JavaScript, throws an error with a code and a sentence, not a bare
 * TypeError.
 */

import * as core from '@spillway/core';
import { isSpillwayError } from '@spillway/core';
import { compareWith } from '@spillway/core/compare';
import { fetchGuard } from '@spillway/core/fetch';
import { eventLoopSignal, nodeGuard } from '@spillway/core/node';
import { topCallers } from '@spillway/core/who';
import { spillway as express } from '@spillway/express';
import { spillway as hono } from '@spillway/hono';
import { spillway as koa } from '@spillway/koa';
import { SpillwayModule } from '@spillway/nestjs';
import { openTelemetryObserver } from '@spillway/opentelemetry';
import { prometheusObserver } from '@spillway/prometheus';
import { redisControl, redisStore } from '@spillway/redis';
import { describe, expect, it } from 'vitest';

const limit = { name: 'api', limit: 5, window: '1m' } as const;
const { createGuard, createLimiter, memoryControl, rateLimit } = core;
const note = { by: 'ada', because: 'a test' };

/** What was thrown: a code, or that it was none of ours. */
function thrownBy(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return isSpillwayError(error) ? error.code : String(error);
  }
  return 'nothing';
}

// Whatever the types say: these are the callers that do not read them.
const FUNCTIONS = Object.entries({
  concurrencyLimit: core.concurrencyLimit,
  createGuard: (options: never) => createGuard(rateLimit(limit), options),
  createLimiter: core.createLimiter,
  'settings of createLimiter': (settings: never) => createLimiter(limit, settings),
  decisionLog: core.decisionLog,
  eventLoopSignal,
  express: (options: never) => express(rateLimit(limit), options),
  fetchGuard: (options: never) => fetchGuard(rateLimit(limit), options),
  fleetShedder: core.fleetShedder,
  'forRoot of NestJS': (options: never) => SpillwayModule.forRoot(options),
  'forRootAsync of NestJS': (options: never) => SpillwayModule.forRootAsync(options),
  hono: (options: never) => hono(rateLimit(limit), options),
  koa: (options: never) => koa(rateLimit(limit), options),
  memoryControl,
  memoryStore: core.memoryStore,
  nodeGuard: (options: never) => nodeGuard(rateLimit(limit), options),
  openTelemetryObserver,
  prometheusObserver,
  rateLimit,
  'compareWith of a limiter': (options: never) => compareWith(() => undefined, options),
  topCallers,
  workerShedder: core.workerShedder,
}) as [string, (options: unknown) => unknown][];

describe.each(FUNCTIONS)('%s', (_, call) => {
  it.each([null, 'text', 5, [[]]])('does not take %j as its options', (options) => {
    expect(thrownBy(() => call(options))).toBe('SPW_OPTION_INVALID');
  });
});

const REQUIRED = [
  'concurrencyLimit',
  'createLimiter',
  'fleetShedder',
  'rateLimit',
  'workerShedder',
];
it.each(FUNCTIONS.filter(([name]) => REQUIRED.includes(name)))('%s needs options', (_, call) => {
  expect(thrownBy(() => call(undefined))).toBe('SPW_OPTION_INVALID');
});

const CALLBACKS = { fetchGuard: ['clientIp', 'waitUntil'], hono: ['clientIp', 'onRejected'] };
const ADAPTERS = FUNCTIONS.filter(([name]) =>
  /^(express|fetchGuard|hono|koa|nodeGuard)$/.test(name),
);
it.each(ADAPTERS)(
  '%s refuses callbacks that cannot be called before a request meets them',
  (name, call) => {
    const callbacks = CALLBACKS[name as keyof typeof CALLBACKS] ?? ['onRejected'];
    const thrown = callbacks.map((callback) => thrownBy(() => call({ [callback]: 'no' })));
    expect(thrown).toEqual(callbacks.map(() => 'SPW_OPTION_INVALID'));
  },
);

const ofClient = { breaker: [null, 5, true], denialCache: [0, 'no'], logger: [null, 'text', {}] };
const ofGuard = {
  ...ofClient,
  control: [null, 5],
  headers: [null, 'legacy', {}],
  mode: ['of', null],
  observers: [null, {}, [null]],
  onDecision: [{}],
  onFault: ['text'],
  skip: [true],
};

describe.each([
  ['createLimiter', createLimiter, limit, ofClient],
  ['createGuard', createGuard, rateLimit(limit), ofGuard],
] as const)('%s', (_, call, first, options) => {
  const cases = Object.entries(options).flatMap(([name, values]) =>
    values.map((value) => [name, value] as const),
  );
  it.each(cases)('refuses %s: %j', (name, value) => {
    const thrown = thrownBy(() =>
      (call as (...all: unknown[]) => unknown)(first, { [name]: value }),
    );
    expect(thrown).toBe('SPW_OPTION_INVALID');
  });

  it.each([null, 0, '', false])('takes %j for no store, and not for none', (store) => {
    const thrown = thrownBy(() => (call as (...all: unknown[]) => unknown)(first, { store }));
    expect(thrown).toBe('SPW_STORE_INVALID');
  });
});

describe('a limiter that is asked by key', () => {
  const limiter = createLimiter(limit);

  it.each([3, '3', null, []])('does not charge 1 where the cost stands alone: %j', (cost) => {
    const ask = limiter.consume as (key: string, cost: unknown) => unknown;
    expect(thrownBy(() => ask.call(limiter, 'ada', cost))).toBe('SPW_COST_INVALID');
  });

  it.each([undefined, null, 'ada', Promise.resolve()])('has no refund for %s', (decision) => {
    const refund = limiter.refund as (decision: unknown) => unknown;
    expect(thrownBy(() => refund.call(limiter, decision))).toBe('SPW_OPTION_INVALID');
  });
});

it.each([
  [rateLimit, limit],
  [core.concurrencyLimit, { limit: 5 }],
  [createLimiter, limit],
])('null is no name', (make, options) => {
  const thrown = thrownBy(() => (make as (all: unknown) => unknown)({ ...options, name: null }));
  expect(thrown).toBe('SPW_NAME_INVALID');
});

it('a window that cannot be shown is a wrong window', () => {
  const window = Object.create(null) as never;
  expect(thrownBy(() => rateLimit({ limit: 5, window }))).toBe('SPW_WINDOW_INVALID');
});

it('a live setting is cleared by a list', () => {
  const clear = () => memoryControl().clear('api', note, 'mode' as never);
  expect(thrownBy(clear)).toBe('SPW_OPTION_INVALID');
});

it.each([redisStore, redisControl])('a client is told by its methods', (from) => {
  expect(thrownBy(() => from({} as never))).toBe('SPW_OPTION_INVALID');
  const secret = 'redis://:secret@localhost';
  expect(() => from(secret as never)).toThrow(/^(?!.*secret).*SPW_OPTION_INVALID/);
});

it('a registry and a meter are told by their methods', () => {
  expect(thrownBy(() => prometheusObserver({ register: {} as never }))).toBe('SPW_OPTION_INVALID');
  expect(thrownBy(() => openTelemetryObserver({ meter: {} as never }))).toBe('SPW_OPTION_INVALID');
});

it('createLimiter has no onRejected, which nobody would call', () => {
  const settings = { onRejected() {} } as core.KeyedLimiterOptions<core.SyncStore>;
  expect(thrownBy(() => createLimiter(limit, settings))).toBe('SPW_OPTION_UNKNOWN');
});
