/** What the store knows about a key of a shaper, against a real Redis. */

import { makeLeasesRule } from '@spillway/core/store';
import { createShaper } from '@spillway/outgoing';
import { redisControl, redisStore } from '@spillway/redis';
import { redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { commandOnRedis } from './command.js';

interface Shown {
  readonly limiter: string;
  readonly nextStartMs: number | null;
  readonly pausedUntilMs: number | null;
  readonly pausedBy: string | null;
  readonly running: number | null;
}

describe.skipIf(redisProgram === null)('spillway shapers', () => {
  const { redis, spillway, json, announce } = commandOnRedis();

  async function partner() {
    const control = redisControl(redis());
    const shaper = createShaper(
      {
        name: 'partner',
        paces: { calls: { limit: 1, window: '10s' }, tokens: { limit: 100, window: '1s' } },
        maxConcurrent: 3,
        maxWait: '1m',
      },
      { store: redisStore(redis()), onStoreError: 'deny', storeTimeout: '5s', control },
    );
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    onTestFinished(async () => {
      end();
      await shaper.close();
      control.close();
    });
    await new Promise<void>((resolve) => {
      void shaper.schedule('acme', () => {
        resolve();
        return ended;
      });
    });
    await vi.waitFor(async () => expect(await control.limiters()).toHaveLength(3), 10_000);
    return shaper;
  }

  it('shows the next start, how many run, and who paused the key', async () => {
    const shaper = await partner();
    const { shapers } = (
      await json<{ shapers: { shapers: readonly Shown[] } }>('shapers', 'partner', 'acme')
    ).shapers;
    const of = (name: string) => shapers.find(({ limiter }) => limiter === `partner/${name}`);
    const nowMs = Date.now();
    expect(of('calls')?.nextStartMs).toBeGreaterThan(nowMs);
    expect(of('calls')?.nextStartMs).toBeLessThanOrEqual(nowMs + 10_000);
    expect(of('calls')).toMatchObject({ pausedUntilMs: null, pausedBy: null, running: null });
    expect(of('tokens')?.nextStartMs).toBeLessThanOrEqual(nowMs);
    expect(of('permits')).toMatchObject({ nextStartMs: null, running: 1 });

    await shaper.pause('acme', '1h', 'maintenance\u001b[2J');
    const { out } = await spillway(['shapers', 'partner', 'acme']);
    expect(out).toMatch(/SHAPER +IN FORCE +NEXT START +PAUSED UNTIL +BY +RUNNING/);
    expect(out).toMatch(/partner\/calls .*\((1h|59m).*\((1h|59m).* {2}maintenance\S+\[2J\n/);
    expect(out).not.toContain('\u001b[2J');
    expect(out).toMatch(/partner\/permits .* 1\n/);
    expect((await spillway(['shapers', '*', 'umbrella'])).out).toMatch(/partner\/calls .* now/);
  });

  it('does not count a booking of the next permit as a running job', async () => {
    await partner();
    const rules = [makeLeasesRule(4, 60_000_000), { ...makeLeasesRule(1, 60_000_000), code: 'pn' }];
    const lease = { id: 'booked', critical: false };
    const on = { limiter: 'partner/permits', key: 'acme', cost: 1, binding: true, lease };
    const taken = await redisStore(redis()).apply(
      rules.map((rule) => ({ ...on, op: 'take' as const, rule })),
    );
    expect(taken).toMatchObject([
      { allowed: true, used: 2 },
      { allowed: true, used: 1 },
    ]);
    const { out } = await spillway(['shapers', 'partner', 'acme']);
    expect(out).toMatch(/partner\/permits .* 1\n/);
  });

  it('knows only announced shapers, and writes nothing', async () => {
    expect((await spillway(['shapers', '*', 'acme'])).out).toBe('No shaper is announced.\n');
    await announce('api');
    const before = await redis().keys('*');
    const { code, err } = await spillway(['shapers', 'partner', 'acme']);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('"partner"') });
    expect(err).not.toContain('--anyway'); // the command has no such option
    const limiter = await spillway(['shapers', 'api', 'acme']);
    expect(limiter).toMatchObject({ code: 2, err: expect.stringContaining('not a shaper') });
    expect(await redis().keys('*')).toEqual(before);
  });
});
