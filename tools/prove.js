/**
 * `npm run prove`, `prove:all`, `prove:bugs` and `prove:agreement`. Bundles the program of the command from tests/proof
 * and the sources of the packages, and runs it.
 */

import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const TESTS = join(import.meta.dirname, '../tests');
const { build } = createRequire(join(TESTS, 'package.json'))('esbuild');

// Modules that are not part of the bundle are resolved from this folder.
const folder = join(TESTS, 'node_modules/.cache');
mkdirSync(folder, { recursive: true });
const outfile = join(folder, `prove-${process.pid}.mjs`);
await build({
  entryPoints: [join(TESTS, 'proof/main.ts')],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  conditions: ['@spillway/source'],
  loader: { '.lua': 'text' },
  external: ['esbuild', 'fast-check', 'ioredis', 'luaparse'],
  sourcemap: 'inline',
  define: { 'import.meta.dirname': JSON.stringify(join(TESTS, 'proof')) },
});
const { main } = await import(pathToFileURL(outfile).href);
await main(process.argv.slice(2));
