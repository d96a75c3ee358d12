/** How the command looks: colours, times and help. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { redisProgram } from 'spillway-testkit/redis';
import { beforeEach, describe, expect, it } from 'vitest';
import { because, COMMAND, commandOnRedis } from './command.js';

const RED = '\u001b[31m';

describe.skipIf(redisProgram === null)('spillway', () => {
  const { redis, start, spillway, announce } = commandOnRedis('own');

  beforeEach(() => announce('api'));

  const off = ['set', 'api', 'off', ...because];

  it('has no colours in a pipe, and colours where they are forced', async () => {
    expect((await spillway(off)).out).not.toContain('\u001b');
    const forced = await spillway(off, { FORCE_COLOR: '1' });
    const shown = forced.out.replaceAll(RED, '<red>').replaceAll('\u001b[39m', '</red>');
    expect(shown).toMatch(/api +mode +<red>off +<\/red> +ada/);
    expect((await spillway(['status', '--changes', 'x'], { FORCE_COLOR: '1' })).err).toContain(
      `${RED}error:`,
    );
  });

  it.each<[string, NodeJS.ProcessEnv]>([
    ['NO_COLOR', { NO_COLOR: '1', FORCE_COLOR: '1' }],
    ['FORCE_COLOR=0', { FORCE_COLOR: '0' }],
  ])('has none with %s', async (_, env) => {
    expect((await spillway(off, env)).out).not.toContain('\u001b');
    expect((await spillway(['set', '--help'], env)).out).not.toContain('\u001b');
  });

  it('has none in JSON, whatever is forced', async () => {
    const env = { FORCE_COLOR: '1' };
    for (const args of [off, ['status'], ['status', 'x', '--changes', 'x']]) {
      const { out, err } = await spillway([...args, '--json'], env);
      expect(out + err).not.toContain('\u001b');
    }
  });

  it('ends quietly when nobody reads on, as with head', async () => {
    const child = start(['status']);
    child.stdout?.destroy();
    let err = '';
    child.stderr?.on('data', (text) => {
      err += text;
    });
    const [code] = await once(child, 'close');
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });

  describe.skipIf(!existsSync('/dev/full'))('if the disk is full', () => {
    it.each([
      { args: ['--help'], code: 1, says: /^error: ENOSPC.*\n$/ },
      { args: ['hash', 'ada', '--json'], code: 1, says: /^\{"error":\{.*ENOSPC.*\}\}\n$/ },
      { args: ['nonsense'], code: 2, says: /^error: unknown command 'nonsense'\n.*\n$/ },
    ])('says so after $args, unless it printed nothing', async ({ args, code, says }) => {
      const env = { ...process.env, SPILLWAY_LOG_SECRET: 'a secret of the log' };
      const child = spawn(process.execPath, [COMMAND, ...args], {
        env,
        stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
      });
      let err = '';
      child.stderr?.on('data', (text) => {
        err += text;
      });
      const [ended] = await once(child, 'close');
      expect({ code: ended, err }).toEqual({ code, err: expect.stringMatching(says) });
    });
  });

  it('has its exit code also when nobody reads its errors', async () => {
    const child = start(['set', 'api', 'nonsense']);
    child.stderr?.destroy();
    const [code] = await once(child, 'close');
    expect(code).toBe(2);
  });

  it('takes no colour from Redis', async () => {
    const note = JSON.stringify({ value: 'off', by: '\u001b[31meve', because: 'x' });
    await redis().set('spw:{%control}revision', '1');
    await redis().hset('spw:{%control}settings', 'mode ["api"]', `1 1 0 ${note}`);
    const { out } = await spillway(['status'], { FORCE_COLOR: '1' });
    expect(out).toContain('\\u{1b}[31meve');
  });

  it.each([
    ['UTC', '+00:00'],
    ['Asia/Kolkata', '+05:30'],
    ['America/St_Johns', '-0[23]:30'],
  ])('tells times with their zone: %s', async (TZ, zone) => {
    const { out } = await spillway(off, { TZ });
    const time = new RegExp(`\\d\\d:\\d\\d:\\d\\d ${zone.replace('+', '\\+')} \\(`);
    expect(out).toMatch(time);
  });

  it('marks what must be given, and has examples', async () => {
    const { code, out } = await spillway(['limits', '--help']);
    expect(code).toBe(0);
    expect(out).toMatch(/--because <reason> +why, for your colleagues \(required\)/);
    expect(out).toMatch(/--for <duration> .*\(default: 1h\)/s);
    expect(out).toContain('spillway limits per-tenant --key acme --limit 20000 --reset --for 3d');
    expect((await spillway(['reset', '--help'])).out).not.toContain('(required)');
  });

  it('gives examples that work', { timeout: 120_000 }, async () => {
    const commands = ['set', 'share', 'limits', 'clear', 'block', 'allow', 'unblock', 'reset'];
    const helps = [
      ['status'],
      ['once', 'show'],
      ['once', 'drop'],
      [],
      ...commands.map((one) => [one]),
    ];
    for (const command of helps) {
      const { out } = await spillway([...command, '--help']);
      const lines = [...out.matchAll(/^ {2}spillway (.*)$/gm)].map(([, line = '']) => line);
      expect(lines).not.toEqual([]);
      for (const line of lines) {
        const words = line
          .match(/"[^"]*"|'[^']*'|\S+/g)
          ?.map((word) => word.replace(/^["']|["']$/g, ''));
        const anyway = line.startsWith('status') ? [] : ['--anyway'];
        expect({ line, ...(await spillway([...(words ?? []), ...anyway])) }).toMatchObject({
          code: 0,
          err: '',
        });
      }
    }
  });
});
