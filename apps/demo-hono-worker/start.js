/** Bundles the Worker and runs it in workerd, Cloudflare's own runtime, with the environment as its settings. */

import { fileURLToPath } from 'node:url';
import { cannotListen, welcome } from 'demo-parts';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';

const { PORT = '3000', ...environment } = process.env;
const SETTINGS = ['LIMIT', 'WINDOW', 'FOUR', 'TRUST_PROXY', 'REDIS_HTTP_URL', 'REDIS_HTTP_TOKEN'];
const given = SETTINGS.filter((name) => environment[name] !== undefined);

console.log('Bundling the Worker ...');
const bundle = await build({
  entryPoints: [fileURLToPath(new URL('worker.js', import.meta.url))],
  bundle: true,
  format: 'esm',
  target: 'es2022',
  conditions: ['workerd', 'worker', 'browser'],
  write: false,
});

const miniflare = new Miniflare({
  script: bundle.outputFiles[0].text,
  modules: true,
  compatibilityDate: '2026-04-01',
  compatibilityFlags: ['enable_request_signal'], // tells a Worker that its client went away
  bindings: Object.fromEntries(given.map((name) => [name, environment[name]])),
  port: Number(PORT),
});

const { port } = await miniflare.ready.catch(cannotListen);
welcome(port, 'Hono in workerd');
process.once('SIGTERM', async () => {
  await miniflare.dispose();
  process.exit();
});
