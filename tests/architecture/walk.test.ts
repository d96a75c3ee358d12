/** How many of our files run for one request, and the few that explain it: docs/how-it-works.md draws those. */

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { redisUrl } from 'spillway-testkit/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../readme/snippets.js';

/** Prints the places in the bundle of all functions that run for the last of some requests. */
const PROGRAM = `
  import { Session } from 'node:inspector/promises';
  import { rateLimit, spillway } from '@spillway/express';
  import { redisStore } from '@spillway/redis';
  import express from 'express';
  import { Redis } from 'ioredis';

  const limiter = rateLimit({ name: 'api', limit: 1000, window: '1m' });
  const app = express();
  app.use(spillway(limiter, { store: redisStore(new Redis(process.env.WALK_REDIS)) }));
  app.get('/', (req, res) => res.send('Hello'));
  const server = app.listen(0, async () => {
    const session = new Session();
    session.connect();
    await session.post('Profiler.enable');
    const get = async () => {
      const response = await fetch(\`http://127.0.0.1:\${server.address().port}/\`);
      if (!response.headers.has('ratelimit')) throw new Error('not limited');
    };
    for (let i = 0; i < 20; i += 1) await get();
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await session.post('Profiler.takePreciseCoverage');
    await get();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const { functions } = result.find(({ url }) => url.endsWith('walk.mjs'));
    const called = functions.map(({ ranges }) => ranges[0]).filter(({ count }) => count > 0);
    console.log(JSON.stringify(called.map(({ startOffset }) => startOffset)));
    process.exit();
  });`;

const folder = mkdtempSync(join(import.meta.dirname, '.snippets-walk-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe.skipIf(redisUrl === null)('a request through Express and Redis', () => {
  let files: readonly string[];

  beforeAll(async () => {
    const outfile = join(folder, 'walk.mjs');
    await build({
      stdin: { contents: PROGRAM, resolveDir: import.meta.dirname },
      bundle: true,
      format: 'esm',
      platform: 'node',
      conditions: ['@spillway/source'],
      external: ['express', 'ioredis'],
      loader: { '.lua': 'text' },
      outfile,
    });
    const { stdout } = await promisify(execFile)(process.execPath, [outfile], {
      env: { ...process.env, WALK_REDIS: redisUrl ?? '' },
    });
    files = filesAt(JSON.parse(stdout), readFileSync(outfile, 'utf8'));
  });

  it('runs at most 45 files', () => {
    expect(files.length, files.join('\n')).toBeGreaterThan(20);
    expect(files.length, files.join('\n')).toBeLessThanOrEqual(45);
  });

  it('shows at most 12 of them as those that explain an admission', () => {
    const page = readFileSync(join(ROOT, 'docs', 'how-it-works.md'), 'utf8');
    const shown = [...page.matchAll(/\["([\w/.-]+\.ts)/g)].map(([, name = '']) => name);
    expect(shown.length).toBeGreaterThan(0);
    expect(shown.length).toBeLessThanOrEqual(12);
    expect(shown.filter((name) => !files.includes(name))).toEqual([]);
  });
});

/** The sources of the functions at these offsets, as `core/guard/guard.ts`. esbuild names each in a comment. */
function filesAt(offsets: readonly number[], bundle: string): readonly string[] {
  const starts = [...bundle.matchAll(/^\/\/ (?:\.\.\/)*(.+)$/gm)];
  const names = offsets.map((at) => starts.findLast(({ index }) => index <= at)?.[1] ?? '');
  const ours = names.flatMap(
    (name) => /^packages\/(\w+)\/src\/(.+)/.exec(name)?.slice(1).join('/') ?? [],
  );
  return [...new Set(ours)].sort();
}
