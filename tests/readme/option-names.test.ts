/** The pages about migrating say what options of other packages are called here. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rateLimit } from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { ROOT } from './snippets.js';

const page = (name: string): string => readFileSync(join(ROOT, 'docs', name), 'utf8');
const common = page('migrating.md');

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

/** The page of a package; of those without one, the page for all. */
const pageOf = (name: string): string =>
  name === '@upstash/ratelimit'
    ? ''
    : page(`migrating/${name.replace(/^@/, '').replace('/', '-')}.md`);

describe.each(Object.entries(THEIRS))('%s', (name, list) => {
  const theirs = list.split(' ');

  it('has all its options in a page', () => {
    const shown = new Set(`${common}${pageOf(name)}`.match(/\w+/g));
    expect(theirs.filter((option) => !shown.has(option))).toEqual([]);
  });

  it.each(theirs)('throws at %s', (option) => {
    const options = { limit: 1, window: '1m', [option]: 1 } as const;
    expect(() => rateLimit(options)).toThrow(`has no option "${option}"`);
  });
});
