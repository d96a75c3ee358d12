/** What the command says about names: it knows the limiters that processes have announced. */

import {
  calendar,
  createLimiter,
  distinct,
  fixedWindow,
  type LiveLimits,
  lockFor,
  type RuleOptions,
} from '@spillway/core';
import { makeClaimsRule, makeLeasesRule, makeShaperRule } from '@spillway/core/store';
import { redisControl, redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { because, commandOnRedis, PASSWORD } from './command.js';

const LIMITERS = 'spw:{%control}limiters';
/** How long a test waits for something that must happen soon. */
const soon = { timeout: 10_000, interval: 10 };

describe.skipIf(redisProgram === null)('spillway', () => {
  const { redis, port, spillway, json, announce } = commandOnRedis();

  describe('refuses a name that no process has announced', () => {
    /** The command waits 1.5 s for an announcement. Here these pass ten times as fast. */
    async function impatient(args: readonly string[]) {
      const now = performance.now.bind(performance);
      const fast = vi.spyOn(performance, 'now').mockImplementation(() => 10 * now());
      return spillway(args).finally(() => fast.mockRestore());
    }

    it.each([
      [['set', 'per_key', 'off', ...because]],
      [['share', 'per_key', '10%', ...because]],
      [['limits', 'per_key', '--limit', '5', ...because]],
      [['clear', 'per_key', ...because]],
      [['block', 'per_key', 'eve', ...because]],
      [['allow', 'per_key', 'eve', ...because]],
      [['unblock', 'per_key', 'eve', ...because]],
      [['limits', 'per_key', '--key', 'eve', '--factor', '2', ...because]],
      [['clear', 'per_key', '--key', 'eve', ...because]],
      [['reset', 'per_key', 'eve']],
    ])('%j, and says which there are, nearest first; not with --anyway', async (args) => {
      await announce('logins', 'api', 'per-key', 'per-ip');
      const { code, out, err } = await impatient(args);
      const inJson = await impatient([...args, '--json']);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toContain('No process has announced a limiter "per_key".');
      expect(err).toContain('Announced: per-key, per-ip, ');
      expect(err).toContain('--anyway');
      expect(await redis().keys('*')).toEqual([LIMITERS]);
      const { error } = JSON.parse(inJson.err) as { error: { code: string; known: string[] } };
      expect({ ...error, known: error.known.slice(0, 2) }).toMatchObject({
        code: 'USAGE',
        known: ['per-key', 'per-ip'],
      });
      expect(error.known).toHaveLength(4);
      expect((await spillway([...args, '--anyway'])).code).toBe(0);
    });

    it('names the parts of a shaper with this name first', async () => {
      await announce('partners', 'partner/calls', 'api');
      const { err } = await impatient(['block', 'partner', 'acme', ...because]);
      expect(err).toContain('Announced: partner/calls, partners, api.');
    });

    it('and says so where none is announced at all, and where there are many', async () => {
      expect((await impatient(['set', 'api', 'off', ...because])).err).toContain(
        'No limiter is announced',
      );
      await announce(...Array.from({ length: 15 }, (_, i) => `limiter-${i}`));
      const { err } = await impatient(['set', 'api', 'off', ...because]);
      expect(err).toContain(', and 5 more (see status)');
    });
  });

  it('says that none is announced where others look: under another prefix', async () => {
    await announce('api');
    const nobody = 'No process has announced a limiter under the prefix';
    expect((await spillway(['status'])).out).not.toContain(nobody);
    expect((await spillway(['status', '--prefix', 'other:'])).out).toContain(`${nobody} other:\n`);
  });

  it('takes * for every limiter, announced or not', async () => {
    expect((await spillway(['set', '*', 'off', ...because])).code).toBe(0);
    expect((await spillway(['block', '*', 'eve', ...because])).code).toBe(0);
  });

  it('resets a key in what other releases counted, for one limiter and for all', async () => {
    const rule = { name: 'api', limit: 1, window: '1h' } as const;
    const limiters = [
      rule,
      { ...rule, burst: 3 },
      { ...rule, name: 'other', window: '1d' as const },
    ].map((numbers) =>
      createLimiter(numbers, {
        store: redisStore(redis()),
        storeTimeout: '20s',
        denialCache: false,
      }),
    );
    const remaining = () =>
      Promise.all(limiters.map(async (one) => (await one.peek('ada')).remaining));
    const full = await remaining();
    const spend = () => Promise.all(limiters.map((one) => one.record('ada', { cost: 3 })));
    await spend();
    const control = redisControl(redis());
    onTestFinished(() => control.close());
    await vi.waitFor(async () => {
      const [api, other] = await control.limiters();
      expect([api?.declared, other?.declared]).toMatchObject([[{}, {}], [{}]]);
    }, soon);
    expect((await spillway(['reset', 'api', 'ada'])).code).toBe(0);
    expect(await remaining()).toEqual([full[0], full[1], 0]);
    await spend();
    expect(await json('reset', '*', 'ada')).toEqual({
      reset: { limiter: '*', key: 'ada', isKnown: true, isTold: true },
    });
    expect(await remaining()).toEqual(full);
  });

  it.each<[string, RuleOptions, (i: number) => LiveLimits]>([
    ['a burst', { limit: 1, window: '1h' }, (i) => ({ burst: 1_000 + i })],
    [
      'the window of an anchored window',
      { limit: 1, window: '1h', algorithm: fixedWindow, anchor: 'first-request' },
      (i) => ({ window: `${1_000 + i}s` }),
    ],
  ])('resets a key in what it counts under %s of its own, noted or not', async (_, rule, own) => {
    // Closed at the end of the test, so it announces nothing during the next one.
    const client = new Redis({ port: port(), password: PASSWORD });
    const control = redisControl(client);
    onTestFinished(() => client.disconnect());
    onTestFinished(() => control.close());
    const limiter = createLimiter(
      { name: 'api', ...rule },
      { store: redisStore(client), control, denialCache: false },
    );
    await limiter.consume('ada');
    await vi.waitFor(async () => expect(await redis().hlen(LIMITERS)).toBe(1), soon);
    let full = 0;
    // Each has a separate count. They are more than are recorded, so those that end last are.
    for (let i = 0; i <= 70; i += 1) {
      await control.limitKey('api', `k${i}`, own(i), { by: 'ada', because: 'a test' });
      if (i === 0) full = (await limiter.peek('k0')).remaining;
      await limiter.record(`k${i}`, { cost: 2_000 });
    }
    const noted = async () =>
      (await redis().hget(LIMITERS, 'api'))?.match(/ [a-z0-9]\S* \d+/g)?.length;
    await vi.waitFor(async () => expect(await noted()).toBe(64), soon);
    expect((await limiter.peek('k0')).remaining).toBe(0);
    expect((await spillway(['reset', 'api', 'k0'])).code).toBe(0);
    expect((await limiter.peek('k0')).remaining).toBe(full);
    expect((await limiter.peek('k1')).remaining).toBe(0);
  });

  it('shows a limit by calendar as it was declared, and resets a key of it', async () => {
    const window = calendar('month', { timeZone: 'Europe/Berlin' });
    const options = { name: 'quota', limit: 5, window, overage: 'allow' } as const;
    const limiter = createLimiter(options, { store: redisStore(redis()), storeTimeout: '20s' });
    await limiter.consume('acme', { cost: 3 });
    await vi.waitFor(async () => expect(await redis().hlen(LIMITERS)).toBe(1), soon);
    const { out } = await spillway(['status']);
    expect(out).toMatch(
      /^quota +as declared +5 per month@Europe\/Berlin \(calendar\) +no control$/m,
    );
    const live = await json<{ spared: unknown }>('limits', 'quota', '--window', '1h', ...because);
    expect(live.spared).toEqual(['quota']);
    expect((await spillway(['reset', 'quota', 'acme', ...because])).code).toBe(0);
    expect((await limiter.peek('acme')).used).toBe(0);
  });

  it('shows how many different things are counted for a key, under its own limit, and forgets them', async () => {
    const options = { name: 'cards', limit: 5, window: '1h', algorithm: distinct() } as const;
    const store = redisStore(redis());
    const limiter = createLimiter(options, { store, storeTimeout: '10s' });
    await limiter.consume('acme', { item: ['4242', '5555'] });
    await vi.waitFor(async () => expect(await redis().hlen(LIMITERS)).toBe(1), soon);
    await spillway(['limits', 'cards', '--key', 'acme', '--limit', '3', ...because]);
    const { out } = await spillway(['show', 'cards', 'acme']);
    expect(out).toMatch(/^cards +3 per 1h \(distinct\) +2 +1 +20/m);
    expect((await spillway(['reset', 'cards', 'acme', ...because])).code).toBe(0);
    expect((await limiter.peek('acme')).used).toBe(0);
  });

  it('shows what is counted for a key, by every algorithm, with the limits of the key', async () => {
    const store = redisStore(redis());
    const settings = { store };
    const rate = createLimiter({ name: 'rate', limit: 10, window: '1m' }, settings);
    const fixed = createLimiter(
      { name: 'fixed', limit: 9, window: '1d', algorithm: fixedWindow, anchor: 'first-request' },
      settings,
    );
    const quota = createLimiter({ name: 'quota', limit: 5, window: calendar('month') }, settings);
    const billed = createLimiter(
      { name: 'billed', limit: 5, window: calendar(() => own) },
      settings,
    );
    const own = { id: 'in_1', start: Date.now() - 1, end: Date.now() + 864e5 };
    store.register?.('busy', makeLeasesRule(20, 60_000_000, 0.2));
    store.register?.('partner', makeShaperRule(4, 1_000_000, 2, 30_000_000));
    store.register?.('once', makeClaimsRule(30_000_000, 60_000_000));
    const counts = [rate, fixed, quota].map((limiter) => limiter.consume('acme', { cost: 3 }));
    await Promise.all([...counts, billed.consume('acme', { cost: 2, period: own })]);
    await vi.waitFor(async () => expect(await redis().hlen(LIMITERS)).toBe(7), soon);
    await spillway(['limits', 'quota', '--key', 'acme', '--limit', '4', ...because]);

    const { out } = await spillway(['show', 'quota', 'acme']);
    expect(out).toMatch(/^LIMITER +IN FORCE +USED +LEFT +UNUSED FROM$/m);
    expect(out).toMatch(
      /^quota +4 per month@UTC \(calendar\) +3 +1 +20\d\d-\d\d-\d\d \d\d:\d\d:00 /m,
    );
    const { show } = await json<{ show: { counts: { limiter: string }[] } }>('show', '*', 'acme');
    const shown = new Map(show.counts.map((count) => [count.limiter, count]));
    expect(shown.size).toBe(6);
    expect(shown.get('fixed')).toMatchObject({ used: 3, remaining: 6 });
    expect(shown.get('billed')).toMatchObject({ used: 2, remaining: 3 });
    expect(shown.get('rate')).toMatchObject({ numbers: { limit: 10 } });
    expect(shown.get('busy')).toMatchObject({ used: 0, remaining: 16, resetMs: null });
    expect(shown.get('partner')).toMatchObject({ used: 0, remaining: 2 });
    expect((await spillway(['show', 'once', 'acme'])).out).toContain('No count: ');
    const { code, err } = await spillway(['show', 'quotas', 'acme']);
    expect({ code, err }).toEqual({ code: 2, err: expect.not.stringContaining('--anyway') });
  });

  it('shows a limit with a penalty, and when the lock of a key ends', async () => {
    const penalty = lockFor(['15m', '1.5h']);
    const options = { name: 'logins', limit: 2, window: '10m', penalty } as const;
    const limiter = createLimiter(options, { store: redisStore(redis()), storeTimeout: '20s' });
    for (let i = 0; i < 3; i += 1) await limiter.consume('ada');
    await vi.waitFor(async () => expect(await redis().hlen(LIMITERS)).toBe(1), soon);
    const numbers = '2 per 10m, locked for 15m, then 90m (lock)';
    expect((await spillway(['status'])).out).toContain(numbers);
    const { show } = await json<{ show: { counts: object[] } }>('show', 'logins', 'ada');
    expect(show.counts).toMatchObject([{ used: 2, remaining: 0 }]);
    const { resetMs } = show.counts[0] as { resetMs: number };
    expect(resetMs).toBeGreaterThan(800_000);
    expect((await spillway(['show', 'logins', 'ada'])).out).toContain(numbers);
    expect((await spillway(['reset', 'logins', 'ada', ...because])).code).toBe(0);
    // The limiter may have a cached rejection until it learns of the reset.
    await vi.waitFor(async () => expect((await limiter.consume('ada')).used).toBe(1), soon);
  });

  it.each(['quarter@UTC', 'day@Mars/Base'])(
    'shows what is counted by a calendar that only another release has (%s)',
    async (name) => {
      const quota = createLimiter(
        { name: 'quota', limit: 5, window: calendar('month') },
        { store: redisStore(redis()), storeTimeout: '20s' },
      );
      await quota.consume('acme', { cost: 3 });
      await vi.waitFor(async () => expect(await redis().hlen(LIMITERS)).toBe(1), soon);
      const announced = (await redis().hget(LIMITERS, 'quota')) as string;
      await redis().hset(LIMITERS, 'quota', announced.replace('month@UTC', name));
      const { out } = await spillway(['show', '*', 'acme']);
      expect(out).toContain(`5 per ${name} (calendar)  3     2     20`);
    },
  );

  it('shows the limiters with their numbers, and settings that nobody has a limiter for', async () => {
    await announce('api');
    createLimiter(
      { name: 'idle', limit: 5, window: 1_500, burst: 9 },
      { store: redisStore(redis()), storeTimeout: '20s' },
    );
    await vi.waitFor(async () => expect(await redis().hlen(LIMITERS)).toBe(2), soon);
    await spillway(['set', 'per_key', 'off', '--anyway', ...because]);
    const { out } = await spillway(['status']);
    expect(out).toContain('No process has announced a limiter "per_key". Announced: ');
    expect(out).toMatch(/^LIMITER +MODE +IN FORCE +KEYS +PROCESSES$/m);
    expect(out).toMatch(/^api +as declared +100 per 1m \(token-bucket\) +none runs$/m);
    expect(out).toMatch(/^idle +as declared +5 per 1500ms, burst 9 \(token-bucket\) +no control$/m);
    expect(await json('status')).toMatchObject({
      overrides: [{ limiter: 'per_key' }],
      limiters: [
        { name: 'api', declared: [{ limit: 100, windowMs: 60_000 }], isFollowed: true },
        { name: 'idle', isFollowed: false },
      ],
      unannounced: ['per_key'],
    });
    expect((await spillway(['status', 'nope'])).out).toContain(
      'No process has announced a limiter "nope".',
    );
  });

  it('says where nobody is known to follow a change', async () => {
    await createLimiter(
      { name: 'api', limit: 5, window: '1s' },
      { store: redisStore(redis()), storeTimeout: '20s' },
    ).consume('ada');
    await vi.waitFor(async () => expect(await redis().hlen(LIMITERS)).toBe(1), soon);
    const { code, out } = await spillway(['set', 'api', 'off', ...because]);
    expect(code).toBe(0);
    expect(out).toContain('none is known to follow');
    await announce('api');
    const { out: after } = await spillway(['set', 'api', 'off', ...because]);
    expect(after).toContain(
      'No process with this limiter is running now. Those that start will follow.',
    );
  });

  it('changes settings where the names cannot be told, and resets nothing by halves', async () => {
    await redis().set(LIMITERS, 'junk');
    const set = await spillway(['set', 'api', 'off', ...because]);
    expect(set).toMatchObject({ code: 0, err: expect.stringContaining('names are not checked') });
    const reset = await spillway(['reset', 'api', 'ada']);
    expect(reset.code).toBe(1);
    expect(reset.err).toContain('could not store or read the list of limiters');
  });

  it.each(['show', 'shapers'])(
    '%s fails if the list of limiters cannot be read',
    async (command) => {
      await redis().set(LIMITERS, 'junk');
      for (const limiter of ['api', '*']) {
        const { code, out, err } = await spillway([command, limiter, 'ada']);
        expect({ code, out, err }).toEqual({
          code: 1,
          out: '',
          err: expect.stringMatching(/^error: .*WRONGTYPE/),
        });
      }
    },
  );

  it('lets nobody write to the terminal through a name', async () => {
    const until = Date.now() + 60_000;
    await redis().hset(
      LIMITERS,
      '\u001b[2Jx',
      `1 b1 ${until} {"algorithm":"\u202ex","limit":1} ${until}`,
    );
    for (const args of [['status'], ['set', '\u009b', 'off', ...because]]) {
      const { out, err } = await spillway(args);
      expect((out + err).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
  });
});
