/**
 * What options are called elsewhere, and where ours belong. docs/errors.md says more of each, at `SPW_OPTION_UNKNOWN`.
 *
 * The names are those of express-rate-limit 8, rate-limiter-flexible 9, @nestjs/throttler 6, hono-rate-limiter 0.5,
 * @upstash/ratelimit 2, @fastify/rate-limit 10 and koa-ratelimit 6, and a few more.
 */

/**
 * Ours, and what takes its place in other packages. What ends with `()` is a function of ours, no option. Of two that
 * are ours, the function with the unknown option has one, and the other is meant by it too.
 */
const OTHERS: Readonly<Record<string, string>> = {
  'limit capacity': 'max points tokens',
  'window keep': 'windowMs duration ttl timeWindow interval period',
  'key scope': 'keyGenerator getTracker generateKey id',
  name: 'identifier keyPrefix nameSpace',
  cost: 'weight',
  mode: 'shadow dryRun enabled disabled',
  refundIf: 'skipSuccessfulRequests skipFailedRequests requestWasSuccessful',
  skip: 'skipIf ignoreUserAgents allowList whitelist',
  headers:
    'standardHeaders legacyHeaders setHeaders disableHeader addHeaders addHeadersOnExceeding enableDraftSpec draft_polli_ratelimit_headers',
  'onRefused exception':
    'handler message statusCode status errorMessage errorResponseBuilder throw onLimited',
  onDecision: 'onLimitReached onExceeding onExceeded',
  store: 'storeClient storage redis db driver cache binding',
  onStoreError: 'passOnStoreError skipOnError insuranceLimiter',
  storeTimeout: 'timeout',
  denialCache: 'ephemeralCache inMemoryBlockOnConsumed inMemoryBlockDuration',
  ipv6Prefix: 'ipv6Subnet',
  control: 'blockDuration ban blacklist dynamicLimits enableProtection denyListThreshold',
  observers: 'analytics',
  limiters: 'throttlers limiter',
  groups: 'groupId',
  'createShaper()': 'execEvenly execEvenlyMinDelayMs delayMs delayAfter',
  'record()': 'continueExceeding',
  'admissionsOf()': 'requestPropertyName requestStorePropertyName',
};

/** Where options of ours belong that are easily given elsewhere. */
const PLACES: Readonly<Record<string, string>> = {
  'the limiter, as in rateLimit()':
    'limit defaultLimit window burst algorithm anchor key cost refundIf name share',
  'the guard':
    'skip headers onRefused onDecision onFault store onStoreError storeTimeout denialCache trustProxy ipv6Prefix clientIp control observers logger validate preflights mode limiters',
  'shedders, and of schedule()': 'priority',
  'redisStore()': 'prefix hashKeys',
  'the Fastify plugin': 'groups',
};

/** What we call what another package calls so; of two names the one that is in `names`. */
export function ourNameFor(name: string, names: object): string | undefined {
  const ours = keyOf(OTHERS, name)?.split(' ');
  if (ours) return ours.find((own) => Object.hasOwn(names, own)) ?? ours[0];
  const alike = Object.keys(OTHERS).find((key) => key.split(' ').includes(name));
  return alike?.split(' ').find((own) => Object.hasOwn(names, own));
}

/** Where an option of ours belongs. */
export function placeOf(name: string): string | undefined {
  return keyOf(PLACES, name);
}

function keyOf(table: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.keys(table).find((key) => table[key]?.split(' ').includes(name));
}
