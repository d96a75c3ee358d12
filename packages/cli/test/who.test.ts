/** The rejected callers, as the command shows them. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Decision, Mode } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { topCallers } from '@spillway/core/who';
import { redisControl, redisReports } from '@spillway/redis';
import { redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { COMMAND, commandOnRedis } from './command.js';

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
  const { redis, url, start, spillway, json } = commandOnRedis();

  /** A process that has rejected callers, each this often, and has ended. */
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
To block the first: spillway block api --for 1h --because "..." --address 203.0.113.7
`);
    });

    it('shows ranges where there were too many callers to count them all', async () => {
      const flood = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`bot ${i}`, 1]));
      await published({ ...flood, heavy: 500 });
      const { out } = await spillway(['who']);
      const line = out.split('\n').find((text) => text.startsWith('heavy'));
      expect(line).toMatch(/^heavy +500 to 5\d\d +33% +500 to 5\d\d +33%$/);
      expect(out.split('\n').filter((text) => text.startsWith('bot'))).toHaveLength(19);
    });

    it('lists every caller with more than 6 % of the rejections, of a minute or of 15', async () => {
      const clock = new ManualClock();
      const callers = topCallers({ publishTo: redisReports(redis()), clock });
      const reject = (caller: string, times: number) => {
        for (let i = 0; i < times; i += 1) callers.countDecision(denied, 'enforce', caller);
      };
      for (let i = 0; i < 15; i += 1) reject(`old ${i}`, 100);
      clock.advance('2m');
      for (let i = 0; i < 15; i += 1) reject(`new ${i}`, 1);
      await callers.close();
      const { out } = await spillway(['who']);
      for (let i = 0; i < 15; i += 1) {
        expect(out).toMatch(new RegExp(`^old ${i} +0 +0% +100 +7%$`, 'm'));
        expect(out).toMatch(new RegExp(`^new ${i} +1 +7% `, 'm'));
      }
    });

    it('lists the first of 15 minutes although others were rejected in the last minute', async () => {
      const clock = new ManualClock();
      const callers = topCallers({ publishTo: redisReports(redis()), clock });
      for (let i = 0; i < 500; i += 1) callers.countDecision(denied, 'enforce', 'heavy');
      clock.advance('2m');
      for (let i = 0; i < 12; i += 1) callers.countDecision(denied, 'enforce', `small ${i}`);
      await callers.close();
      const { out } = await spillway(['who']);
      expect(out).toMatch(/^heavy +0 +0% +500 +98%$/m);
      expect(out).toContain('--because "..." heavy\n');
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
      expect(revealed.out).toContain('--because "..." ada@example.org\n');
      expect((await spillway(['who', '--reveal'])).code).toBe(2);
      const wrong = await spillway(['who', '--reveal'], { SPILLWAY_LOG_SECRET: 'another secret' });
      expect(wrong.out).not.toContain('ada');
    });

    it('prints no control code, also if another program writes to its keys', async () => {
      await published({ '\u001b[2J; rm -rf $(pwd)': 3 });
      const [key = ''] = await redis().keys('*report:*');
      const text = String(await redis().hget(key, 'api'));
      await redis().hset(key, 'ap\u001bi', text.replace('"enforce"', '"\\u001b[2J"'));
      for (const args of [['who'], ['who', '--json'], ['top', '--once', '--every', '1']]) {
        const { out } = await spillway(args);
        expect(out).not.toContain('\u001b');
        expect(out).toContain('rm -rf $(pwd)');
        expect(out).not.toContain('To block');
      }
    });

    it.each([
      ['$(pwd)', `'$(pwd)'`],
      ["it's", String.raw`'it'\''s'`],
      ['--address=192.0.2.1', `-- '--address=192.0.2.1'`],
      ['-9GVQxw', `-- -9GVQxw`],
      ['@@ada', '@ada'],
      ['@2001:db8:1::/64', '--address 2001:db8:1::'],
      ['@2001:db8:1::/56', '--address 2001:db8:1:: --ipv6-prefix 56'],
      ['@2001:db8::1', '--address 2001:db8::1 --ipv6-prefix 128'],
      ['@["acme","ada"]', `--parts '["acme","ada"]'`],
      ['#general', `'#general'`],
    ])('prints a command that blocks the caller %s', async (caller, shown) => {
      await published({ [caller]: 3 });
      const { out } = await spillway(['who']);
      expect(out).not.toContain('sealed');
      const [, command = ''] = /^To block the first: (.*)$/m.exec(out) ?? [];
      expect(command).toBe(`spillway block api --for 1h --because "..." ${shown}`);
      const args = execFileSync('sh', ['-c', `printf '%s\\0' ${command}`]).toString();
      const [, verb = '', ...rest] = args.split('\0').slice(0, -1);
      const { code, err } = await spillway([verb, '--anyway', ...rest]);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(await redisControl(redis()).list()).toMatchObject([{ key: caller }]);
    });

    it.each([
      ['was cut', 'x'.repeat(400)],
      ['was cut, and begins with a character of two UTF-16 units', `😀${'x'.repeat(400)}`],
      ['has a control code', 'a\nb'],
      ['turns the direction of text', 'a\u202eb'],
    ])('prints no command for a caller that %s: it would block another', async (_, caller) => {
      await published({ [caller]: 3 });
      expect((await spillway(['who'])).out).not.toContain('To block');
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
      await expect.poll(published).toHaveLength(1);
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

    it('prints the rates of more limiters than a process publishes at once', async () => {
      const callers = topCallers({ publishTo: redisReports(redis()) });
      const traffic = setInterval(() => {
        for (let i = 0; i < 200; i += 1)
          callers.countDecision({ ...denied, limiter: `l${i}` }, 'enforce', 'ada');
      }, 100);
      const published = () => redisReports(redis()).read();
      await vi.waitFor(async () => expect((await published())[0]?.limiters).toHaveLength(200), {
        timeout: 20_000,
        interval: 500,
      });
      const child = start(['top', '--every', '2', '--json']);
      let lines = 0;
      let last = '';
      child.stdout?.on('data', (text) => {
        last += text;
        lines += String(text).split('\n').length - 1;
        if (lines >= 6) child.kill('SIGINT');
      });
      await once(child, 'close');
      clearInterval(traffic);
      await callers.close();
      const { limiters } = JSON.parse(last.trimEnd().split('\n').at(-1) ?? '');
      const rates = limiters.map(({ requests }: { requests: number }) => requests);
      expect(rates).toHaveLength(200);
      // 10 a second, if the machine keeps up.
      expect(Math.min(...rates)).toBeGreaterThan(5);
      expect(Math.max(...rates)).toBeLessThan(12);
    }, 60_000);

    it('says that nothing comes any more', async () => {
      const callers = topCallers({ publishTo: redisReports(redis()) });
      for (let i = 0; i < 100; i += 1) callers.countDecision(denied, 'enforce', 'ada');
      await expect.poll(() => redisReports(redis()).read()).toHaveLength(1);
      const child = start(['top', '--every', '3', '--once', '--json']);
      let out = '';
      child.stdout?.on('data', (text) => {
        out += text;
      });
      await once(child, 'close');
      await callers.close();
      expect(JSON.parse(out).limiters).toMatchObject([{ limiter: 'api', requests: 0 }]);
    });

    it('fails if it can print nothing', async () => {
      await redis().acl('SETUSER', 'top', 'on', '>pw', '~*', '+@all');
      onTestFinished(async () => void (await redis().acl('DELUSER', 'top')));
      const at = url().replace(/\/\/.*@/, '//top:pw@');
      const child = start(['top', '--every', '5', '--once'], { REDIS_URL: at });
      const texts = { out: '', err: '' };
      child.stdout?.on('data', (text) => {
        texts.out += text;
      });
      child.stderr?.on('data', (text) => {
        texts.err += text;
      });
      const ended = once(child, 'close');
      await expect.poll(() => redis().client('LIST')).toMatch(/cmd=eval(sha)? user=top/);
      await redis().acl('SETUSER', 'top', '-@all');
      expect({ code: (await ended)[0], ...texts }).toEqual({
        code: 1,
        out: '',
        err: expect.stringContaining('NOPERM'),
      });
    });

    it.skipIf(process.platform !== 'linux')(
      'stays on one screen of a terminal, whatever keys clients send',
      async () => {
        await published({ [`${'long '.repeat(50)}`]: 3 });
        const own = `${process.execPath} ${COMMAND} top --every 1`;
        const screen = spawn('script', ['-qec', `stty rows 24 cols 80; ${own}`, '/dev/null'], {
          env: { ...process.env, REDIS_URL: url() },
        });
        let out = '';
        screen.stdout.on('data', (text) => {
          out += text;
          if (out.includes('long')) screen.kill();
        });
        await once(screen, 'close');
        const csi = '\u001b[';
        const [, screenful = ''] = out.split(`${csi}H${csi}J${csi}?7l`);
        expect(screenful).toMatch(/long .*/);
        expect(screenful).toContain(`${csi}?7h`);
      },
    );

    it.each(['0', 'x', '1.5'])('rejects --every %s', async (every) => {
      expect((await spillway(['top', '--every', every])).code).toBe(2);
    });
  });
});
