/** Consumers with special tools: Jest, which knows only CommonJS, and a Worker's bundle. */

import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { publicPackages } from './packages.js';
import { installPacked, type Project } from './project.js';

const NAMES = ['core', 'express', 'hono', 'redis'].map((name) => `@spillway/${name}`);
let project: Project;

beforeAll(async () => {
  const packages = publicPackages().filter(({ name }) => NAMES.includes(name));
  const [first, ...others] = packages;
  if (!first) throw new Error('nothing to pack');
  project = await installPacked([{ ...first, peers: [...first.peers, 'jest@30.5.2'] }, ...others]);
}, 180_000);

afterAll(() => project?.remove(), 120_000);

it('works under Jest, with one copy of core', async () => {
  project.write({
    'jest/package.json': '{ "type": "commonjs" }',
    'jest/limits.test.js': `
      const core = require('@spillway/core');
      const { rateLimit, spillway, SpillwayError } = require('@spillway/express');
      const { redisStore } = require('@spillway/redis');
      test('limits', () => {
        expect(SpillwayError).toBe(core.SpillwayError);
        expect(typeof spillway(rateLimit({ limit: 1, window: '1m' }))).toBe('function');
        expect(() => redisStore({})).toThrow(core.SpillwayError);
        const limiter = core.createLimiter({ limit: 1, window: '1m' });
        expect([limiter.consume('ada').allowed, limiter.consume('ada').allowed]).toEqual([true, false]);
      });`,
    'jest.mjs': `
      import { spawnSync } from 'node:child_process';
      const bin = new URL('node_modules/jest/bin/jest.js', import.meta.url).pathname;
      const args = [bin, '--rootDir', 'jest', '--json', '--silent'];
      const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
      const { numPassedTests, numFailedTests, testResults } = JSON.parse(stdout);
      console.log(JSON.stringify({ numPassedTests, numFailedTests, message: testResults[0]?.message ?? '' }));`,
  });
  expect(await project.run('jest.mjs')).toEqual({
    numPassedTests: 1,
    numFailedTests: 0,
    message: '',
  });
}, 60_000);

it('bundles for a Worker without anything of Node', async () => {
  project.write({
    'worker.js': `
      import { fetchGuard } from '@spillway/core/fetch';
      import { concurrencyLimit, rateLimit, spillway } from '@spillway/hono';
      import { fromUpstash, redisStore } from '@spillway/redis';
      import { Hono } from 'hono';
      const limits = [rateLimit({ name: 'a', limit: 1, window: '1m' }), concurrencyLimit({ name: 'b', limit: 1 })];
      export const guards = [fetchGuard, fromUpstash, redisStore];
      export default new Hono().use(spillway(limits, { clientIp: (c) => c.req.header('cf-connecting-ip') }));`,
  });
  const { outputFiles, metafile } = await build({
    entryPoints: [join(project.dir, 'worker.js')],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['node:*'],
    metafile: true,
    write: false,
  });
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  expect(imports.filter(({ external }) => external).map(({ path }) => path)).toEqual([]);
  const text = outputFiles[0]?.text ?? '';
  expect(text).toContain('spillway');
  expect(text).not.toMatch(/\b(process|Buffer)\./);
});
