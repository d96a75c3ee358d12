/**
 * The tests that docs/testing.md shows, in an app of each framework that has only our adapter: installed by pnpm, whose
 * strict layout lets an app import nothing that it does not name, from the packed packages.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transform } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findSnippets } from '../readme/snippets.js';
import { type App, install, MANAGERS } from './managers.js';
import { packAll } from './pack.js';
import { pin, publicPackages, ROOT } from './packages.js';

const ADAPTERS = ['express', 'koa', 'hono', 'fastify', 'nestjs'];
const samples = findSnippets().filter(({ file }) => file === 'docs/testing.md');
const sampleOf = (adapter: string): string =>
  samples.find(({ code }) => code.includes(`'@spillway/${adapter}/testing'`))?.code ?? '';

const dir = mkdtempSync(join(tmpdir(), 'spillway-tarballs-'));
let app: App;

beforeAll(async () => {
  const packages = publicPackages().filter(({ name }) =>
    ['core', ...ADAPTERS].some((adapter) => name === `@spillway/${adapter}`),
  );
  const names = packages.map(({ name }) => name);
  const tarballs = Object.entries(await packAll(names, dir, ROOT));
  const ours = Object.fromEntries(tarballs.map(([name, path]) => [name, `file:${path}`]));
  const platform = pin(join(ROOT, 'packages', 'nestjs'), '@nestjs/platform-express');
  const peers = [platform, ...packages.flatMap((one) => one.peers)];
  const others = peers.map((it) => [
    it.slice(0, it.lastIndexOf('@')),
    it.slice(it.lastIndexOf('@') + 1),
  ]);
  const files: Record<string, string> = { 'core.mjs': NO_CORE };
  for (const adapter of ADAPTERS) files[`${adapter}.mjs`] = await programOf(sampleOf(adapter));
  const pnpm = MANAGERS.find(({ name }) => name === 'pnpm');
  if (!pnpm) throw new Error('no pnpm');
  const named = ADAPTERS.map((adapter) => `@spillway/${adapter}`);
  app = await install(pnpm, ours, Object.fromEntries(others), files, named);
}, 240_000);

afterAll(() => {
  app?.remove();
  rmSync(dir, { recursive: true, force: true });
}, 120_000);

const NO_CORE = `
const code = await import('@spillway/core/testing').catch((error) => error.code);
console.log(JSON.stringify(code));`;

/** A program that prints what each `expression; // value` of a sample came to, beside the value. */
async function programOf(sample: string): Promise<string> {
  const claims = sample.replace(/^(\S.*); \/\/ (\d+)$/gm, 'seen.push([$1, $2]);');
  const options = {
    loader: 'ts',
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
  };
  const { code } = await transform(claims, options as Parameters<typeof transform>[1]);
  return `const seen = [];\n${code}\nconsole.log(JSON.stringify(seen));`;
}

it('lets the app import only what it names', async () => {
  expect(await app.run('core.mjs')).toBe('ERR_MODULE_NOT_FOUND');
});

describe.each(ADAPTERS)('the test of an app with @spillway/%s', (adapter) => {
  it('sees the limit refuse, and admit when its clock was moved', async () => {
    const seen = await app.run<[number, number][]>(`${adapter}.mjs`);
    expect(seen.map(([status]) => status)).toEqual(seen.map(([, claimed]) => claimed));
    expect(seen.map(([status]) => status).join()).toMatch(/200,429,(200,)*200/);
  });
});
