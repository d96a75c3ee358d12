/**
 * Packs the built packages into one file, `releases/<format>.js`, which later versions are tested against:
 * `npm run build && node tests/format/pack.js 1`. A release is packed once, by the commit that begins a format, and not
 * changed afterwards.
 */

import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const [format] = process.argv.slice(2);
if (!format || !/^\d+$/.test(format)) throw new Error('usage: node tests/format/pack.js <format>');
const here = fileURLToPath(new URL('.', import.meta.url));

await build({
  stdin: {
    contents: `
      export * as core from '@spillway/core';
      export * as fetch from '@spillway/core/fetch';
      export * as outgoing from '@spillway/outgoing';
      export * as redis from '@spillway/redis';
      export * as redisTesting from '@spillway/redis/testing';
      export * as store from '@spillway/core/store';
      export * as testing from '@spillway/core/testing';
    `,
    resolveDir: here,
  },
  outfile: `${here}releases/${format}.js`,
  bundle: true,
  format: 'esm',
  legalComments: 'eof',
  minify: true,
  platform: 'node',
  target: 'node20',
});
