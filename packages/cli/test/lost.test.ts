/** Live settings that Redis has lost, seen and repaired by the command. */

import { createGuard, type Override, rateLimit } from '@spillway/core';
import { redisControl, redisStore } from '@spillway/redis';
import { redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { because, commandOnRedis } from './command.js';

const SOON = { timeout: 10_000, interval: 20 };

describe.skipIf(redisProgram === null)('spillway, when Redis has lost the live settings', () => {
  const { redis, spillway, json } = commandOnRedis();

  type Status = { overrides: Override[]; settingsLost: boolean; limiters: { name: string }[] };
  const status = () => json<Status>('status');

  /** A process with a limiter, for which something is set. */
  async function service() {
    const control = redisControl(redis(), { every: '50ms', onFault: () => {} });
    onTestFinished(() => control.close());
    const limiter = rateLimit({ name: 'api', limit: 1, window: '1h' });
    createGuard(limiter, { store: redisStore(redis()), control });
    const names = async () => (await control.limiters()).map(({ name }) => name);
    await vi.waitFor(async () => expect(await names()).toEqual(['api']), SOON);
    expect((await spillway(['set', 'api', 'shadow', ...because])).code).toBe(0);
    await vi.waitFor(() => expect(control.settingsOf('api')?.mode).toBe('shadow'), SOON);
    return control;
  }

  async function lose(control: { readonly settingsLost: boolean }): Promise<void> {
    await redis().flushall();
    await vi.waitFor(() => expect(control.settingsLost).toBe(true), SOON);
    const isKept = async () => expect((await status()).overrides).toHaveLength(1);
    await vi.waitFor(isKept, SOON);
  }

  it('knows the names of running limiters at once, and what they follow', async () => {
    const control = await service();
    await redis().flushall();
    expect(await spillway(['block', 'api', 'eve', '--for', '1h', ...because])).toMatchObject({
      code: 0,
      err: '',
    });
    expect(control.settingsOf('api')?.mode).toBe('shadow');
  });

  it('says so in status and doctor, and restores them, marked', async () => {
    await lose(await service());
    const { out } = await spillway(['status']);
    expect(out).toMatch(/^LOST: the store has lost the live settings/);
    expect(out).toMatch(/api +mode +shadow +ada +/);
    expect((await spillway(['doctor'])).out).toMatch(/PROBLEM +settings +the store has lost/);
    const restored = await spillway(['restore', ...because]);
    expect(restored).toMatchObject({ code: 0, err: '' });
    expect(restored.out).toMatch(/api +mode +shadow +ada \(restored\)(.|\n)*Restored: 1\.\n$/);
    expect(await status()).toMatchObject({
      settingsLost: false,
      overrides: [{ limiter: 'api', value: 'shadow', restoredAtMs: expect.any(Number) }],
    });
    expect((await spillway(['doctor'])).out).toMatch(/ok +settings +no live setting was lost/);
    expect((await spillway(['restore', ...because])).out).toMatch(/^Nothing was restored: /);
  });

  it('writes them over what was set since only if that is meant', async () => {
    const control = await service();
    const what = JSON.stringify({ value: 'off', by: 'bob', because: 'x' });
    // Before any process looks again: one that does restores what it knows with its change.
    const others = redis().multi().flushall().set('spw:{%control}revision', '7');
    others.set('spw:{%control}dataset', 'another');
    await others.hset('spw:{%control}settings', 'mode ["other"]', `1 1 0 ${what}`).exec();
    await vi.waitFor(() => expect(control.settingsOf('api')).toBeUndefined(), SOON);
    const restore = (...more: string[]) => spillway(['restore', ...more, ...because]);
    const refused = async () => expect((await restore()).err).toContain('Add --force');
    await vi.waitFor(refused, SOON);
    expect((await status()).overrides).toMatchObject([{ limiter: 'other' }]);
    expect((await restore('--force')).out).toContain('Restored: 1.');
    expect((await status()).overrides).toMatchObject([{ limiter: 'api' }]);
  });

  it('ends all that is set, also what is lost, with clear --all', async () => {
    const control = await service();
    await lose(control);
    expect(await spillway(['clear', '--all', ...because])).toEqual({
      code: 0,
      out: 'Nothing is set: every limiter is as declared.\n',
      err: '',
    });
    await vi.waitFor(() => expect(control.settingsOf('api')).toBeUndefined(), SOON);
    expect(await status()).toMatchObject({ overrides: [], settingsLost: false });
    for (const wrong of [[], ['api', '--all'], ['--all', '--key', 'ada']]) {
      const { code, err } = await spillway(['clear', ...wrong, ...because]);
      expect(code).toBe(2);
      expect(err).toContain('clear what?');
    }
  });
});
