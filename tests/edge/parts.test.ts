/** Whoever bundles has the code only of the algorithms that are used. */

import { expect, it } from 'vitest';
import { modulesOf } from './bundle.js';

const LEASES = /\/core\/src\/algorithms\/leases\//;
const WINDOWS = /\/core\/src\/algorithms\/window\//;

it.each([
  "export { createLimiter } from '@spillway/core'",
  "export { createGuard, rateLimit, workerShedder } from '@spillway/core'",
  "export { rateLimit, spillway } from '@spillway/express'",
])('%s: no leases', async (source) => {
  const modules = await modulesOf(source);
  expect(modules.filter((module) => LEASES.test(module))).toEqual([]);
  expect(modules.filter((module) => WINDOWS.test(module))).not.toEqual([]);
});

it.each(['concurrencyLimit', 'fleetShedder'])('%s brings the leases', async (name) => {
  const modules = await modulesOf(`export { ${name} } from '@spillway/core'`);
  expect(modules.filter((module) => LEASES.test(module))).not.toEqual([]);
});
