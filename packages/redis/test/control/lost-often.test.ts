/** Changes, restores by two operators at once, new processes and data losses, in any order: no setting is lost. */

import { makeRule } from '@spillway/core/store';
import { ada } from 'spillway-testkit/control';
import { redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, vi } from 'vitest';
import { pick, seeded } from '../../../core/test/net/random.js';
import type { RedisControl } from '../../src/index.js';
import { redisForControls } from './set-up.js';

const rule = makeRule('token-bucket', 100, 60_000_000);
const forever = { ...ada, for: 'forever' } as const;
const patient = { timeout: 10_000, interval: 10 };

const LIMITERS = ['api', '__proto__'] as const;
const KEYS = ['eve', '__proto__', 'a\u0000b', 'x\r\ny', '\ud800', '{k}', 'ключ'] as const;
const ACTIONS = ['set', 'set', 'rule', 'rule', 'clearKey', 'clear', 'lose', 'restore', 'replace'];

describe.skipIf(redisProgram === null)('live settings in a Redis that loses its data often', () => {
  const { redis, connect, control } = redisForControls();

  it.each([1, 2, 3])(
    'are those that operators have set (seed %i)',
    async (seed) => {
      const random = seeded(seed);
      const follow = async (): Promise<RedisControl> => {
        const one = control({ client: connect(), every: '50ms', onFault: () => {} });
        for (const limiter of LIMITERS) one.register?.(limiter, rule);
        await one.refresh();
        return one;
      };
      const processes = [await follow(), await follow(), await follow()];
      const operators = [control({ client: connect() }), control({ client: connect() })];
      const wanted = new Map<string, string>();
      const ruled = (limiter: string, key: string): string => JSON.stringify([limiter, key]);

      const inForce = (one: RedisControl): Map<string, string> => {
        const found = new Map<string, string>();
        const note = (name: string, value: string | undefined) => value && found.set(name, value);
        for (const limiter of LIMITERS) {
          note(limiter, one.settingsOf(limiter)?.mode);
          for (const key of KEYS) note(ruled(limiter, key), one.overrideOf(limiter, key)?.verdict);
        }
        return found;
      };
      const follows = async (): Promise<void> =>
        await vi.waitFor(() => {
          for (const one of processes) expect(inForce(one)).toEqual(wanted);
        }, patient);

      const act = async (action: string, operator: RedisControl): Promise<void> => {
        const limiter = pick(random, LIMITERS);
        const key = pick(random, KEYS);
        switch (action) {
          case 'set': {
            const mode = pick(random, ['off', 'shadow'] as const);
            await operator.set(limiter, { mode }, forever);
            wanted.set(limiter, mode);
            return;
          }
          case 'rule': {
            const verdict = pick(random, ['allow', 'block'] as const);
            await operator[verdict](limiter, key, forever);
            wanted.set(ruled(limiter, key), verdict);
            return;
          }
          case 'clearKey':
            await operator.clearKey(limiter, key, ada);
            wanted.delete(ruled(limiter, key));
            return;
          case 'clear':
            await operator.clear(limiter, ada);
            wanted.delete(limiter);
            return;
          case 'lose':
            await follows();
            await redis().flushall();
            if (wanted.size === 0) return;
            await vi.waitFor(async () => {
              expect(processes.map(({ settingsLost }) => settingsLost)).toEqual([true, true, true]);
              expect(await redis().exists('spw:{%control}kept')).toBe(1);
            }, patient);
            return;
          case 'restore':
            await follows();
            await Promise.all(operators.map((one) => one.restore(ada)));
            return;
          default:
            processes.pop()?.close();
            processes.unshift(await follow());
        }
      };

      for (let round = 0; round < 150; round += 1) {
        await act(pick(random, ACTIONS), pick(random, operators));
      }
      await follows();
    },
    120_000,
  );
});
