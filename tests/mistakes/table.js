/**
 * Wrong calls, as a newcomer writes them, and the message about each. Those of the first part throw at once; those of
 * the second log a line. Each names the check of express-rate-limit for the same mistake, if it has one.
 */

import { memoryStore, rateLimit } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';

const limit = { limit: 100, window: '1m' };
const none = () => undefined;

/** A limiter with wrong options: the same in every framework. */
const limiter = (erl, options, says) => ({
  erl,
  title: `rateLimit(${titleOf(options)})`,
  make: ({ guard }) => guard(rateLimit({ ...limit, ...options })),
  says,
});

/** A wrong option of the guard. */
const guard = (erl, options, says, { named = false, except = [] } = {}) => ({
  erl,
  except,
  title: `spillway(limiters, ${titleOf(options)})`,
  make: ({ guard: make }) => make([rateLimit(named ? { ...limit, name: 'api' } : limit)], options),
  says,
});

/** A wrong value in place of limiters. */
const limiters = (title, given, says, except = []) => ({
  title: `spillway(${title})`,
  make: ({ guard: make }) => make(given, {}),
  says,
  except,
});

export const THROWN = [
  // Options of other packages, in the limiter, where those packages have them all.
  limiter('UNKNOWN_OPTION', { keyGenerator: none }, hasAll('rateLimit()', 'keyGenerator')),
  limiter(
    'UNKNOWN_OPTION',
    { windowMs: 60_000 },
    has('rateLimit()', 'windowMs', 'did you mean "window"?'),
  ),
  limiter('UNKNOWN_OPTION', { max: 5 }, hasAll('rateLimit()', 'max')),
  limiter('UNKNOWN_OPTION', { points: 5 }, hasAll('rateLimit()', 'points')),
  limiter('UNKNOWN_OPTION', { ttl: 60_000 }, hasAll('rateLimit()', 'ttl')),
  limiter(
    'UNKNOWN_OPTION',
    { timeWindow: '1m' },
    has('rateLimit()', 'timeWindow', 'did you mean "window"?'),
  ),
  limiter(
    'UNKNOWN_OPTION',
    { skipFailedRequests: true },
    hasAll('rateLimit()', 'skipFailedRequests'),
  ),
  limiter('UNKNOWN_OPTION', { handler: none }, hasAll('rateLimit()', 'handler')),
  limiter('UNKNOWN_OPTION', { message: 'no' }, hasAll('rateLimit()', 'message')),
  limiter('UNKNOWN_OPTION', { ephemeralCache: false }, hasAll('rateLimit()', 'ephemeralCache')),
  limiter('UNKNOWN_OPTION', { whitelist: none }, hasAll('rateLimit()', 'whitelist')),
  limiter(
    'UNKNOWN_OPTION',
    { requestPropertyName: 'limit' },
    hasAll('rateLimit()', 'requestPropertyName'),
  ),
  limiter(
    'WRN draft_polli',
    { draft_polli_ratelimit_headers: true },
    hasAll('rateLimit()', 'draft_polli_ratelimit_headers'),
  ),
  limiter('WRN onLimitReached', { onLimitReached: none }, hasAll('rateLimit()', 'onLimitReached')),
  // Ours, in the wrong place or misspelled.
  limiter(
    'UNKNOWN_OPTION',
    { skip: none },
    has('rateLimit()', 'skip', '"skip" is an option of the guard'),
  ),
  limiter(
    'UNKNOWN_OPTION',
    { store: memoryStore() },
    has('rateLimit()', 'store', '"store" is an option of the guard'),
  ),
  limiter(
    'UNKNOWN_OPTION',
    { validate: false },
    has('rateLimit()', 'validate', '"validate" is an option of the guard'),
  ),
  limiter('UNKNOWN_OPTION', { shadow: true }, hasAll('rateLimit()', 'shadow')),
  limiter('UNKNOWN_OPTION', { brust: 5 }, has('rateLimit()', 'brust', 'did you mean "burst"?')),
  limiter('UNKNOWN_OPTION', { KEY: none }, has('rateLimit()', 'KEY', 'did you mean "key"?')),
  limiter(
    'UNKNOWN_OPTION',
    { colour: 'red' },
    has(
      'rateLimit()',
      'colour',
      'it has algorithm, anchor, burst, cost, key, limit, localShare, mode, name, onStoreError, overage, penalty, plan, refundIf, share, status, window',
    ),
  ),
  guard('UNKNOWN_OPTION', { onReject: none }, (world) =>
    hasOwnAnswer(world)
      ? has('the guard', 'onReject', 'did you mean "onRejected"?')
      : /^the guard has no option "onReject": /,
  ),
  guard(
    'UNKNOWN_OPTION',
    { trustproxy: 1 },
    has('the guard', 'trustproxy', 'did you mean "trustProxy"?'),
  ),
  guard(
    'UNKNOWN_OPTION',
    { windowMs: 60_000 },
    has('the guard', 'windowMs', 'did you mean "window" of the limiter, as in rateLimit()?'),
  ),
  guard('UNKNOWN_OPTION', { standardHeaders: 'draft-8' }, hasAll('the guard', 'standardHeaders')),
  guard(
    'UNKNOWN_OPTION',
    { passOnStoreError: true },
    has('the guard', 'passOnStoreError', 'did you mean "onStoreError"?'),
  ),
  guard(
    'UNKNOWN_OPTION',
    { statusCode: 503 },
    has('the guard', 'statusCode', 'did you mean "status" of the limiter, as in rateLimit()?'),
  ),
  guard('UNKNOWN_OPTION', { insuranceLimiter: {} }, hasAll('the guard', 'insuranceLimiter')),
  guard(
    'UNKNOWN_OPTION',
    { prefix: 'rl:' },
    has('the guard', 'prefix', '"prefix" is an option of redisStore()'),
    {
      except: ['Fastify'], // which has an option of that name for every plugin
    },
  ),
  guard(
    'UNKNOWN_OPTION',
    { breaker: { failure: 3 } },
    has('breaker', 'failure', 'did you mean "failures"?'),
  ),
  guard(
    'UNKNOWN_VALIDATION',
    { validate: { xForwardedForHeader: false } },
    /^validate has no option "xForwardedForHeader": it has SPW_ADDRESS_UNKNOWN, .* \(SPW_OPTION_UNKNOWN\)$/,
  ),
  guard(
    'UNKNOWN_VALIDATION',
    { validate: { SPW_WINDOW_SHRT: false } },
    has('validate', 'SPW_WINDOW_SHRT', 'did you mean "SPW_WINDOW_SHORT"?'),
  ),
  guard(
    'UNKNOWN_VALIDATION',
    { validate: 'no' },
    'validate must be true, false, or an object such as { SPW_WINDOW_SHORT: false }, got "no" (SPW_OPTION_INVALID)',
  ),
  // Values that cannot be right.
  limiter(
    'MAX_ZERO',
    { limit: 0 },
    "limit must be an integer from 1 to 1,000,000,000, got 0: to reject a key use block, to turn a limit off use mode: 'off' (SPW_LIMIT_INVALID)",
  ),
  limiter(
    '',
    { limit: '100' },
    'limit must be an integer from 1 to 1,000,000,000, got "100" (SPW_LIMIT_INVALID)',
  ),
  limiter(
    '',
    { limit: none },
    'limit must be an integer from 1 to 1,000,000,000, got () => undefined: for limits that differ between callers use plan (SPW_LIMIT_INVALID)',
  ),
  limiter(
    '',
    { window: none },
    "window must be a duration from 1ms to 400d such as '10s' or '1m', got () => undefined: for limits that differ between callers use plan (SPW_WINDOW_INVALID)",
  ),
  limiter(
    '',
    { burst: none },
    'burst must be an integer from 1 to 1,000,000,000, got () => undefined: for limits that differ between callers use plan (SPW_BURST_INVALID)',
  ),
  limiter(
    'WINDOW_MS',
    { window: 'soon' },
    "window must be a duration from 1ms to 400d such as '10s' or '1m', got \"soon\" (SPW_WINDOW_INVALID)",
  ),
  limiter(
    'WINDOW_MS',
    { window: 2 ** 40 },
    "window must be a duration from 1ms to 400d such as '10s' or '1m', got 1099511627776 (SPW_WINDOW_INVALID)",
  ),
  limiter(
    '',
    { plan: { limit: 5 } },
    'plan must be a function, got [object Object] (SPW_OPTION_INVALID)',
  ),
  limiter(
    '',
    { cost: 101 },
    'cost must be at most 100, the most that passes at once, got 101 (SPW_COST_INVALID)',
  ),
  limiter('', { cost: '5' }, 'cost must be an integer from 0, got "5" (SPW_COST_INVALID)'),
  limiter('', { key: 5 }, 'key must be a non-empty string, or a function, got 5 (SPW_KEY_INVALID)'),
  limiter(
    '',
    { mode: 'shaddow' },
    'mode must be one of enforce, shadow, off, got "shaddow" (SPW_OPTION_INVALID)',
  ),
  limiter('', { refundIf: true }, 'refundIf must be a function, got true (SPW_OPTION_INVALID)'),
  limiter('', { share: 50 }, 'share must be from 0 to 1, got 50 (SPW_OPTION_INVALID)'),
  guard(
    '',
    { mode: 'shaddow' },
    'mode must be one of enforce, shadow, off, got "shaddow" (SPW_OPTION_INVALID)',
  ),
  guard(
    'HEADERS_UNSUPPORTED_DRAFT',
    { headers: ['draft-8'] },
    "headers must be a list of 'draft-11' or 'draft-6', and 'legacy', got \"draft-8\" (SPW_OPTION_INVALID)",
  ),
  guard(
    '',
    { headers: ['draft-11', 'draft-6'] },
    "headers must be a list with one of 'draft-11' and 'draft-6', not both, got draft-11,draft-6 (SPW_OPTION_INVALID)",
  ),
  guard(
    'HEADERS_UNSUPPORTED_DRAFT',
    { headers: 'legacy' },
    "headers must be a list of 'draft-11' or 'draft-6', and 'legacy', got \"legacy\" (SPW_OPTION_INVALID)",
  ),
  guard(
    'HEADERS_UNSUPPORTED_DRAFT',
    { headers: true },
    "headers must be a list of 'draft-11' or 'draft-6', and 'legacy', got true (SPW_OPTION_INVALID)",
  ),
  guard(
    'IPV6_SUBNET',
    { ipv6Prefix: 0 },
    'ipv6Prefix must be a whole number of bits from 32 to 128 such as 64, got 0 (SPW_OPTION_INVALID)',
  ),
  guard(
    'PERMISSIVE_TRUST_PROXY',
    { trustProxy: true },
    /^trustProxy must not trust everyone: .*write the number of proxies in front of this server, such as 1, .* \(SPW_TRUST_PROXY_UNSAFE\)$/,
  ),
  guard(
    'PERMISSIVE_TRUST_PROXY',
    { trustProxy: ['0.0.0.0/1', '128.0.0.0/1'] },
    /^trustProxy must not trust everyone: .* got 0\.0\.0\.0\/1,128\.0\.0\.0\/1 \(SPW_TRUST_PROXY_UNSAFE\)$/,
  ),
  guard(
    'TypeError',
    { store: {} },
    'store must be memoryStore() or redisStore(client), got an object without `apply` (SPW_STORE_INVALID)',
    { named: true },
  ),
  guard(
    'TypeError',
    { store: 'redis://:secret@127.0.0.1' },
    'store must be memoryStore() or redisStore(client), got a string (SPW_STORE_INVALID)',
    { named: true },
  ),
  guard(
    'TypeError',
    { store: ioredis() },
    'store must be memoryStore() or redisStore(client), got an ioredis client (SPW_STORE_INVALID)',
    { named: true },
  ),
  guard(
    'TypeError',
    { store: { idFromName: none, idFromString: none, newUniqueId: none, get: none } },
    'store must be memoryStore() or redisStore(client), got a namespace of Durable Objects: write durableObjectStore(env.BINDING) (SPW_STORE_INVALID)',
    { named: true },
  ),
  guard(
    '',
    { store: memoryStore() },
    'name is required for every limiter of a guard with a store: it keeps the counts of different limits apart (SPW_NAME_REQUIRED)',
  ),
  guard(
    'TypeError',
    { logger: {} },
    'logger must be an object with warn(), got [object Object] (SPW_OPTION_INVALID)',
  ),
  guard(
    'TypeError',
    { logger: none },
    /^logger must be an object with warn\(\), got .* \(SPW_OPTION_INVALID\)$/,
  ),
  guard(
    '',
    { control: {} },
    'control must be an object with settingsOf(), got [object Object] (SPW_OPTION_INVALID)',
  ),
  guard(
    '',
    { observers: [{}] },
    'each of observers must be an object with one of onDecision, countDecision, onEnd, onUnits, onWait, onFault, onStoreCall, onBreaker, onStore, onControl, got [object Object] (SPW_OPTION_INVALID)',
  ),
  guard(
    '',
    { observers: [none] },
    /^each of observers must be an object with one of onDecision, .* \(SPW_OPTION_INVALID\)$/,
  ),
  guard('', { skip: ['/health'] }, 'skip must be a function, got /health (SPW_OPTION_INVALID)'),
  guard('', { onDecision: 'no' }, 'onDecision must be a function, got "no" (SPW_OPTION_INVALID)'),
  guard('', { onFault: 'no' }, 'onFault must be a function, got "no" (SPW_OPTION_INVALID)'),
  guard('', { onRejected: 'no' }, (world) =>
    hasOwnAnswer(world)
      ? 'onRejected must be a function, got "no" (SPW_OPTION_INVALID)'
      : /^the guard has no option "onRejected": it has blockedStatus, .* \(SPW_OPTION_UNKNOWN\)$/,
  ),
  {
    title: 'spillway(a limiter, another one)',
    make: ({ guard: make }) => make(rateLimit(limit), rateLimit({ ...limit, name: 'b' })),
    says: 'options must be as in app.use(spillway([a, b], { store })), got [object Object] (SPW_OPTION_INVALID)',
  },
  {
    title: 'spillway(a limiter, a store)',
    make: ({ guard: make }) => make(rateLimit({ ...limit, name: 'api' }), memoryStore()),
    says: 'options must be as in app.use(spillway([a, b], { store })), got [object Object] (SPW_OPTION_INVALID)',
    except: ['Fastify', 'NestJS'], // there it would stand among the options
  },
  {
    title: 'app.use(spillway), as frameworks with next call it',
    make: ({ guard: make }) => make({ headers: {} }, none),
    says: /^options must be as in app.use\(spillway\(\[a, b\], \{ store \}\)\), got .*\(SPW_OPTION_INVALID\)$/,
    except: ['Fastify', 'NestJS'], // there options may come from a function
  },
  {
    title: 'app.use(spillway), as it is called with a response',
    make: ({ guard: make }) => make({ headers: {} }, { req: { headers: {} } }),
    says: 'options must be as in app.use(spillway([a, b], { store })), got [object Object] (SPW_OPTION_INVALID)',
    except: ['Fastify', 'NestJS'],
  },
  {
    title: 'spillway(two limiters of one name)',
    make: ({ guard: make }) =>
      make(
        [5, 6].map((n) => rateLimit({ ...limit, name: 'api', limit: n })),
        {},
      ),
    says: 'two limiters of one guard have the name "api": give each a different name (SPW_NAME_CONFLICT)',
    except: ['NestJS'], // there the limiter that is nearer to the method counts
  },
  // Values that are not limiters. On Fastify and NestJS `limiters` is an option: routes and methods may have all of
  // them.
  limiters(
    '[]',
    [],
    'limiters must have at least one limiter, got an empty list, which limits nobody (SPW_LIMITER_INVALID)',
    ['Fastify', 'NestJS'],
  ),
  limiters(
    '',
    undefined,
    'limiters must be made by rateLimit() or another function for limiters, got undefined (SPW_LIMITER_INVALID)',
    ['Fastify', 'NestJS'],
  ),
  limiters(
    '[{ limit: 100 }]',
    [limit],
    'limiters must be made by rateLimit(): write rateLimit({ ... }) around these options, got [object Object] (SPW_LIMITER_INVALID)',
  ),
  limiters(
    '[rateLimit]',
    [rateLimit],
    /^limiters must be made by rateLimit\(\) or another function for limiters, got .* \(SPW_LIMITER_INVALID\)$/,
  ),
];

const address = 'so all clients behind a proxy count as one';
const nobody = 'if there is no proxy, set trustProxy: false (SPW_FORWARDED_UNTRUSTED)';

/**
 * Mistakes that show only at requests: one line, once. `headers`: those of the requests. By default there are two
 * requests.
 */
export const LINES = [
  {
    erl: 'UNEXPECTED_X_FORWARDED_FOR',
    title: 'X-Forwarded-For, and no word about proxies',
    headers: { 'x-forwarded-for': '203.0.113.7, 10.0.0.2' },
    says: ({ setting = '' }) =>
      `a request came with X-Forwarded-For, but no proxy is trusted, ${address}: ` +
      `set trustProxy to the number of proxies, 2 for this request${setting}; ${nobody}`,
  },
  {
    erl: 'FORWARDED_HEADER',
    title: 'Forwarded, and no word about proxies',
    headers: { forwarded: 'for=203.0.113.7' },
    // Fastify does not show which proxies it trusts.
    says: ({ setting = '' }, world) =>
      world === 'Fastify'
        ? `a request came with Forwarded, which is not read, ${address}: have the proxy write X-Forwarded-For (SPW_FORWARDED_UNTRUSTED)`
        : `a request came with Forwarded, but no proxy is trusted, ${address}: have the proxy write X-Forwarded-For, ` +
          `and set trustProxy to the number of proxies${setting}; ${nobody}`,
  },
  {
    erl: 'FORWARDED_HEADER',
    title: 'Forwarded from a proxy that is trusted',
    headers: { forwarded: 'for=203.0.113.7' },
    options: { trustProxy: 1 },
    says: () =>
      `a request came with Forwarded, which is not read, ${address}: have the proxy write X-Forwarded-For (SPW_FORWARDED_UNTRUSTED)`,
    except: ['Fastify'], // with our option, nothing is said about Fastify's own
  },
  {
    title: 'CF-Connecting-IP, and no word about proxies',
    headers: { 'cf-connecting-ip': '203.0.113.7' },
    says: ({ setting = '' }) =>
      `a request came with CF-Connecting-IP, but no proxy is trusted, ${address}: have the proxy write X-Forwarded-For, ` +
      `and set trustProxy to the number of proxies${setting}; ${nobody}`,
    except: ['Fastify'], // there only Forwarded is looked at beside X-Forwarded-For
  },
  {
    title: 'X-Forwarded-For, where trustProxy is false',
    headers: { 'x-forwarded-for': '203.0.113.7' },
    options: { trustProxy: false },
  },
  {
    title: 'X-Forwarded-For, where validate silences it',
    headers: { 'x-forwarded-for': '203.0.113.7' },
    options: { validate: { SPW_FORWARDED_UNTRUSTED: false } },
  },
  {
    erl: 'UNDEFINED_IP_ADDRESS',
    title: 'a Unix socket, where no address is known',
    unix: true,
    says: () =>
      'limiter "one" counts all callers without a known address as one: give it a key; ' +
      'behind a proxy on a Unix socket, set trustProxy to the number of proxies, such as 1 (SPW_ADDRESS_UNKNOWN)',
  },
  {
    erl: 'KEY_GEN_IPV6',
    title: 'a key made of raw.ip',
    limiter: ({ raw }) => ({ key: raw }),
    says: () =>
      'the key of limiter "one" is a raw address, and each IPv6 client has 2^64 of them: leave key out, ' +
      'or use clientIp of the request (SPW_KEY_RAW_ADDRESS)',
  },
  {
    title: 'a key made of clientIp',
    limiter: () => ({ key: ({ clientIp, path }) => `${clientIp} ${path}` }),
  },
  {
    title: 'a key made of req.user, as in the framework',
    limiter: () => ({ key: (req) => req.user?.id }),
    says: () =>
      'the key of limiter "one" reads user of the limit request, which has no such property: read raw.user (SPW_KEY_MISREAD)',
  },
  {
    title: 'the name of a header as the key',
    limiter: () => ({ key: 'x-api-key' }),
    says: () =>
      'the key of limiter "one" is the string "x-api-key", the same for all callers: write a function, ' +
      'as in key: ({ raw }) => raw.user?.id (SPW_KEY_CONSTANT)',
  },
  {
    title: 'one key for everybody, as it is meant',
    limiter: () => ({ key: 'all' }),
  },
  {
    title: 'window: 60, meant as seconds',
    limiter: () => ({ window: 60 }),
    says: () =>
      'the window of limiter "one" is 60 ms: a number means milliseconds, write \'60s\' for seconds (SPW_WINDOW_SHORT)',
  },
  {
    title: 'window: 60, where validate is false',
    limiter: () => ({ window: 60 }),
    options: { validate: false },
  },
  {
    erl: 'DOUBLE_COUNT',
    title: 'one guard twice',
    mount: 'twice',
    says: () =>
      'the guard of one is mounted twice for one request, which was counted once: mount it once (SPW_REGISTERED_TWICE)',
    except: ['Fastify', 'NestJS', 'fetch'], // there it cannot be mounted twice by hand
  },
  {
    erl: 'DOUBLE_COUNT',
    title: 'one limiter in two guards',
    mount: 'both',
    says: (_, world) =>
      world === 'Fastify'
        ? 'a limiter is registered for a context and for an outer one, and counts each request once: register it once (SPW_REGISTERED_TWICE)'
        : 'limiter "one" is in two guards that see the same request, and both charge the same count: ' +
          'remove it from one of them, or give the limits different names (SPW_COUNTED_TWICE)',
    except: ['NestJS'], // two configurations of the module throw
  },
  {
    erl: 'CREATED_IN_REQUEST_HANDLER',
    title: 'a limiter made inside a handler',
    mount: 'inHandler',
    says: () =>
      'limiters are created in request handlers, and each starts at zero: create them once, outside of handlers (SPW_MADE_IN_HANDLER)',
    except: ['Fastify', 'NestJS'], // Fastify takes no hook once it listens; Nest takes guards from decorators
  },
  {
    erl: 'PERMISSIVE_TRUST_PROXY',
    title: "app.set('trust proxy', true)",
    mount: 'trusting',
    says: () =>
      /^app\.set\('trust proxy'\) must not trust everyone: .*write the number of proxies.* \(SPW_TRUST_PROXY_UNSAFE\)\. Until you change it, no proxy is trusted$/,
    except: ['Koa', 'Fastify', 'Hono', 'NestJS', 'node:http', 'fetch'],
  },
  {
    erl: 'INVALID_HITS',
    title: 'a store that answers junk',
    options: { store: remoteStore({ sync: true, apply: () => [{ hits: 5 }] }) },
    says: () =>
      'limiter "one": the store failed with invalid answer: expected allowed of bucket, got undefined ' +
      '(SPW_STORE_ERROR); onStoreError decides',
  },
  {
    erl: 'passOnStoreError',
    title: 'a store that throws',
    options: {
      store: remoteStore({
        sync: true,
        apply: () => {
          throw new Error('down');
        },
      }),
    },
    says: () => 'limiter "one": the store failed with Error: down; onStoreError decides.',
  },
  // express-rate-limit warns of these, but they are right here.
  {
    erl: 'INVALID_IP_ADDRESS',
    title: 'an address with a port, as Azure writes it',
    headers: { 'x-forwarded-for': '203.0.113.7:4711' },
    options: { trustProxy: 1 },
  },
  {
    erl: 'STORE_REUSE',
    title: 'one store for two limiters',
    options: () => ({ store: memoryStore() }),
    others: () => [rateLimit({ name: 'two', limit: 5, window: '1h' })],
  },
  {
    erl: 'IPV6SUBNET_OR_KEYGENERATOR',
    title: 'ipv6Prefix beside a key: it is for callers without one',
    limiter: () => ({ key: none }),
    options: { ipv6Prefix: 56 },
  },
  {
    erl: 'MAX_ZERO',
    title: 'a plan with a limit of 0',
    limiter: () => ({ plan: () => ({ limit: 0 }) }),
    status: 429,
  },
  {
    title: 'async key, plan, cost and skip',
    limiter: () => ({
      key: async () => 'ada',
      plan: async () => ({ limit: 5 }),
      cost: async () => 2,
    }),
    options: { skip: async () => false },
  },
  ...callbacks(),
];

/** Functions of the app that throw, or return a wrong value: the request is still answered. */
function callbacks() {
  const bug = () => {
    throw new Error('bug');
  };
  const later = async () => 'off';
  const row = (title, options, line) => ({ title, says: () => line, ...options });
  const of = (options) => ({ limiter: () => options });
  const failed = (source, instead) =>
    `limiter "one": ${source} failed with Error: bug; ${instead}.`;
  return [
    row(
      'a key that throws',
      of({ key: bug }),
      failed('key', "the client's address is counted instead"),
    ),
    row('a plan that throws', of({ plan: bug }), failed('plan', 'the declared numbers apply')),
    row('a cost that throws', of({ cost: bug }), failed('cost', 'a cost of 1 is charged instead')),
    row('a mode that throws', of({ mode: bug }), failed('mode', 'the limit is enforced')),
    row(
      'a skip that throws',
      { options: { skip: bug } },
      'skip failed with Error: bug; the request is not skipped.',
    ),
    row('a refundIf that throws', of({ refundIf: bug }), failed('refundIf', 'nothing is refunded')),
    row(
      'an onDecision that throws',
      { options: { onDecision: bug } },
      failed('observer', 'the decision stands'),
    ),
    row(
      'a key that is a number',
      of({ key: () => 5 }),
      'key of limiter "one" returned 5; the client\'s address is counted instead.',
    ),
    row(
      'a plan that is a text',
      of({ plan: () => '5' }),
      'plan of limiter "one" returned "5"; the declared numbers apply.',
    ),
    row(
      'a cost below 0',
      of({ cost: () => -1 }),
      'cost of limiter "one" returned -1; a cost of 1 is charged instead.',
    ),
    row(
      'a mode that is none',
      of({ mode: () => 'shaddow' }),
      'mode of limiter "one" returned "shaddow"; the limit is enforced.',
    ),
    row(
      'an async mode',
      of({ mode: later }),
      'mode of limiter "one" returned a promise: it must return the value itself; the limit is enforced.',
    ),
    row(
      'a skip that says yes',
      { options: { skip: () => 'yes' } },
      'skip returned "yes"; the request is not skipped.',
    ),
    row(
      'a refundIf that says yes',
      of({ refundIf: () => 'yes' }),
      'refundIf of limiter "one" returned "yes"; nothing is refunded.',
    ),
  ];
}

function has(of, name, mend) {
  return `${of} has no option "${name}": ${mend} (SPW_OPTION_UNKNOWN)`;
}

/** If no name is similar, all options are named. */
function hasAll(of, name) {
  const first = of === 'rateLimit()' ? 'algorithm' : 'blockedStatus';
  return new RegExp(
    `^${of.replace(/[()]/g, '\\$&')} has no option "${name}": it has ${first}, .* \\(SPW_OPTION_UNKNOWN\\)$`,
  );
}

function hasOwnAnswer(world) {
  return world !== 'fetch' && world !== 'NestJS';
}

function titleOf(options) {
  const [name] = Object.keys(options);
  return `{ ${name}: ${typeof options[name] === 'object' ? JSON.stringify(options[name]) : String(options[name])} }`;
}

/** What looks like a client of ioredis; nothing connects. */
function ioredis() {
  return { status: 'ready', evalsha: none, duplicate: none, options: {} };
}
