/** The calendars in Cloudflare's runtime, whose time zones come from its own ICU. */

import { join } from 'node:path';
import { Miniflare } from 'miniflare';
import { bundleForWorker } from 'spillway-testkit/worker-bundle';
import { expect, it, onTestFinished } from 'vitest';

it('begin and end as in Temporal', async () => {
  const { text } = await bundleForWorker(join(import.meta.dirname, 'calendar-worker.js'));
  const compatibilityDate = '2026-04-01';
  const miniflare = new Miniflare({ script: text, modules: true, compatibilityDate });
  onTestFinished(() => miniflare.dispose());
  const response = await miniflare.dispatchFetch('http://localhost/');
  const { zones, differences } = (await response.json()) as {
    zones: number;
    differences: string[];
  };
  expect(zones).toBeGreaterThan(20);
  expect(differences).toEqual([]);
});
