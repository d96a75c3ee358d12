/** The table of docs/errors.md that says what options of other packages are called here: complete, and true. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLimiter, rateLimit } from '@spillway/core';
import { admissionsOf } from '@spillway/core/adapter';
import { createShaper } from '@spillway/outgoing';
import { describe, expect, it } from 'vitest';
import { ROOT } from './snippets.js';

const limit = { limit: 1, window: '1m' } as const;
const functions = { admissionsOf, createShaper, record: createLimiter(limit).record };
const reference = readFileSync(join(ROOT, 'docs', 'options.md'), 'utf8');
const text = readFileSync(join(ROOT, 'docs', 'errors.md'), 'utf8');
const table = text.slice(text.indexOf('| elsewhere | here |'));
const rows = table
  .slice(0, table.indexOf('\n\n'))
  .split('\n')
  .slice(2)
  .map((row) =>
    row.split('|').map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name)),
  )
  .flatMap(([, theirs = [], ours = []]) => theirs.map((name) => [name, ours[0]] as const));

/** What other packages take, by their documentation. What we call the same is left out. */
const THEIRS: Readonly<Record<string, string>> = {
  'express-rate-limit':
    'windowMs message statusCode handler legacyHeaders standardHeaders identifier passOnStoreError keyGenerator ipv6Subnet requestPropertyName skipSuccessfulRequests skipFailedRequests requestWasSuccessful max onLimitReached draft_polli_ratelimit_headers',
  'rate-limiter-flexible':
    'points duration keyPrefix blockDuration execEvenly execEvenlyMinDelayMs inMemoryBlockOnConsumed inMemoryBlockDuration insuranceLimiter storeClient',
  '@nestjs/throttler':
    'ttl throttlers blockDuration getTracker generateKey skipIf ignoreUserAgents storage errorMessage setHeaders',
  'hono-rate-limiter':
    'windowMs message statusCode handler standardHeaders requestPropertyName requestStorePropertyName skipSuccessfulRequests skipFailedRequests requestWasSuccessful keyGenerator binding',
  '@upstash/ratelimit':
    'redis limiter timeout analytics ephemeralCache enableProtection denyListThreshold dynamicLimits',
  '@fastify/rate-limit':
    'max ban timeWindow cache allowList redis nameSpace continueExceeding skipOnError keyGenerator errorResponseBuilder enableDraftSpec addHeaders addHeadersOnExceeding onExceeding onExceeded groupId',
  'koa-ratelimit':
    'driver db duration errorMessage id max disableHeader throw whitelist blacklist onLimited',
};

it('has a table', () => {
  expect(rows.length).toBeGreaterThan(60);
  expect(new Set(rows.map(([name]) => name)).size).toBe(rows.length);
});

describe.each(Object.entries(THEIRS))('%s', (_, names) => {
  it('is there, with all its options', () => {
    const known = rows.map(([name]) => name);
    expect(names.split(' ').filter((name) => !known.includes(name))).toEqual([]);
  });
});

it.each(rows)('%s: what it says to write instead exists, %s', (name, ours = '') => {
  expect(() => rateLimit({ ...limit, [String(name)]: 1 })).toThrow(`has no option "${name}"`);
  if (ours.endsWith('()'))
    expect(functions).toHaveProperty(ours.slice(0, -2), expect.any(Function));
  else expect(reference).toMatch(new RegExp(`^\\| \\[?\`${ours}\``, 'm'));
});
