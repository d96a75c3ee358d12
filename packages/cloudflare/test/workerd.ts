/** Workers with Durable Objects in workerd, Cloudflare's own runtime. */

import { join } from 'node:path';
import type { ObjectNamespace, ObjectStub } from '@spillway/cloudflare';
import { Miniflare, type MiniflareOptions } from 'miniflare';
import { bundleForWorker } from 'spillway-testkit/worker-bundle';

/** Runs a Worker of this folder, with a binding of each of `classes`, under its name in capitals, to SQLite objects. */
export async function runWorker(
  file: string,
  classes: readonly string[],
  options: Partial<MiniflareOptions> & { readonly useSQLite?: boolean } = {},
): Promise<Miniflare> {
  const { useSQLite = true, ...others } = options;
  const { text } = await bundleForWorker(join(import.meta.dirname, file));
  const miniflare = new Miniflare({
    script: text,
    modules: true,
    compatibilityDate: '2026-04-01',
    durableObjects: Object.fromEntries(
      classes.map((className) => [className.toUpperCase(), { className, useSQLite }]),
    ),
    port: 0,
    ...others,
  } as MiniflareOptions);
  await miniflare.ready;
  return miniflare;
}

/** The most requests at once: on a busy machine, further connections time out. */
const AT_ONCE = 32;

/** The objects of a class of `workers/objects.js`, as the store reaches them: through the Worker. */
export async function objectsOf(miniflare: Miniflare, className: string): Promise<ObjectNamespace> {
  const origin = await miniflare.ready;
  const waiting: (() => void)[] = [];
  let free = AT_ONCE;
  const ask: ObjectStub['fetch'] = async (url, init) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => void waiting.push(resolve));
    try {
      const reply = await fetch(url, init);
      const text = await reply.text();
      return { status: reply.status, text: async () => text };
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
  return {
    idFromName: (name) => new URL(`/${className.toUpperCase()}/${name}`, origin),
    get: (id) => ({ fetch: (_, init) => ask(`${id}`, init) }),
  };
}
