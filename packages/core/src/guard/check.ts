import { checkList, checkObject } from '../base/check-shapes.js';
import { checkCallback, checkName, durationBetween, isPlainObject, oneOf } from '../base/checks.js';
import { mustBe, SpillwayError } from '../base/errors.js';
import { checkNames } from '../base/option-names.js';
import type { Limiter } from '../contract/limiter.js';
import type { Store } from '../contract/store.js';
import { STYLE_NAMES } from '../http/response-writer.js';
import { CALLBACK_TIMEOUT_MS } from '../limits/callbacks.js';
import { checkMode } from '../limits/limiter-options.js';
import { checkClientOptions } from '../stores/check-store.js';
import { GUARD_OPTIONS, type GuardOptions } from './guard-options.js';

export function checkLimiters<Raw>(
  limiters: readonly Limiter<Raw>[],
  store: Store | undefined,
): void {
  if (limiters.length === 0) {
    throw new SpillwayError(
      'SPW_LIMITER_INVALID',
      'limiters must have at least one limiter, got an empty list, which limits nobody',
    );
  }
  const names = new Set<string>();
  for (const limiter of limiters) {
    if (limiter?.kind !== 'stored' && limiter?.kind !== 'local') throw noLimiter(limiter);
    checkName(limiter.name);
    if (names.has(limiter.name)) {
      throw new SpillwayError(
        'SPW_NAME_CONFLICT',
        `two limiters of one guard have the name "${limiter.name}": give each a different name`,
      );
    }
    names.add(limiter.name);
    if (store && limiter.kind === 'stored' && !limiter.named) {
      throw new SpillwayError(
        'SPW_NAME_REQUIRED',
        'name is required for every limiter of a guard with a store: it keeps the counts of different limits apart',
      );
    }
  }
}

function noLimiter(given: unknown): SpillwayError {
  const looksLikeOptions = isPlainObject(given) && ('limit' in given || 'window' in given);
  const what = looksLikeOptions
    ? 'made by rateLimit(): write rateLimit({ ... }) around these options'
    : 'made by rateLimit() or another function for limiters';
  return mustBe('limiters', what, given, 'SPW_LIMITER_INVALID');
}

/**
 * Checks the options of a guard. Otherwise, some mistakes would be noticed only during requests, without a helpful
 * message.
 *
 * @param own the names of the adapter's additional options
 * @throws SpillwayError `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 */
export function checkGuardOptions<Raw>(options: GuardOptions<Raw>, own: object): void {
  // The names catch common mistakes: a limiter, a store, or a framework's argument was passed as the options.
  if (['kind', 'apply', 'req'].some((name) => name in Object(options))) {
    throw mustBe('options', 'as in app.use(spillway([a, b], { store }))', options);
  }
  checkObject('options', options);
  checkNames('the guard', options, { ...GUARD_OPTIONS, ...own });
  checkClientOptions(options);
  const { preflights, headers } = options;
  oneOf('preflights', preflights, ['pass', 'count']);
  checkMode(options.mode);
  checkList('headers', headers, STYLE_NAMES);
  checkCallback('skip', options.skip);
}

export function callbackTimeoutOf<Raw>({ callbackTimeout }: GuardOptions<Raw>): number {
  if (callbackTimeout === undefined) return CALLBACK_TIMEOUT_MS;
  return durationBetween('callbackTimeout', callbackTimeout, '1ms', '60s') / 1000;
}
