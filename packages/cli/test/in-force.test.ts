/** Limits of keys and factors, the settings in force, and which processes follow. */

import type { Override } from '@spillway/core';
import { makeDistinctRule, makeLeasesRule, makeRule, makeShaperRule } from '@spillway/core/store';
import { type RedisControl, redisControl } from '@spillway/redis';
import { Redis } from 'ioredis';
import { redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { because, commandOnRedis, PASSWORD } from './command.js';

type Set = { overrides: Override[]; followed: unknown; spared: string[] };

describe.skipIf(redisProgram === null)('spillway', () => {
  const { port, spillway, json, announce } = commandOnRedis();

  /** A process with these limiters under a control, which polls as often as `every` says. */
  async function process(names: string[], every: '50ms' | '1m' = '50ms'): Promise<RedisControl> {
    const client = new Redis({ port: port(), password: PASSWORD });
    const control = redisControl(client, { every });
    onTestFinished(() => {
      control.close();
      client.disconnect();
    });
    for (const name of names) control.register?.(name, makeRule('token-bucket', 100, 60_000_000));
    await control.refresh();
    control.settingsOf(names[0] ?? '');
    const seen = async () => (await control.limiters()).map(({ name }) => name);
    await vi.waitFor(async () => expect(await seen()).toEqual(expect.arrayContaining(names)), {
      timeout: 10_000,
      interval: 10,
    });
    return control;
  }

  it('multiplies limits, of a limiter, of one key, and of every limiter', async () => {
    await announce('api');
    for (const [given, factor] of [
      ['2', 2],
      ['0.5', 0.5],
      ['150%', 1.5],
      ['x3', 3],
    ] as const) {
      const { overrides } = await json<Set>('limits', 'api', '--factor', given, ...because);
      expect(overrides).toMatchObject([{ what: 'limits', value: { factor } }]);
    }
    const numbers = ['--limit', '5', '--all-plans', ...because];
    const { overrides } = await json<Set>('limits', 'api', ...numbers);
    expect(overrides).toMatchObject([{ what: 'limits', value: { limit: 5, allPlans: true } }]);
    const keyed = ['--key', 'acme', '--limit', '20000', '--for', '3d', ...because];
    const { out } = await spillway(['limits', 'api', ...keyed]);
    expect(out).toMatch(/api +limits of key acme +limit 20000 +ada/);
    const every = await json<Set>('limits', '*', '--factor', '0.5', ...because);
    expect(every).toMatchObject({
      overrides: [{ limiter: '*', value: { factor: 0.5 } }],
      spared: ['api'],
    });
  });

  it('unblocks a key that is blocked or allowed, and clears all that is set for a key', async () => {
    await announce('api');
    await spillway(['limits', 'api', '--address', '203.0.113.7', '--limit', '7', ...because]);
    await spillway(['allow', 'api', '--address', '203.0.113.7', ...because]);
    await spillway(['set', 'api', 'shadow', ...because]);
    const left = await json<Set>('unblock', 'api', '--address', '203.0.113.7', ...because);
    expect(left.overrides.map(({ what }) => what)).toEqual(['mode', 'key-limits']);
    await spillway(['block', 'api', '--address', '203.0.113.7', ...because]);
    const { overrides } = await json<Set>('clear', 'api', '--address', '203.0.113.7', ...because);
    expect(overrides).toMatchObject([{ what: 'mode' }]);
    // Settings for all keys end, and settings for one key stay, as the page says.
    await spillway(['block', 'api', 'eve', ...because]);
    const { out } = await spillway(['clear', 'api', ...because]);
    expect(out).toMatch(/api +key eve +block/);
    expect(out).not.toContain('shadow');
  });

  it('shows for each limiter what counts: its own before that of *', async () => {
    await announce('api', 'other');
    await spillway(['set', '*', 'shadow', ...because]);
    await spillway(['set', 'api', 'off', ...because]);
    await spillway(['share', '*', '10%', ...because]);
    await spillway(['limits', 'api', '--limit', '200', '--window', '1h', ...because]);
    await spillway(['limits', '*', '--factor', '0.5', ...because]);
    await spillway(['limits', 'api', '--key', 'acme', '--factor', '2', ...because]);
    await spillway(['block', 'api', 'acme', ...because]);
    const { out } = await spillway(['status']);
    expect(out).toMatch(
      /^api +off, for 10% of keys \(by \*\) +200 per 1h \(token-bucket\), declared 100 per 1m +1 /m,
    );
    expect(out).toMatch(
      /^other +shadow \(by \*\), for 10% of keys \(by \*\) +50 per 1m \(token-bucket\), declared 100 per 1m \(by \*\)/m,
    );
    // The status of one limiter also shows settings for all limiters, because they may apply to it.
    const one = await spillway(['status', 'other']);
    expect(one.out).toMatch(/^\* +mode +shadow/m);
    expect(one.out).not.toMatch(/^api /m);
    const nobody = await spillway(['status', 'nope']);
    expect(nobody.out).toContain('No process has announced a limiter "nope".');
    const { limiters } = await json<{ limiters: unknown[] }>('status');
    expect(limiters).toMatchObject([
      {
        name: 'api',
        inForce: {
          mode: { value: 'off', from: 'api' },
          share: { value: 0.1, from: '*' },
          limits: { value: { limit: 200, window: '1h' }, from: 'api' },
          numbers: [{ algorithm: 'token-bucket', limit: 200, windowMs: 3_600_000 }],
          keys: 1,
        },
        followed: { following: 0, of: 0 },
      },
      {
        name: 'other',
        inForce: { mode: { value: 'shadow', from: '*' }, numbers: [{ limit: 50 }] },
      },
    ]);
  });

  it('says for which limiters * does not count', async () => {
    await announce('api', 'other');
    await spillway(['set', 'api', 'off', ...because]);
    const { out } = await spillway(['set', '*', 'shadow', ...because]);
    expect(out).toMatch(/^Not applied to api: it has its own mode \(off, by ada, until 2.*\)\./m);
    expect(out).not.toContain('Not applied to other');
    const share = await json<Set>('share', '*', '50%', ...because);
    expect(share.spared).toEqual([]);
  });

  it('says where a setting has no effect: a shaper has no mode and allows no key', async () => {
    const control = await process(['api']);
    control.register?.('partner', makeShaperRule(10, 1_000_000, 2, 0));
    control.register?.('busy', makeLeasesRule(20, 60_000_000));
    await vi.waitFor(async () => expect(await control.limiters()).toHaveLength(3), {
      timeout: 10_000,
    });
    const set = await spillway(['set', 'partner', 'off', ...because]);
    expect(set.out).toContain('Not applied to partner: a shaper has no mode.');
    const allowed = await spillway(['allow', 'partner', 'acme', ...because]);
    expect(allowed.out).toContain('Not applied to partner: a shaper has no allowed keys.');
    expect((await spillway(['block', 'partner', 'acme', ...because])).out).not.toContain('Not app');
    expect((await json<Set>('set', '*', 'shadow', ...because)).spared).toEqual(['partner']);
    await spillway(['limits', '*', '--factor', '0.5', ...because]);
    const { out } = await spillway(['status']);
    // The burst of a shaper stays the same, whatever the factor.
    expect(out).toMatch(/^partner +has none +5 per 1s, burst 2, .*declared 10 per 1s, burst 2 /m);
    expect(out).toMatch(
      /^busy +shadow \(by \*\) +10 at once, lease 1m \(concurrency\), declared 20 at once/m,
    );
  });

  it('says where numbers have no effect: some limits have no window, some no burst', async () => {
    const control = await process(['api']);
    control.register?.('daily', makeRule('fixed-window', 50, 86_400_000_000));
    control.register?.('busy', makeLeasesRule(20, 60_000_000));
    await vi.waitFor(async () => expect(await control.limiters()).toHaveLength(3), {
      timeout: 10_000,
    });
    const burst = await spillway(['limits', 'daily', '--burst', '3', ...because]);
    expect(burst.out).toContain(
      'Not applied to daily: it has no burst (fixed-window), so all its numbers stay as declared.',
    );
    const ofKey = ['--key', 'acme', '--window', '1h', '--limit', '5', ...because];
    const window = await json<Set>('limits', 'busy', ...ofKey);
    expect(window.spared).toEqual(['busy']);
    const fits = await json<Set>('limits', 'api', '--window', '1h', '--burst', '7', ...because);
    expect(fits.spared).toEqual([]);
  });

  it('says which limit is too high for distinct items, and multiplies up to the highest', async () => {
    const control = await process(['api']);
    control.register?.('cards', makeDistinctRule(6_000, 3_600_000_000));
    await vi.waitFor(async () => expect(await control.limiters()).toHaveLength(2), {
      timeout: 10_000,
    });
    for (const key of [[], ['--key', 'ada']]) {
      const { out } = await spillway(['limits', 'cards', ...key, '--limit', '10001', ...because]);
      expect(out).toContain(
        'Not applied to cards: its limit is at most 10000 (distinct), so all its numbers stay as declared.',
      );
    }
    expect((await spillway(['status'])).out).toMatch(/^cards .*6,?000 per 1h \(distinct\)/m);
    const fits = await json<Set>('limits', 'cards', '--limit', '10000', ...because);
    expect(fits.spared).toEqual([]);
    expect((await json<Set>('limits', 'cards', '--factor', '2', ...because)).spared).toEqual([]);
    expect((await spillway(['status'])).out).toMatch(/^cards .*10,?000 per 1h \(distinct\)/m);
  });

  it('waits until all processes follow, and says how many do', async () => {
    await process(['api']);
    await process(['api', 'other']);
    const all = await spillway(['set', 'api', 'off', ...because]);
    expect(all.out).toContain('2 of 2 processes follow.');
    const followed = async (...args: string[]) =>
      (await json<Set>(...args, 'off', ...because)).followed;
    expect(await followed('set', 'other')).toEqual({ following: 1, of: 1 });
    expect(await followed('set', '*')).toEqual({ following: 2, of: 2 });
    const lazy = await process(['api'], '1m');
    const startMs = performance.now();
    const some = await spillway(['set', 'api', 'shadow', ...because]);
    expect(performance.now() - startMs).toBeGreaterThan(1_900);
    expect(some).toMatchObject({
      code: 0,
      out: expect.stringContaining('2 of 3 processes follow so far.'),
    });
    expect((await spillway(['status'])).out).toMatch(/^api +shadow .* 2 of 3 follow$/m);
    const hurried = await json<Set>('set', 'api', 'off', '--no-wait', ...because);
    expect(hurried.followed).toMatchObject({ of: 3 });
    await lazy.refresh();
    await vi.waitFor(
      async () => expect((await spillway(['status'])).out).toMatch(/^api +off .* 3 of 3 follow$/m),
      { timeout: 10_000 },
    );
  });
});
