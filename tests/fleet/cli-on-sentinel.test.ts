/** The command line through Redis Sentinel, before and after a failover. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startSentinels } from './redis-groups.js';

const COMMAND = join(import.meta.dirname, '../../packages/cli/dist/main.js');
const because = ['--anyway', '--because', 'a test', '--by', 'ada'];

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function spillway(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const own = { ...process.env, ...env };
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND, ...args], { env: own }, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err });
    });
  });
}

describe.skipIf(redisProgram === null)('spillway through sentinels', () => {
  it('finds the master, and after a failover the new one', { timeout: 60_000 }, async () => {
    const { entries, killMaster, replaced } = await startSentinels();
    const [first, second, third] = entries.map(({ port }) => port);
    const all = `redis://127.0.0.1:${first},127.0.0.1:${second},127.0.0.1:${third}`;
    const at = ['--redis', all, '--sentinel-master', 'main'];
    expect(await spillway(['set', 'api', 'off', ...at, ...because])).toMatchObject({
      code: 0,
      err: '',
    });
    expect(await spillway(['reset', 'api', 'ada', '--anyway', ...at])).toMatchObject({ code: 0 });
    const watch = spawn(process.execPath, [COMMAND, 'watch', '--json', ...at]);
    onTestFinished(() => void watch.kill('SIGKILL'));
    let seen = '';
    let told = '';
    watch.stdout.on('data', (text) => {
      seen += text;
    });
    watch.stderr.on('data', (text) => {
      told += text;
    });
    await vi.waitFor(() => expect(told).toContain('Watching'), { timeout: 10_000 });
    await killMaster();
    await replaced();
    expect((await spillway(['status', ...at])).out).toMatch(/api +mode +off/);
    const after = await spillway(['block', 'api', 'eve', ...because], {
      REDIS_URL: `redis://127.0.0.1:${third}`,
      SPILLWAY_SENTINEL_MASTER: 'main',
    });
    expect(after).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/key eve +block/) });
    await vi.waitFor(() => expect(seen).toContain('"eve"'), { timeout: 10_000 });

    // If one sentinel is gone, the next one is asked at once.
    const oneGone = ['--redis', `redis://127.0.0.1:1,127.0.0.1:${second}`, ...at.slice(2)];
    const beginMs = performance.now();
    expect((await spillway(['status', ...at])).out).toMatch(/api +mode +off/);
    const usualMs = performance.now() - beginMs;
    expect((await spillway(['status', ...oneGone])).out).toMatch(/api +mode +off/);
    expect(performance.now() - beginMs - usualMs).toBeLessThan(1.5 * usualMs + 1_000);

    // A sentinel that accepts connections but does not answer neither stops the others nor keeps the command alive.
    const hanging = createServer((socket) => void socket.on('error', () => {}).resume());
    await once(hanging.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void hanging.close());
    const hangs = `redis://127.0.0.1:${(hanging.address() as AddressInfo).port}`;
    const oneHangs = ['--redis', `${hangs},127.0.0.1:${second}`, ...at.slice(2)];
    expect((await spillway(['status', ...oneHangs])).out).toMatch(/api +mode +off/);
    expect(await spillway(['status', '--redis', hangs, ...at.slice(2)])).toMatchObject({
      code: 1,
      err: expect.stringContaining('no sentinel answers'),
    });

    const { out } = await spillway(['doctor', ...at]);
    expect(out).toMatch(/connection +127\.0\.0\.1:\d+ answers/);
    for (const { port } of entries) expect(out).not.toContain(`127.0.0.1:${port}`);

    const unknown = await spillway(['status', ...at.slice(0, 2), '--sentinel-master', 'nobody']);
    expect(unknown.code).toBe(1);
    expect(unknown.err).toContain(`the sentinels at 127.0.0.1:${first}, `);
    expect(unknown.err).toContain('call nobody');
    const gone = await spillway([
      'status',
      '--json',
      '--redis',
      'redis://127.0.0.1:1',
      ...at.slice(2),
    ]);
    expect(gone.code).toBe(1);
    expect(JSON.parse(gone.err).error.message).toContain('the sentinels at 127.0.0.1:1 call main');
  });
});
