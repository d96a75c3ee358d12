/** What the command prints and does after Redis has lost the live settings. */

import { makeRule } from '@spillway/core/store';
import { type RedisControl, redisControl } from '@spillway/redis';
import { Redis } from 'ioredis';
import { redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { because, commandOnRedis, PASSWORD } from './command.js';

const LOST = 'The store has lost the live settings.';
const soon = { timeout: 10_000, interval: 10 };
const forever = { by: 'ada', because: 'a test', for: 'forever' } as const;

type Shown = { overrides: { limiter: string; what: string }[]; settingsLost: boolean };

describe.skipIf(redisProgram === null)('spillway, after Redis has lost its data', () => {
  const { redis, port, spillway, json } = commandOnRedis();

  /** A process with the limiter `api`, announced in Redis, which follows live settings. */
  async function process(): Promise<RedisControl> {
    const client = new Redis({ port: port(), password: PASSWORD });
    const control = redisControl(client, { every: '50ms', onFault: () => {} });
    onTestFinished(() => {
      control.close();
      client.disconnect();
    });
    control.register?.('api', makeRule('token-bucket', 100, 60_000_000));
    await control.refresh();
    await vi.waitFor(async () => expect(await control.followers()).toHaveLength(1), soon);
    return control;
  }

  /** The process has set something, and Redis has lost it. */
  async function lost(): Promise<RedisControl> {
    const control = await process();
    await control.set('api', { mode: 'off' }, forever);
    await redis().flushall();
    await vi.waitFor(async () => expect(await redis().exists('spw:{%control}kept')).toBe(1), soon);
    return control;
  }

  const shown = async () => {
    const { overrides, settingsLost } = await json<Shown>('status');
    return { set: overrides.map(({ limiter, what }) => `${what} ${limiter}`), settingsLost };
  };

  it('status and doctor say so, and status lists what processes keep', async () => {
    expect((await spillway(['status'])).out).not.toContain(LOST);
    expect(await shown()).toEqual({ set: [], settingsLost: false });
    await lost();
    const { out, err } = await spillway(['status']);
    expect(out).toMatch(/^The store has lost the live settings\./);
    expect(out).toMatch(/api +mode +off +ada/);
    expect(err).toBe('');
    expect(await shown()).toEqual({ set: ['mode api'], settingsLost: true });
    expect((await spillway(['doctor'])).out).toMatch(
      /WARNING +settings +the store has lost the live settings/,
    );
  });

  it('restore writes them back, once', async () => {
    const control = await lost();
    const { code, out } = await spillway(['restore', ...because]);
    expect(code).toBe(0);
    expect(out).toMatch(/api +mode +off +ada/);
    expect(out).toContain('1 of 1 process follows.');
    expect(await shown()).toEqual({ set: ['mode api'], settingsLost: false });
    await vi.waitFor(() => expect(control.settingsLost).toBe(false), soon);
    expect((await spillway(['doctor'])).out).toMatch(/ok +settings/);
    expect(await json('restore', ...because)).toEqual({ restored: 0, refused: 'none-kept' });
    expect((await spillway(['restore', ...because])).out).toContain(
      'Nothing to restore: no process',
    );
  });

  it('restore replaces what was set in another data set only with --force', async () => {
    await lost();
    await redis()
      .multi()
      .set('spw:{%control}revision', '1')
      .set('spw:{%control}dataset', 'x')
      .exec();
    const { code, out, err } = await spillway(['restore', ...because]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('other live settings');
    expect(err).toContain('--force');
    expect(await json('restore', '--force', ...because)).toMatchObject({
      restored: 1,
      overrides: [{ limiter: 'api', what: 'mode', value: 'off' }],
    });
  });

  it('clear --all ends what processes keep, in every process', async () => {
    const control = await lost();
    const { code, out } = await spillway(['clear', '--all', ...because]);
    expect(code).toBe(0);
    expect(out).toContain('No live settings: every limiter is as declared.');
    expect(out).toContain('1 of 1 process follows.');
    expect(control.settingsOf('api')).toBeUndefined();
    expect(await shown()).toEqual({ set: [], settingsLost: false });
  });

  it.each([
    [['clear', ...because], 'name a limiter, or add --all'],
    [['clear', 'api', '--all', ...because], '--all cannot be combined'],
    [['clear', '--all', '--key', 'eve', ...because], '--all cannot be combined'],
    [['clear', '--all', '--only', 'mode', ...because], '--all cannot be combined'],
  ])('%j is a wrong use', async (args, message) => {
    const { code, err } = await spillway(args);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  describe('rejects the name of no limiter that runs', () => {
    it('and is announced only while the command waits', async () => {
      const announcing = process();
      expect((await spillway(['set', 'api', 'shadow', ...because])).code).toBe(0);
      await announcing;
    });

    it('and is not announced again, if the settings are lost', async () => {
      await lost();
      expect((await spillway(['show', 'store-only', 'eve'])).code).toBe(2);
      const { code, err } = await spillway(['block', 'store-only', 'eve', ...because]);
      expect(code).toBe(0);
      expect(err).toContain('names are not checked: the store has lost its data');
      expect((await shown()).set.sort()).toEqual(['key store-only', 'mode api']);
    });
  });
});
