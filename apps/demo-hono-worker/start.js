/** Runs the Worker in workerd, Cloudflare's runtime. Its wrangler.jsonc and environment variables configure it. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { cannotListen, welcome } from 'demo-parts';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';

const { PORT = '3000', ...environment } = process.env;
const SETTINGS = ['LIMIT', 'WINDOW', 'FOUR', 'TRUST_PROXY'];
const given = SETTINGS.filter((name) => environment[name] !== undefined);
const here = (file) => fileURLToPath(new URL(file, import.meta.url));
const config = JSON.parse(readFileSync(here('wrangler.jsonc'), 'utf8')); // it has no comments

console.log('Bundling the Worker ...');
const bundle = await build({
  entryPoints: [here(config.main)],
  bundle: true,
  format: 'esm',
  target: 'es2022',
  conditions: ['workerd', 'worker', 'browser'],
  external: ['cloudflare:*'],
  write: false,
});

const withSqlite = config.migrations.flatMap((migration) => migration.new_sqlite_classes);
const objects = config.durable_objects.bindings.map(({ name, class_name: className }) => [
  name,
  { className, useSQLite: withSqlite.includes(className) },
]);
const miniflare = new Miniflare({
  script: bundle.outputFiles[0].text,
  modules: true,
  compatibilityDate: config.compatibility_date,
  compatibilityFlags: config.compatibility_flags,
  durableObjects: Object.fromEntries(objects),
  bindings: Object.fromEntries(given.map((name) => [name, environment[name]])),
  port: Number(PORT),
});

const { port } = await miniflare.ready.catch(cannotListen);
welcome(port, 'Hono in workerd, counting in Durable Objects');
process.once('SIGTERM', async () => {
  await miniflare.dispose();
  process.exit();
});
