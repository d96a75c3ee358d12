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

const SUITES: readonly Pick<Suite<never>, 'peer' | 'cases'>[] = [
  expressRateLimit,
  rateLimiterFlexible,
  nestjsThrottler,
  koaRatelimit,
  honoRateLimiter,
  fastifyRateLimit,
  ...queues,
];

it('tells what the suites have found', async () => {
  const file = join(ROOT, 'docs', 'migrating', 'behaviours.md');
  await expect(page()).toMatchFileSnapshot(file);
});

it('stands on enough', () => {
  const least = [25, 25, 10, 10, 10, 10]; // of the packages that limit requests
  const tried = SUITES.map(({ cases }) => cases.length);
  expect(tried.filter((count, at) => count < (least[at] ?? 0))).toEqual([]);
});

function page(): string {
  const rows = SUITES.map(({ peer, cases }) => {
    const others = cases.filter(({ differs }) => differs).length;
    return `| ${peer} ${versionOf(peer)} | ${cases.length} | ${cases.length - others} | ${others} |`;
  });
  return `# The same, or not

Behaviours of ten packages, gathered from their documentation; of the first six also from what their own tests check.
Each was tried twice, by a test that still runs: on the package from npm, in memory, and on Spillway behind a shim that
has the package's options. [The suites](../../tests/migrating) show each trial, and the shims how an option is said
here. This page is written from them.

| | tried | the same | not |
|---|---|---|---|
${rows.join('\n')}

What is not the same, and why:
${SUITES.map(section).join('')}`;
}

function section({ peer, cases }: (typeof SUITES)[number]): string {
  const rows = cases.flatMap(({ does, differs }) =>
    differs ? [`| ${cell(does)} | ${cell(differs.because)} |`] : [],
  );
  if (rows.length === 0) return '';
  return `\n## ${peer}\n\n| it | Spillway |\n|---|---|\n${rows.join('\n')}\n`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

/** The version that was tried. */
function versionOf(peer: string): string {
  const file = join(ROOT, 'tests', 'node_modules', peer, 'package.json');
  return JSON.parse(readFileSync(file, 'utf8')).version;
}
