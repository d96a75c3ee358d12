/** Who is rejected, as the command shows it. */

import { once } from 'node:events';
import type { Decision, Mode } from '@spillway/core';
import { topCallers } from '@spillway/core/who';
import { redisReports } from '@spillway/redis';
import { redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, vi } from 'vitest';
import { commandOnRedis } from './command.js';

const SECRET = 'a secret of the tests';

const denied: Decision = {
  limiter: 'api',
  allowed: false,
  outcome: 'denied',
  reason: 'rate',
  cost: 1,
  used: 2,
  remaining: 0,
  retryAfterMs: 1,
  resetMs: 1,
};
const shadow = { allowed: true, outcome: 'would-deny', mode: 'shadow' } as const;

describe.skipIf(redisProgram === null)('spillway', () => {
  const { redis, start, spillway, json } = commandOnRedis();

  /** A process that has rejected callers, each as often as it says, and has ended. */
  async function published(
    rejections: Readonly<Record<string, number>>,
    { secret, mode = 'enforce', ...own }: Partial<Decision> & { secret?: string; mode?: Mode } = {},
  ): Promise<void> {
    const callers = topCallers({ publishTo: redisReports(redis()), secret });
    for (const [key, count] of Object.entries(rejections)) {
      for (let i = 0; i < count; i += 1) callers.countDecision({ ...denied, ...own }, mode, key);
    }
    await callers.close();
  }

  describe('who', () => {
    it('lists the callers of all processes, the share of each, and how to block the first', async () => {
      await published({ '@203.0.113.7': 90, ada: 6 });
      await published({ '@203.0.113.7': 1_100, '@["acme","bob"]': 4 });
      const { out, code } = await spillway(['who', 'api']);
      expect(code).toBe(0);
      expect(out).toBe(`api (enforce, 2 processes)
rejected: 1,200 in the last minute, 1,200 in 15 minutes
CALLER           1 MIN  SHARE  15 MIN  SHARE
@203.0.113.7     1,190  99%    1,190   99%
ada              6      1%     6       1%
@["acme","bob"]  4      0%     4       0%
To block the first: spillway block api --address 203.0.113.7 --for 1h --because "..."
`);
    });

    it('shows ranges where there were too many callers to count them all', async () => {
      const flood = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`bot ${i}`, 1]));
      await published({ ...flood, heavy: 500 });
      const { out } = await spillway(['who']);
      const line = out.split('\n').find((text) => text.startsWith('heavy'));
      expect(line).toMatch(/^heavy +500 to 5\d\d +33% +500 to 5\d\d +33%$/);
      expect(out.split('\n').filter((text) => text.startsWith('bot'))).toHaveLength(9);
    });

    it('shows what would be rejected in shadow mode', async () => {
      await published({ ada: 3 }, shadow);
      const { out } = await spillway(['who']);
      expect(out).toContain(
        'api (shadow, 1 process)\nwould be rejected, but it is in shadow mode: 3 in the last minute',
      );
      expect(out).not.toContain('spillway block');
    });

    it('prints JSON', async () => {
      await published({ ada: 3, bob: 1 });
      expect(await json('who', 'api')).toMatchObject({
        limiters: [
          {
            limiter: 'api',
            mode: 'enforce',
            processes: 1,
            counts: { denied: 4 },
            rejected: {
              minute: { total: 4, othersAtMost: 0, callers: [{ caller: 'ada', atLeast: 3 }, {}] },
            },
            firstShare: {
              rejected: { minute: 0.75, quarter: 0.75 },
              wouldReject: { minute: null, quarter: null },
            },
          },
        ],
      });
    });

    it('reveals sealed callers to those who have the secret', async () => {
      await published({ 'ada@example.org': 3 }, { secret: SECRET });
      const sealed = await spillway(['who']);
      expect(sealed.out).not.toContain('ada');
      expect(sealed.out).toContain('--reveal shows them');
      const env = { SPILLWAY_LOG_SECRET: SECRET };
      const revealed = await spillway(['who', '--reveal'], env);
      expect(revealed.out).toContain('spillway block api ada@example.org --for 1h');
      expect((await spillway(['who', '--reveal'])).code).toBe(2);
      const wrong = await spillway(['who', '--reveal'], { SPILLWAY_LOG_SECRET: 'another secret' });
      expect(wrong.out).not.toContain('ada');
    });

    it('prints no control code and no shell command of a client', async () => {
      await published({ '\u001b[2J; rm -rf $(pwd)': 3 });
      const { out } = await spillway(['who']);
      expect(out).not.toContain('\u001b');
      expect(out).toContain(String.raw`block api '\u{1b}[2J; rm -rf $(pwd)' --for`);
    });

    it('says which limiters there are if the name is wrong, and what to do if there are none', async () => {
      expect((await spillway(['who'])).out).toContain('topCallers');
      await published({ ada: 3 });
      const { code, err } = await spillway(['who', 'apy']);
      expect({ code, err }).toEqual({
        code: 2,
        err: 'error: No process has published anything about "apy", only about: api.\n',
      });
    });
  });

  describe('top', () => {
    it('prints the rates of all limiters and the first caller, plainly in a pipe', async () => {
      const callers = topCallers({ publishTo: redisReports(redis()) });
      const traffic = setInterval(() => {
        for (let i = 0; i < 5; i += 1)
          callers.countDecision(denied, 'enforce', i === 0 ? 'bob' : 'ada');
        callers.countDecision({ ...denied, allowed: true, outcome: 'allowed' }, 'enforce', 'eve');
      }, 50);
      const published = () => redisReports(redis()).read();
      await vi.waitFor(async () => expect(await published()).toHaveLength(1), { timeout: 5_000 });
      const child = start(['top', '--every', '3', '--once']);
      let out = '';
      child.stdout?.on('data', (text) => {
        out += text;
      });
      const [code] = await once(child, 'close');
      clearInterval(traffic);
      await callers.close();
      expect(code).toBe(0);
      expect(out).not.toContain('\u001b');
      const [head, api] = out.split('\n') as [string, string];
      expect(head).toMatch(/^LIMITER +MODE +REQ\/S +REJECTED\/S/);
      const [name, mode, requests, rejected, , , processes, share, first] = api.split(/ {2,}/);
      expect([name, mode, processes, share, first]).toEqual(['api', 'enforce', '1', '80%', 'ada']);
      // 120 a second, if the machine keeps up.
      expect(Number(requests)).toBeGreaterThan(20);
      expect(Number(rejected) / Number(requests)).toBeCloseTo(5 / 6, 1);
    });

    it('goes on until it is stopped, a JSON document a line', async () => {
      await published({ ada: 3 });
      const child = start(['top', '--every', '1', '--json']);
      const lines: string[] = [];
      child.stdout?.on('data', (text) => {
        lines.push(...String(text).trimEnd().split('\n'));
        if (lines.length >= 2) child.kill('SIGINT');
      });
      expect(await once(child, 'close')).toEqual([0, null]);
      expect(JSON.parse(lines[0] ?? '')).toMatchObject({
        limiters: [{ limiter: 'api', requests: 0, first: { caller: 'ada', share: 1 } }],
      });
    });

    it.each(['0', 'x', '1.5'])('rejects --every %s', async (every) => {
      expect((await spillway(['top', '--every', every])).code).toBe(2);
    });
  });
});
