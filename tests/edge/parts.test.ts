/** A bundle contains only the code that its program uses. */

import { expect, it } from 'vitest';
import { modulesOf } from './bundle.js';

const LEASES = /\/core\/src\/algorithms\/(leases\.ts|upkeep\/(?!lost-releases))/;
const WINDOWS = /\/core\/src\/algorithms\/window\.ts/;
const LOGS = /\/core\/src\/algorithms\/log\//;
/** Modules for stores that can be slow or fail. */
const RESILIENCE =
  /\/core\/src\/stores\/(calls|circuit-breaker|denial-cache|fallback|group-parts|outage-log|probe|remote-store)\.ts/;

/** What is for live settings. */
const LIVE =
  /\/core\/src\/(control\/(check-change|live-control|override)|limits\/live-numbers)\.ts/;

/** Modules that record bodies and responses, for idempotency(). */
const CAPTURE = /\/core\/src\/(once|node\/(recorder|answer|body)|fetch\/(recorder|answer|body))\b/;

const having = async (source: string, part: RegExp): Promise<readonly string[]> =>
  (await modulesOf(source)).filter((module) => part.test(module));

it.each([
  "export { createLimiter } from '@spillway/core'",
  "export { createGuard, rateLimit, workerShedder } from '@spillway/core'",
  "export { rateLimit, spillway } from '@spillway/express'",
])('%s: no leases, windows, logs, and nothing for stores that fail', async (source) => {
  for (const part of [LEASES, WINDOWS, LOGS, RESILIENCE]) {
    expect(await having(source, part)).toEqual([]);
  }
});

it.each(['express', 'koa', 'fastify', 'hono'])(
  '@spillway/%s: nothing that sees bodies and answers, which comes with idempotency()',
  async (adapter) => {
    const source = (...names: string[]) =>
      `export { ${names.join(', ')} } from '@spillway/${adapter}'`;
    expect(await having(source('rateLimit', 'spillway'), CAPTURE)).toEqual([]);
    expect(await having(source('idempotency', 'spillway'), CAPTURE)).not.toEqual([]);
  },
);

it('createLimiter: nothing for live settings, which come with a control', async () => {
  const source = (name: string) => `export { ${name} } from '@spillway/core'`;
  expect(await having(source('createLimiter'), LIVE)).toEqual([]);
  expect(await having(source('memoryControl'), LIVE)).toHaveLength(4);
});

it.each([
  ['concurrencyLimit', LEASES],
  ['fleetShedder', LEASES],
  ['fixedWindow', WINDOWS],
  ['slidingWindow', WINDOWS],
  ['slidingLog', LOGS],
])('%s brings its algorithm', async (name, part) => {
  const own = await having(`export { ${name} } from '@spillway/core'`, part);
  expect(own).not.toEqual([]);
});

it('a store that can fail brings what guards against that', async () => {
  const own = await having("export { remoteStore } from '@spillway/core/store'", RESILIENCE);
  expect(own).toHaveLength(8);
});
