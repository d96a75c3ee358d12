import { checkOptions } from '../base/check-shapes.js';
import { oneOf } from '../base/checks.js';
import type { NamesOf } from '../base/option-names.js';
import { MODES } from '../contract/decision.js';
import type { Store } from '../contract/store.js';
import { checkShare } from '../limits/limiter-options.js';
import { checkObservers } from '../observe/check-observers.js';
import { checkClientOptions } from '../stores/check-store.js';
import type { KeyedLimiterOptions, LimitOptions } from './limiter-options.js';

/**
 * Checks the second argument of `of`.
 *
 * @param of the name of a function, such as `createLimiter()`
 * @param names the known options
 * @param first the options of the first argument. If one of them is in `settings`, the message says where it belongs
 * @throws SpillwayError `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 */
export function checkSettings(
  settings: KeyedLimiterOptions<Store>,
  of: string,
  names: NamesOf<KeyedLimiterOptions<Store>>,
  first: object,
): void {
  checkOptions(settings, `the second argument of ${of}`, names, ['its first argument', first]);
  checkClientOptions(settings);
  checkObservers(settings);
}

export function checkModeAndShare({ mode, share }: LimitOptions): void {
  oneOf('mode', mode, MODES);
  checkShare(share);
}
