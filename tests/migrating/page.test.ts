/**
 * docs/migrating/behaviours.md tells how many behaviours are the same and which are not: as the suites have them. To
 * write it anew, `npx vitest run tests/migrating/page -u`; then read the diff.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from 'spillway-testkit';
import { expect, it } from 'vitest';
import type { Suite } from './cases.js';
import { expressRateLimit } from './express-rate-limit/suite.js';
import { fastifyRateLimit } from './fastify-rate-limit/suite.js';
import { honoRateLimiter } from './hono-rate-limiter/suite.js';
import { koaRatelimit } from './koa-ratelimit/suite.js';
import { nestjsThrottler } from './nestjs-throttler/suite.js';
import { queues } from './queues/suite.js';
import { rateLimiterFlexible } from './rate-limiter-flexible/suite.js';

const SUITES: readonly (readonly [folder: string, Pick<Suite<never>, 'peer' | 'cases'>])[] = [
  ['express-rate-limit', expressRateLimit],
  ['rate-limiter-flexible', rateLimiterFlexible],
  ['nestjs-throttler', nestjsThrottler],
  ['koa-ratelimit', koaRatelimit],
  ['hono-rate-limiter', honoRateLimiter],
  ['fastify-rate-limit', fastifyRateLimit],
  ...queues.map((suite) => ['queues', suite] as const),
];

it('tells what the suites have found', async () => {
  const file = join(ROOT, 'docs', 'migrating', 'behaviours.md');
  await expect(page()).toMatchFileSnapshot(file);
});

it('stands on enough', () => {
  const least = [25, 25, 10, 10, 10, 10]; // of the packages that limit requests
  const tried = SUITES.map(([, { cases }]) => cases.length);
  expect(tried.filter((count, at) => count < (least[at] ?? 0))).toEqual([]);
});

function page(): string {
  const rows = SUITES.map(([folder, { peer, cases }]) => {
    const others = cases.filter(({ differs }) => differs).length;
    const name = `[${peer}](../../tests/migrating/${folder}) ${versionOf(peer)}`;
    return `| ${name} | ${cases.length} | ${cases.length - others} | ${others} |`;
  });
  return `# The same, or not

Tests compare behaviours of ten npm packages with Spillway (behind a shim that takes the package's options), in memory.
The linked suites say what differs (\`differs\`) and why.

| | tried | the same | not |
|---|---|---|---|
${rows.join('\n')}
`;
}

/** The version that was tried. */
function versionOf(peer: string): string {
  const file = join(ROOT, 'tests', 'node_modules', peer, 'package.json');
  return JSON.parse(readFileSync(file, 'utf8')).version;
}
