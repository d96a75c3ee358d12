/** Probable mistakes: one line for each, once, which `validate` silences; no request fails because of them. */

import * as core from '@spillway/core';
import { clientOf, compileAddressing, type Exchange, Gate, Notices } from '@spillway/core/adapter';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { createShaper } from '@spillway/outgoing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';

const { createGuard, createLimiter, createLimiters, memoryStore, rateLimit } = core;
const hour = { name: 'one', limit: 100, window: '1h' } as const;

const store = memoryStore();

/** An exchange that does nothing. */
const exchange: Exchange = {
  isGone: () => false,
  onClosed: () => undefined,
  getHeader: () => undefined,
  setHeader: () => undefined,
  reject: () => undefined,
};

/** A logger, and its lines. */
function listener() {
  const lines: string[] = [];
  return { lines, logger: { warn: (line: string) => void lines.push(line) } };
}

describe('a line', () => {
  it('comes once for a code and limiter, whichever guard with this logger tells it', () => {
    const { lines, logger } = listener();
    const tell = (of?: string) => new Notices({ logger }).tell('SPW_WINDOW_SHORT', `of ${of}`, of);
    for (const of of ['a', 'a', 'b', undefined, undefined]) tell(of);
    expect(lines).toHaveLength(3);
    const page = 'https://github.com/spillway/spillway/blob/main/docs/errors.md#spw_window_short';
    expect(lines[0]).toBe(`Spillway: of a (SPW_WINDOW_SHORT). See ${page}`);
  });

  it('comes to each logger', () => {
    const [one, other] = [listener(), listener()];
    for (const { logger } of [one, other]) createLimiter({ limit: 1, window: 60 }, { logger });
    expect([one.lines.length, other.lines.length]).toEqual([1, 1]);
  });

  it('does not fail with a logger that throws, or rejects', async () => {
    const throwing = () => {
      throw new Error('full');
    };
    for (const warn of [throwing, async () => throwing()]) {
      const limiter = createLimiter({ limit: 1, window: 60 }, { logger: { warn } });
      expect(limiter.consume('ada').allowed).toBe(true);
    }
    await Promise.resolve(); // a rejection that nobody handles would end the process
  });

  it('is forgotten when there are too many others: nothing grows with what callers send', () => {
    const { lines, logger } = listener();
    const notices = new Notices({ logger });
    for (let i = 0; i < 2_000; i += 1) notices.tell('SPW_WINDOW_SHORT', '', `${i}`);
    notices.tell('SPW_WINDOW_SHORT', '', '1999');
    expect(lines).toHaveLength(2_000);
    notices.tell('SPW_WINDOW_SHORT', '', '0');
    expect(lines).toHaveLength(2_001);
  });

  it.each([
    [undefined, 1],
    [true, 1],
    [false, 0],
    [{}, 1],
    [{ SPW_WINDOW_SHORT: false }, 0],
    [{ SPW_WINDOW_SHORT: true }, 1],
    [{ SPW_ADDRESS_UNKNOWN: false }, 1],
  ])('is silenced by validate: %j', (validate, count) => {
    const { lines, logger } = listener();
    createGuard(rateLimit({ ...hour, window: 60 }), { logger, validate });
    expect(lines).toHaveLength(count);
  });

  it('is not written with logger: false', () => {
    const notices = new Notices({ logger: false });
    expect(notices.reports('SPW_WINDOW_SHORT')).toBe(false);
    expect(() => notices.tell('SPW_WINDOW_SHORT', '')).not.toThrow();
  });
});

it.each(['no', 1, null, []])('validate cannot be %j', (validate) => {
  const make = () => createLimiter(hour, { validate: validate as never });
  expect(make).toThrow(
    'validate must be true, false, or an object such as { SPW_WINDOW_SHORT: false }',
  );
  const flag = () => createLimiter(hour, { validate: { SPW_WINDOW_SHORT: validate as never } });
  expect(flag).toThrow('validate.SPW_WINDOW_SHORT must be true or false');
});

it('what is thrown is thrown, whatever validate says', () => {
  expect(() => createGuard([], { validate: false })).toThrow('SPW_LIMITER_INVALID');
  expect(() => createGuard(rateLimit(hour), { validate: false, windowMs: 5 } as object)).toThrow(
    'SPW_OPTION_UNKNOWN',
  );
});

describe('a short window', () => {
  const said = (make: (settings: { logger: core.Logger }) => unknown): string[] => {
    const { lines, logger } = listener();
    make({ logger });
    return lines;
  };

  it.each([60, 999.999, 500])('of a limit is told: %j', (window) => {
    const rule = { name: 'w', limit: 1, window } as const;
    expect(said((settings) => createGuard(rateLimit(rule), settings))).toHaveLength(1);
    expect(said((settings) => createLimiter(rule, settings))).toHaveLength(1);
    expect(said((settings) => createLimiters({ w: { limit: 1, window } }, settings))).toHaveLength(
      1,
    );
  });

  it.each([1_000, '1s', '1m', '999ms', '0.5s'])('is not this one: %j', (window) => {
    const rule = { name: 'w', limit: 1, window };
    expect(said((settings) => createGuard(rateLimit(rule), settings))).toEqual([]);
    expect(said((settings) => createLimiter(rule, settings))).toEqual([]);
    expect(said((settings) => createLimiters({ w: { limit: 1, window } }, settings))).toEqual([]);
  });

  it('of a shaper is told where it is a number', () => {
    expect(said((settings) => createShaper({ limit: 1, window: '250ms' }, settings))).toEqual([]);
    const [line] = said((settings) => createShaper({ limit: 1, window: 60 }, settings));
    expect(line).toContain('the window of shaper "1-per-60ms" is 60 ms');
  });
});

describe('a key that is an address', () => {
  const lines = (key: core.RateLimitOptions<{ ip: string }>['key']): string[] => {
    const heard = listener();
    createGuard(rateLimit({ ...hour, key }), { logger: heard.logger });
    return heard.lines;
  };

  it('is told', () => {
    expect(lines(({ raw }) => raw.ip)).toHaveLength(1);
    expect(lines(({ raw: { ip } }) => ip)).toHaveLength(1);
    expect(lines((request) => request.header('x-real-ip'))).toHaveLength(1);
    const heard = listener();
    const limit = core.concurrencyLimit<{ ip: string }>({ limit: 5, key: ({ raw }) => raw.ip });
    createGuard(limit, { logger: heard.logger });
    expect(heard.lines).toHaveLength(1);
  });

  it('is right in its canonical form, and other keys are', () => {
    expect(lines(({ clientIp }) => `ip ${clientIp}`)).toEqual([]);
    expect(lines(({ raw }) => core.canonicalAddress(raw.ip))).toEqual([]);
    expect(lines((request) => request.header('x-zip-code'))).toEqual([]);
  });
});

describe('callers without an address', () => {
  const admit = (limit: Partial<core.RateLimitOptions>, clientIp?: string): string[] => {
    const { lines, logger } = listener();
    const guard = createGuard(rateLimit({ ...hour, ...limit }), { logger });
    for (let i = 0; i < 3; i += 1) guard.admit(request({ clientIp }));
    return lines;
  };

  it('are told once, in shadow too', () => {
    expect(admit({})).toHaveLength(1);
    expect(admit({ mode: 'shadow' })).toHaveLength(1);
    expect(admit({ key: () => undefined })).toHaveLength(1);
  });

  it('are none where the limit is off, has a key, or the address is known', () => {
    expect(admit({ mode: 'off' })).toEqual([]);
    expect(admit({ key: 'all' })).toEqual([]);
    expect(admit({ key: '@unknown' })).toEqual([]);
    expect(admit({}, '203.0.113.7')).toEqual([]);
  });
});

describe('limiters without a store', () => {
  it('are told when there are 1,000 of them', () => {
    const { lines, logger } = listener();
    const clock = new ManualClock(); // has a separate memory
    const settings = { logger, clock };
    for (let i = 0; i < 999; i += 1) createLimiter({ limit: 1, window: '1m' }, settings);
    expect(lines).toEqual([]);
    for (let i = 0; i < 3; i += 1) createLimiter({ limit: 1, window: '1m' }, settings);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('limiters are created in request handlers');
  });

  it('are not those with one', () => {
    const { lines, logger } = listener();
    const store = memoryStore();
    for (let i = 0; i < 1_100; i += 1) createLimiter(hour, { logger, store });
    expect(lines).toEqual([]);
  });
});

describe('fields of proxies', () => {
  const XFF = { 'x-forwarded-for': '203.0.113.7' };
  const asked = (options: Parameters<typeof compileAddressing>[0] = {}) => {
    const { lines, logger } = listener();
    const addressing = compileAddressing(options, new Notices({ logger }));
    const ask = (headers: Record<string, string>, peer = '10.0.0.1') =>
      clientOf(addressing, peer, { header: (name) => headers[name] });
    return { ask, lines };
  };

  it('are looked for at the first 100 requests, and then at one of 100', () => {
    const { ask, lines } = asked();
    for (let i = 0; i < 100; i += 1) ask({});
    for (let i = 0; i < 99; i += 1) ask(XFF);
    expect(lines).toEqual([]);
    ask(XFF);
    expect(lines).toHaveLength(1);
  });

  it('are nothing to tell where a proxy is trusted, or none is there', () => {
    for (const trustProxy of [1, ['10.0.0.0/8'], false, 0, []] as const) {
      const { ask, lines } = asked({ trustProxy });
      ask(XFF);
      expect(lines).toEqual([]);
    }
  });

  it('are nothing to tell where the app took the address from one', () => {
    const { ask, lines } = asked();
    ask({ 'cf-connecting-ip': '203.0.113.7', ...XFF }, '203.0.113.7');
    expect(lines).toEqual([]);
  });

  it('are told without a number where an entry is no address, or there are many', () => {
    for (const value of ['unknown', Array.from({ length: 20 }, (_, i) => `10.0.0.${i}`).join()]) {
      const { ask, lines } = asked();
      ask({ 'x-forwarded-for': value }, '192.0.2.1');
      expect(lines[0]).toContain('set trustProxy to the number of proxies; if there is no proxy');
    }
  });
});

describe('a count that is charged twice', () => {
  /** The lines of two guards of these limits, on one request. */
  const both = async (
    one: Partial<core.RateLimitOptions>,
    other: Partial<core.RateLimitOptions>,
    [store, otherStore = store]: readonly (core.Store | undefined)[] = [memoryStore()],
  ): Promise<readonly string[]> => {
    const { lines, logger } = listener();
    const limits = [one, other].map((limit) => rateLimit({ ...hour, ...limit }));
    const stores = [store, otherStore];
    const holder = {};
    for (const [i, limit] of limits.entries()) {
      const gate = new Gate(limit, { logger, store: stores[i] });
      await gate.enter(request(), exchange, holder);
    }
    return lines;
  };

  it('is told', async () => {
    expect(await both({}, {})).toHaveLength(1);
    const memory = memoryStore();
    const later: core.Store = remoteStore({
      sync: false,
      apply: async (steps) => memory.apply(steps),
    });
    expect(await both({}, {}, [later])).toHaveLength(1);
  });

  it('is none with another name, key or store, or without a cost', async () => {
    expect(await both({}, { name: 'two' })).toEqual([]);
    expect(await both({}, { key: 'ada' })).toEqual([]);
    expect(await both({}, { cost: 0 })).toEqual([]);
    expect(await both({}, {}, [memoryStore(), memoryStore()])).toEqual([]);
    expect(await both({}, {}, [undefined])).toEqual([]); // without a store each limiter counts for itself
  });

  it('is none where one guard is to decide several times on a request', async () => {
    const { lines, logger } = listener();
    const gates = [0, 1].map(() => new Gate(rateLimit(hour), { logger, store }));
    const holder = {};
    for (const gate of [...gates, ...gates]) gate.decide(request(), exchange, holder);
    expect(lines).toEqual([]);
  });
});
