/** The rehearsal of docs/3am.md: its commands find the caller behind a flood, in time. */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from 'spillway-testkit';
import { checkBuilt, startDemo } from 'spillway-testkit/processes';
import { redisProgram, startServer } from 'spillway-testkit/redis';
import { expect, it, onTestFinished } from 'vitest';

const COMMAND = join(ROOT, 'packages', 'cli', 'bin.js');
const page = readFileSync(join(ROOT, 'docs', '3am.md'), 'utf8');
const [, rehearsal = ''] = page.split(/^## A rehearsal$/m);
const [start = '', flood = '', look = ''] = [...rehearsal.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(
  ([, block]) => block,
);

it.skipIf(redisProgram === null)(
  'finds the caller behind a flood',
  async () => {
    checkBuilt('express');
    expect(existsSync(join(ROOT, 'packages/cli/dist/main.js')), 'run "npm run build"').toBe(true);
    expect(start).toContain('TRUST_PROXY=1 npm run demo');
    const server = await startServer();
    onTestFinished(() => server.kill());
    const url = `redis://127.0.0.1:${server.port}`;
    const demo = await startDemo({ LIMIT: 20, WINDOW: '1m', REDIS_URL: url });
    // The shell's process id chooses the flooding caller. Readers aren't told which, but the test must know.
    const commands = [flood, 'echo "caller-$(($$ % 8 + 1))"', 'sleep 2', look]
      .join('\n')
      .replaceAll('redis://localhost:6379', url)
      .replaceAll('localhost:3000', new URL(demo.url).host)
      .replaceAll('npx @spillway/cli', `${process.execPath} ${COMMAND}`);
    const [caller = '', ...said] = execFileSync('bash', ['-c', commands], { encoding: 'utf8' })
      .trim()
      .split('\n');
    expect(said.slice(0, 4)).toEqual([
      'per-key (enforce, 1 process)',
      expect.stringContaining('in the last minute'),
      expect.stringMatching(/^CALLER +1 MIN +SHARE/),
      expect.stringMatching(new RegExp(`^${caller} +\\d+ +9\\d%`)),
    ]);
    expect(said.at(-1)).toContain(`spillway block per-key --for 1h --because "..." ${caller}`);
  },
  120_000,
);
