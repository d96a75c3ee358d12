/** Callbacks run in the async context of their own caller on every runtime that has async contexts. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Miniflare } from 'miniflare';
import { checkBuilt } from 'spillway-testkit/processes';
import { bundleForWorker } from 'spillway-testkit/worker-bundle';
import { expect, it, onTestFinished } from 'vitest';
import { program } from '../adapters/demos.js';

type Seen = readonly (readonly [callback: string, user: string, context: string | null])[];

const FILE = join(import.meta.dirname, 'contexts.js');
const PRINT = `import { contexts } from ${JSON.stringify(FILE)};\nconsole.log(JSON.stringify(await contexts()));`;

const run = promisify(execFile);

async function printedBy(command: string, args: readonly string[]): Promise<Seen> {
  checkBuilt('core');
  const { stdout } = await run(command, args, { cwd: import.meta.dirname });
  return JSON.parse(stdout);
}

async function inWorkerd(): Promise<Seen> {
  const { text } = await bundleForWorker(FILE);
  const miniflare = new Miniflare({
    script: text,
    modules: true,
    compatibilityDate: '2026-04-01',
    compatibilityFlags: ['nodejs_compat'],
    port: 0,
  });
  onTestFinished(() => miniflare.dispose());
  const response = await fetch(await miniflare.ready);
  return (await response.json()) as Seen;
}

it.each<[string, () => Promise<Seen>]>([
  ['Node', () => printedBy(process.execPath, ['--input-type=module', '-e', PRINT])],
  ['Bun', () => printedBy(program('bun', '@oven', 'bin/bun'), ['-e', PRINT])],
  ['Deno', () => printedBy(program('deno', '@deno', 'deno'), ['eval', '--ext=js', PRINT])],
  ['workerd', inWorkerd],
])('on %s', async (_, look) => {
  const seen = await look();
  const counts = new Map<string, number>();
  for (const [callback] of seen) counts.set(callback, (counts.get(callback) ?? 0) + 1);
  expect(Object.fromEntries(counts)).toEqual({
    key: 50,
    onDecision: 50,
    handler: 5,
    work: 50,
    fetch: 50,
    after: 50,
  });
  expect(seen.filter(([, user, context]) => user !== context)).toEqual([]);
});
