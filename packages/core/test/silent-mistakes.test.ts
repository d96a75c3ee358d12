/** Mistakes that fail no request and that nobody would notice: each is one line in the log, or none if silenced. */

import {
  calendar,
  concurrencyLimit,
  createGuard,
  createLimiter,
  type GuardOptions,
  type KeyedLimiterOptions,
  type LimitRequest,
  memoryStore,
  rateLimit,
  type Store,
} from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';

afterEach(() => void vi.unstubAllEnvs());

const hour = { limit: 100_000, window: '1h' } as const;

function logged() {
  const lines: string[] = [];
  const logger = { warn: (line: string) => void lines.push(line) };
  return { lines, logger };
}

const request = (clientIp = '203.0.113.7', raw: unknown = {}): LimitRequest => ({
  method: 'GET',
  path: '/',
  clientIp,
  header: () => undefined,
  raw,
});

/** The lines of a guard of one limiter with this key. */
function linesFor(key: unknown, options: GuardOptions = {}): readonly string[] {
  const { lines, logger } = logged();
  createGuard(rateLimit({ ...hour, name: 'one', key: key as never }), { logger, ...options });
  return lines;
}

describe('a key that reads the limit request as if it were the framework request', () => {
  // Texts, so that no build step rewrites them.
  const functionOf = (text: string) => new Function(`return (${text})`)() as () => string;

  it.each([
    ['(req) => req.user?.id', 'user'],
    ['req => req.user.id', 'user'],
    ['async (req) => (await load(req)) ?? req.session.id', 'session'],
    ['function (request) { return request.auth?.sub }', 'auth'],
    ['function keyOf($req) { return $req.body?.email }', 'body'],
    ['({ user }) => user?.id', 'user'],
    ['({ path, user: { id } }) => id', 'user'],
    ["(r) => r.headers?.['x-api-key']", 'headers'],
  ])('%s', (text, property) => {
    const lines = linesFor(functionOf(text));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(
      `reads ${property} of the limit request, which has no such property: read raw.${property}`,
    );
    expect(lines[0]).toContain('SPW_KEY_MISREAD');
    expect(linesFor(functionOf(text), { validate: { SPW_KEY_MISREAD: false } })).toEqual([]);
    expect(linesFor(functionOf(text), { validate: false })).toEqual([]);
  });

  it.each([
    '({ raw }) => raw.user?.id',
    '(req) => req.raw.user?.id',
    '({ raw: { user } }) => user?.id',
    '({ raw: req }) => req.user?.id',
    '({ header }) => header("x-api-key")',
    '(r) => { const user = r.raw.user; return user.id }',
    '(r) => r.header("session")',
    '(r) => r.userOf?.session',
    '() => current.user.id',
    '(r) => other.user.id + r.path',
  ])('is no mistake in %s', (text) => {
    expect(linesFor(functionOf(text))).toEqual([]);
  });
});

describe('a text in place of a function for the key', () => {
  it.each(['x-api-key', 'ip', 'req.ip', 'userId', 'Authorization', 'api-key'])('%s', (key) => {
    const lines = linesFor(key);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`is the string "${key}", the same for all callers`);
    expect(lines[0]).toContain('SPW_KEY_CONSTANT');
    expect(linesFor(key, { validate: { SPW_KEY_CONSTANT: false } })).toEqual([]);
  });

  it.each(['all', 'everybody', 'provider', 'shipping'])('is meant in %s', (key) => {
    expect(linesFor(key)).toEqual([]);
  });
});

describe('a key function that does not tell callers apart', () => {
  async function afterRequests(key: unknown, addresses: number, requests = addresses) {
    const { lines, logger } = logged();
    const limiters = [
      rateLimit({ ...hour, name: 'one', key: key as never }),
      concurrencyLimit({ name: 'two', limit: 1_000_000, key: key as never }),
    ];
    const guard = createGuard(limiters, { logger, clock: new ManualClock() });
    for (let i = 0; i < requests; i += 1) await guard.admit(request(`address ${i % addresses}`, i));
    return lines;
  }

  it('is told at the thousandth address, once for each limiter', async () => {
    expect(await afterRequests(() => 'all', 999, 3_000)).toEqual([]);
    const lines = await afterRequests(async () => 'all', 1_000, 3_000);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain('the key of limiter "one" was the same for 1000 addresses');
    expect(lines[0]).toContain('SPW_KEY_CONSTANT');
  });

  it.each([
    undefined,
    () => {
      throw new Error('none');
    },
  ])('asks nobody for an address, %s', async (clientIp) => {
    const { lines, logger } = logged();
    const limiter = rateLimit<Request>({ ...hour, key: () => 'all' });
    const limits = fetchGuard(limiter, { logger, ...(clientIp && { clientIp }) });
    const handler = limits.wrap(() => new Response('hello'));
    const headers = { 'x-forwarded-for': '203.0.113.7' };
    for (let i = 0; i < 3; i += 1) await handler(new Request('http://a/', { headers }));
    expect(lines).toEqual([]);
  });

  it('is told of clients behind a proxy that is trusted', async () => {
    const { lines, logger } = logged();
    const limiter = rateLimit<Request>({ ...hour, key: () => 'all' });
    const limits = fetchGuard(limiter, { logger, clientIp: () => '10.0.0.1', trustProxy: 1 });
    const handler = limits.wrap(() => new Response('hello'));
    for (let i = 0; i < 1_000; i += 1) {
      const headers = { 'x-forwarded-for': `203.0.${Math.floor(i / 250)}.${i % 250}` };
      await handler(new Request('http://a/', { headers }));
    }
    expect(lines).toEqual([expect.stringContaining('was the same for 1000 addresses')]);
  });

  it.each<[string, () => string | undefined]>([
    ['has none', () => undefined],
    [
      'is asked and throws',
      () => {
        throw new Error('none');
      },
    ],
  ])('is told of clients behind a counted proxy whose own address %s', async (_, clientIp) => {
    const { lines, logger } = logged();
    const limiter = rateLimit<Request>({ ...hour, key: () => 'all' });
    const limits = fetchGuard(limiter, { logger, clientIp, trustProxy: 1 });
    const handler = limits.wrap(() => new Response('hello'));
    for (let i = 0; i < 1_000; i += 1) {
      const headers = { 'x-forwarded-for': `203.0.${Math.floor(i / 250)}.${i % 250}` };
      await handler(new Request('http://a/', { headers }));
    }
    expect(lines).toEqual([expect.stringContaining('was the same for 1000 addresses')]);
  });

  it('is not told after 10,000 requests of fewer addresses', async () => {
    const { lines, logger } = logged();
    const guard = createGuard(rateLimit({ ...hour, key: () => 'all' }), { logger });
    for (let i = 0; i < 10_000; i += 1) await guard.admit(request(`address ${i % 999}`));
    for (let i = 0; i < 1_000; i += 1) await guard.admit(request(`other ${i}`));
    expect(lines).toEqual([]);
  });

  it('is not told where any other key came, where a text was given, or none', async () => {
    const almost = ({ raw }: LimitRequest) => (raw === 500 ? 'other' : 'all');
    expect(await afterRequests(almost, 5_000)).toEqual([]);
    expect(await afterRequests('all', 5_000)).toEqual([]);
  });
});

describe('shadow mode in production', () => {
  const shadow = (env: string, options: GuardOptions = {}) => {
    vi.stubEnv('NODE_ENV', env);
    const { lines, logger } = logged();
    const limiters = ['a', 'b', 'c'].map((name) =>
      rateLimit({ ...hour, name, mode: name === 'c' ? 'enforce' : 'shadow' }),
    );
    createGuard(limiters, { logger, ...options });
    return lines;
  };

  it('is one line for a guard, which names the limiters', () => {
    const [line, ...more] = shadow('production');
    expect(more).toEqual([]);
    expect(line).toContain('"a", "b" in shadow mode');
    expect(line).toContain('SPW_SHADOW_IN_PRODUCTION');
    expect(shadow('production', { mode: 'shadow' })[0]).toContain('"a", "b", "c" in shadow mode');
  });

  it('names each limiter once, however many guards have it', () => {
    vi.stubEnv('NODE_ENV', 'production');
    const { lines, logger } = logged();
    const [a, b] = ['a', 'b'].map((name) => rateLimit({ ...hour, name, mode: 'shadow' as const }));
    createGuard([a as never], { logger });
    createGuard([a as never], { logger });
    createGuard([a as never, b as never], { logger });
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain('Spillway: "b" in shadow mode');
  });

  it('is no line elsewhere, for functions, or if silenced', () => {
    expect(shadow('development')).toEqual([]);
    expect(shadow('production', { validate: { SPW_SHADOW_IN_PRODUCTION: false } })).toEqual([]);
    const { lines, logger } = logged();
    createGuard(rateLimit({ ...hour, mode: () => 'shadow' }), { logger });
    expect(lines).toEqual([]);
  });
});

describe('a calendar limit in memory, in production', () => {
  const daily = { ...hour, name: 'daily', window: calendar('day') };
  const decided = (env: string, settings: KeyedLimiterOptions<Store> = {}) => {
    vi.stubEnv('NODE_ENV', env);
    const { lines, logger } = logged();
    const limiter = createLimiter(daily, { logger, ...settings });
    for (let i = 0; i < 3; i += 1) limiter.consume('ada');
    return lines;
  };

  it('is one line, however many there are', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    const { lines, logger } = logged();
    const store = memoryStore();
    const monthly = { ...hour, name: 'monthly', window: calendar('month') };
    const guards = [{}, { store }].map((own) =>
      createGuard([rateLimit(daily), rateLimit(monthly)], { logger, ...own }),
    );
    for (const guard of [...guards, ...guards]) await guard.admit(request());
    createLimiter(monthly, { logger, store }).peek('ada');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(
      '"daily" by calendar is counted in memory, though NODE_ENV is production: each restart',
    );
    expect(lines[0]).toContain('SPW_STORE_MISSING');
  });

  it('is told for limiters without HTTP, also with a memory store', () => {
    expect(decided('production')).toHaveLength(1);
    expect(decided('production', { store: memoryStore() })).toHaveLength(1);
  });

  it('is no line elsewhere, with another store, for other windows, or if silenced', async () => {
    expect(decided('development')).toEqual([]);
    expect(decided('production', { validate: { SPW_STORE_MISSING: false } })).toEqual([]);
    const memory = memoryStore();
    const store = remoteStore({ sync: true, apply: (steps) => memory.apply(steps) });
    expect(decided('production', { store })).toEqual([]);
    const { lines, logger } = logged();
    createLimiter({ ...hour, name: 'hourly' }, { logger, store: memory }).consume('ada');
    expect(lines).toEqual([]);
  });
});

describe('no store, in one of several processes', () => {
  const variables = [
    ['AWS_LAMBDA_FUNCTION_NAME', 'api', 'an instance of a Lambda function'],
    ['NODE_APP_INSTANCE', '1', 'one of several under PM2'],
  ] as const;

  it.each(variables)('%s=%s', (name, value, says) => {
    vi.stubEnv(name, value);
    const { lines, logger } = logged();
    createGuard([rateLimit({ ...hour, name: 'a' })], { logger });
    createGuard([rateLimit({ ...hour, name: 'b' })], { logger });
    createLimiter(hour, { logger });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`in this process alone, which is ${says}: set store`);
    expect(lines[0]).toContain('SPW_STORE_MISSING');

    const direct = logged();
    createLimiter(hour, { logger: direct.logger });
    expect(direct.lines).toHaveLength(1);
  });

  it.each(variables)('is no line with a store, or if silenced, with %s', (name, value) => {
    vi.stubEnv(name, value);
    const { lines, logger } = logged();
    const named = rateLimit({ ...hour, name: 'a' });
    createGuard(named, { logger, store: memoryStore() });
    createGuard(named, { logger, validate: { SPW_STORE_MISSING: false } });
    createLimiter({ ...hour, name: 'a' }, { logger, store: memoryStore() });
    expect(lines).toEqual([]);
  });

  it('is no line in the only process', () => {
    vi.stubEnv('NODE_APP_INSTANCE', '0');
    const { lines, logger } = logged();
    createGuard(rateLimit(hour), { logger });
    expect(lines).toEqual([]);
  });
});

describe('a guard that receives no requests', () => {
  function setUp(options: GuardOptions = {}, startUs?: number) {
    const clock = new ManualClock(startUs);
    const store = memoryStore({ clock });
    const { lines, logger } = logged();
    const guardOf = (name: string, own: GuardOptions = options) =>
      createGuard(rateLimit({ ...hour, name }), { store, clock, logger, ...own });
    return { clock, lines, guardOf };
  }

  it('is missed once, after 10 minutes, when another guard of its store is asked', async () => {
    const { clock, lines, guardOf } = setUp();
    guardOf('late');
    guardOf('lost');
    const asked = guardOf('asked');
    await asked.admit(request());
    clock.advance('599s');
    await asked.admit(request());
    expect(lines).toEqual([]);
    clock.advance('1s');
    await asked.admit(request());
    await asked.admit(request());
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(
      'no request reached the guard of late, or the guard of lost in 10 minutes, but other',
    );
    expect(lines[0]).toContain('SPW_GUARD_UNUSED');
  });

  it('is not missed where the clock stands at 0 until the first request, as in a Worker', async () => {
    const { clock, lines, guardOf } = setUp({}, 0);
    guardOf('late');
    const asked = guardOf('asked');
    clock.advance('20000d');
    await asked.admit(request());
    clock.advance('599s');
    await asked.admit(request());
    expect(lines).toEqual([]);
    clock.advance('1s');
    await asked.admit(request());
    expect(lines).toEqual([expect.stringContaining('the guard of late in 10 minutes')]);
  });

  it('is missed although another one was missed before', async () => {
    const { clock, lines, guardOf } = setUp();
    guardOf('lost');
    const asked = guardOf('asked');
    clock.advance('10m');
    await asked.admit(request());
    guardOf('lost later');
    clock.advance('10m');
    await asked.admit(request());
    expect(lines).toEqual([
      expect.stringContaining('the guard of lost in'),
      expect.stringContaining('the guard of lost later in'),
    ]);
  });

  it('is not missed if it had one request, was closed, is silenced, or is alone', async () => {
    const { clock, lines, guardOf } = setUp();
    await guardOf('once').admit(request());
    await guardOf('closed').close();
    guardOf('silenced', { validate: { SPW_GUARD_UNUSED: false } });
    const other = setUp();
    other.guardOf('of another store');
    const asked = guardOf('asked');
    clock.advance('1h');
    other.clock.advance('1h');
    await asked.admit(request());
    guardOf('young');
    await asked.admit(request());
    expect([...lines, ...other.lines]).toEqual([]);
  });
});
