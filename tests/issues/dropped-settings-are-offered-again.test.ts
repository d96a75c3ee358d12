/**
 * A process that must follow other live settings offers its own to Redis first, so that an operator can restore them.
 * If the one call that offered them failed, or came within 10 s of another failed one, they were lost for good. The
 * warning still said that a restore brings them back.
 */

import { type RedisClient, redisControl } from '@spillway/redis';
import { fakeTime } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';

const BLOCK = ['key ["api","eve"]', '1 1 0 {"value":"block","by":"ada","because":"x"}'];

/** A simulated Redis that does not get the first offers. */
class Server implements RedisClient {
  readonly state = 'ready';
  readonly kept: string[][] = [];
  settings: readonly [revision: string, dataSet: string, ...fields: string[]] = ['0', ''];
  lostOffers = 0;

  async evalsha(_sha: string, keys: string[], args: string[]): Promise<unknown> {
    if (keys.length === 5) {
      const [revision, dataSet, ...fields] = this.settings;
      return [
        `${Date.now() * 1_000}`,
        revision,
        dataSet,
        1,
        ...(revision === args[0] ? [] : fields),
      ];
    }
    if (!keys[0]?.endsWith('kept')) return 1;
    if (this.lostOffers > 0) {
      this.lostOffers -= 1;
      throw new Error('Connection is closed.');
    }
    if (args.length > 3) this.kept.push(args.slice(1));
    return this.kept.some(([revision]) => revision === args[1]) ? 0 : 1;
  }

  eval(_text: string, keys: string[], args: string[]): Promise<unknown> {
    return this.evalsha('', keys, args);
  }

  onceChanged(): () => void {
    return () => undefined;
  }
}

describe('a process that drops its settings', () => {
  fakeTime();

  async function following() {
    const server = new Server();
    server.settings = ['5', 'old', ...BLOCK];
    const control = redisControl(server, { onFault: () => undefined });
    expect(control.settingsOf('api')).toBeUndefined();
    await vi.advanceTimersByTimeAsync(600);
    expect(control.overrideOf('api', 'eve')).toMatchObject({ verdict: 'block' });
    return { server, control };
  }

  it.each([1, 3])('offers them until Redis has them (%i calls lost)', async (lostOffers) => {
    const { server, control } = await following();
    server.lostOffers = lostOffers;
    server.settings = ['1', 'new'];
    await vi.advanceTimersByTimeAsync(60_000);
    expect(control.overrideOf('api', 'eve')).toBeUndefined();
    expect(server.kept).toEqual([['5', 'old', ...BLOCK]]);
    control.close();
  });

  it('offers them at once, although an offer has failed a moment ago', async () => {
    const { server, control } = await following();
    server.lostOffers = 1;
    server.settings = ['0', ''];
    await vi.advanceTimersByTimeAsync(600);
    expect(control.settingsLost).toBe(true);
    server.settings = ['1', 'new'];
    await vi.advanceTimersByTimeAsync(600);
    expect(server.kept).toEqual([['5', 'old', ...BLOCK]]);
    control.close();
  });

  it('offers the newer of two, if it had to drop settings twice', async () => {
    const { server, control } = await following();
    server.lostOffers = 2;
    for (const [revision, dataSet] of [
      ['1', 'new'],
      ['2', 'newer'],
    ] as const) {
      server.settings = [revision, dataSet];
      await vi.advanceTimersByTimeAsync(600);
    }
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.kept).toEqual([['5', 'old', ...BLOCK]]);
    control.close();
  });
});
