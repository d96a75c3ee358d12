/** The sample of docs/migrating.md that compares a new limit with the old one, as it is printed. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Express } from 'express';
import { serveListener } from 'spillway-testkit/http';
import { afterAll, expect, it } from 'vitest';
import { findSnippets } from '../readme/snippets.js';
import { ask, passes, statuses, virtualTime } from './world.js';

const [sample] = findSnippets().filter(({ code }) => code.includes('byOldOnly'));

const dir = mkdtempSync(join(import.meta.dirname, '.beside-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
virtualTime();

interface Sample {
  readonly app: Express;
  readonly refused: { byBoth: number; byOldOnly: number; byNewOnly: number };
}

async function load(): Promise<Sample> {
  const file = join(dir, 'sample.ts');
  const before = `import express from 'express';\nexport const app = express().set('trust proxy', 1);\n`;
  writeFileSync(file, `${before}${sample?.code}\nexport { refused };\n`);
  return import(/* @vite-ignore */ file);
}

it('counts what one of the two refuses, and both', async () => {
  const { app, refused } = await load();
  app.get('/', (_req, res) => void res.send('hello'));
  const service = await serveListener(app);

  expect((await statuses(service, 102)).slice(-3)).toEqual([200, 429, 429]);
  expect(refused).toEqual({ byBoth: 2, byOldOnly: 0, byNewOnly: 0 });

  await passes(3_000); // five more tokens of the new limit; the window of the old one goes on
  expect((await ask(service)).status).toBe(429);
  expect(refused).toEqual({ byBoth: 2, byOldOnly: 1, byNewOnly: 0 });

  await passes(57_000); // the old one begins anew; of the new one 99 tokens are back
  expect((await statuses(service, 100)).at(-1)).toBe(200);
  expect(refused).toEqual({ byBoth: 2, byOldOnly: 1, byNewOnly: 1 });
});
