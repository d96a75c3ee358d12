/** Workers with Durable Objects in workerd, Cloudflare's own runtime. */

import { join } from 'node:path';
import { Miniflare, type MiniflareOptions } from 'miniflare';
import { bundleForWorker } from 'spillway-testkit/worker-bundle';

/** Runs a Worker of this folder, with a binding of each of `classes`, under its name in capitals, to SQLite objects. */
export async function runWorker(
  file: string,
  classes: readonly string[],
  options: Partial<MiniflareOptions> = {},
): Promise<Miniflare> {
  const { text } = await bundleForWorker(join(import.meta.dirname, file));
  const miniflare = new Miniflare({
    script: text,
    modules: true,
    compatibilityDate: '2026-04-01',
    durableObjects: Object.fromEntries(
      classes.map((className) => [className.toUpperCase(), { className, useSQLite: true }]),
    ),
    port: 0,
    ...options,
  } as MiniflareOptions);
  await miniflare.ready;
  return miniflare;
}
