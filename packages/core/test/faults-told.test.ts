/** Faults are logged if there is no onFault: what failed, and what happens instead, once a minute. */

import {
  concurrencyLimit,
  createGuard,
  createLimiter,
  type GuardOptions,
  type Limiter,
  rateLimit,
  SpillwayError,
  type Store,
} from '@spillway/core';
import { tellAdapterFault, tellFault } from '@spillway/core/adapter';
import { remoteStore } from '@spillway/core/store';
import { fakeTime, request } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { two } from './guard-set-up.js';

fakeTime();

const fails = () => {
  throw new TypeError('no user');
};

function listen() {
  const lines: string[] = [];
  const logger = { warn: (line: string) => lines.push(line) };
  return { lines, logger };
}

function setUp(limiters: Limiter | readonly Limiter[], options: GuardOptions = {}) {
  const heard = listen();
  const guard = createGuard(limiters, { logger: heard.logger, ...options });
  return { ...heard, admit: async () => guard.admit(request()) };
}

function failing(error: unknown): Store {
  return remoteStore({ sync: false, apply: () => Promise.reject(error) });
}

const storeError = (kind: string) => new SpillwayError('SPW_STORE_ERROR', 'no answer', { kind });

describe('a fault that nobody hears', () => {
  it.each([
    ['key', { key: fails }, "the client's address is counted instead"],
    ['cost', { cost: fails }, 'a cost of 1 is charged instead'],
    ['plan', { plan: fails }, 'the declared numbers apply'],
    ['mode', { mode: fails }, 'the limit is enforced'],
  ])('of %s is told in a line that says what happens instead', async (source, options, instead) => {
    const { lines, admit } = setUp(rateLimit({ ...two, ...options }));
    await admit();
    expect(lines).toEqual([
      `Spillway: limiter "two": ${source} failed with TypeError: no user; ${instead}.`,
    ]);
  });

  it('says what was returned', async () => {
    const mode = (async () => 'off') as unknown as () => 'off';
    const { lines, admit } = setUp([
      rateLimit({ ...two, mode }),
      concurrencyLimit({ name: 'now', limit: 5, plan: () => ({ limit: 0.5 }) }),
    ]);
    await admit();
    expect(lines).toEqual([
      'Spillway: mode of limiter "two" returned a promise: it must return the value itself; the limit is enforced.',
      'Spillway: limiter "now": plan failed with limit must be an integer from 1 to 1,000,000,000, got 0.5 (SPW_LIMIT_INVALID); the declared numbers apply. See https://github.com/spillway/spillway/blob/main/docs/errors.md#spw_limit_invalid',
    ]);
  });

  it('is told once a minute for each limiter and source, with how often it happened since', async () => {
    const { lines, admit } = setUp([
      rateLimit({ ...two, key: fails, cost: fails }),
      rateLimit({ ...two, name: 'other', key: fails }),
    ]);
    for (let i = 0; i < 10; i += 1) await admit();
    expect(lines).toHaveLength(3);
    vi.advanceTimersByTime(59_999);
    await admit();
    expect(lines).toHaveLength(3);
    vi.advanceTimersByTime(1);
    await admit();
    expect(lines.slice(3)).toHaveLength(3);
    expect(lines[3]).toMatch(/instead\. It has happened 10 more times in the last 60 s\.$/);
  });

  it('is told once, however many guards have the limiter', async () => {
    const { lines, logger } = listen();
    const limiter = rateLimit({ ...two, key: fails });
    for (let i = 0; i < 5; i += 1) createGuard(limiter, { logger }).admit(request());
    expect(lines).toHaveLength(1);
  });

  it('is told on the console unless told otherwise', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    try {
      createGuard(rateLimit({ ...two, name: 'on the console', key: fails })).admit(request());
      expect(warn).toHaveBeenCalledTimes(1);
      createGuard(rateLimit({ ...two, name: 'silent', key: fails }), { logger: false }).admit(
        request(),
      );
      tellFault(undefined, { limiter: '', source: 'adapter', error: 1 }, false);
      expect(warn).toHaveBeenCalledTimes(1);
    } finally {
      warn.mockRestore();
    }
  });

  it('is told once to an observer that an adapter lists twice', () => {
    const onFault = vi.fn();
    const observer = { onFault };
    tellAdapterFault({ observers: [observer, observer], logger: false }, new Error('a bug'));
    expect(onFault).toHaveBeenCalledTimes(1);
  });

  it('is told in one line of bounded length, whatever a client has put into it', async () => {
    const hostile = () => {
      const error = new Error(`bad\r\n2026-01-01 root logged in \u202e${'x'.repeat(10_000)}`);
      throw Object.assign(error, { name: 'Error\n2026' });
    };
    const { lines, admit } = setUp(rateLimit({ ...two, key: hostile }));
    await admit();
    expect(lines[0]).toMatch(/^[\x20-\x7e]{100,400}$/);
  });

  it.each([
    ['throws', fails],
    ['rejects', async () => fails()],
  ])('changes nothing if the logger %s', async (_, warn) => {
    const guard = createGuard(rateLimit({ ...two, key: fails }), { logger: { warn } });
    expect(guard.admit(request())).toMatchObject({ allowed: true });
  });

  it('is told through a logger that cannot be extended', async () => {
    const warn = vi.fn();
    createGuard(rateLimit({ ...two, key: fails }), { logger: Object.freeze({ warn }) }).admit(
      request(),
    );
    expect(warn).toHaveBeenCalledTimes(1);
  });
});

describe('a fault that somebody hears', () => {
  it('has no line', async () => {
    const onFault = vi.fn();
    const { lines, admit } = setUp(rateLimit({ ...two, key: fails }), { onFault });
    await admit();
    expect(onFault).toHaveBeenCalledTimes(1);
    expect(lines).toEqual([]);
  });

  it('has one if only metrics count it', async () => {
    const { lines, admit } = setUp(rateLimit({ ...two, key: fails }), {
      observers: [{ onFault: () => undefined }],
    });
    await admit();
    expect(lines).toHaveLength(1);
  });
});

describe('a store that fails', () => {
  it('with an error of one call is told of once a minute for each kind, by a guard or a limiter', async () => {
    const { lines, logger } = listen();
    const kinds = ['noperm', 'script', 'noperm', 'reply'];
    const store: Store = remoteStore({
      sync: false,
      apply: () => Promise.reject(storeError(kinds.shift() ?? 'noperm')),
    });
    const guard = createGuard(rateLimit(two), { store, logger });
    const limiter = createLimiter({ ...two, name: 'direct' }, { store, logger });
    for (let i = 0; i < 2; i += 1) await guard.admit(request());
    for (let i = 0; i < 4; i += 1) await limiter.consume('ada');
    const see = `See ${storeError('noperm').help}`;
    expect(lines).toEqual([
      `Spillway: limiter "two": the store failed with no answer (SPW_STORE_ERROR); onStoreError decides. ${see}`,
      `Spillway: limiter "two": the store failed with no answer (SPW_STORE_ERROR); onStoreError decides. ${see}`,
      `Spillway: limiter "direct": the store failed with no answer (SPW_STORE_ERROR); onStoreError decides. ${see}`,
    ]);
    vi.advanceTimersByTime(60_000);
    await limiter.consume('ada');
    expect(lines[3]).toContain(`3 more times in the last 60 s. ${see}`);
  });

  it('with an error that its breaker does not count is told of at once', async () => {
    const { lines, logger } = listen();
    const store = failing(new SpillwayError('SPW_VALUE_INVALID', 'too long'));
    await createLimiter(two, { store, logger }).consume('ada');
    expect(lines).toEqual([expect.stringContaining('too long (SPW_VALUE_INVALID)')]);
  });

  it('in an outage is told of by its breaker, and after a minute again while it lasts', async () => {
    const { lines, logger } = listen();
    const store = failing(new Error('gone'));
    const guard = createGuard(rateLimit(two), { store, logger, breaker: { probeEvery: '1h' } });
    for (let i = 0; i < 20; i += 1) await guard.admit(request());
    expect(lines).toHaveLength(1);
    vi.advanceTimersByTime(60_000);
    for (let i = 0; i < 20; i += 1) await guard.admit(request());
    expect(lines.slice(1)).toHaveLength(1);
    expect(lines[1]).toContain('onStoreError decides.');
  });

  it('now and then, so that its breaker never opens, is told of after a minute', async () => {
    const { lines, logger } = listen();
    const limiter = createLimiter(two, { store: failing(new Error('gone')), logger });
    await limiter.consume('ada');
    expect(lines).toEqual([]);
    vi.advanceTimersByTime(60_000);
    await limiter.consume('ada');
    expect(lines).toHaveLength(1);
  });

  it('is told of at once without a breaker', async () => {
    const { lines, logger } = listen();
    const store = failing(new Error('gone'));
    await createLimiter(two, { store, logger, breaker: false }).consume('ada');
    expect(lines).toEqual([
      'Spillway: limiter "two": the store failed with Error: gone; onStoreError decides.',
    ]);
  });
});

describe('a log of faults', () => {
  it('keeps no more than a thousand sources apart, the oldest make room', () => {
    const { lines, logger } = listen();
    const tell = (limiter: string) =>
      tellFault(undefined, { limiter, source: 'key', error: 1 }, logger);
    for (let i = 0; i < 3_000; i += 1) tell(`limiter ${i}`);
    tell('limiter 2999');
    expect(lines).toHaveLength(3_000);
    tell('limiter 0');
    expect(lines).toHaveLength(3_001);
  });
});
