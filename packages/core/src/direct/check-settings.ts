/** What limits without HTTP are told of their store: the second argument of the functions that make them. */

import { checkOptions } from '../base/check-shapes.js';
import type { Store } from '../contract/store.js';
import { checkClientOptions } from '../stores/check-store.js';
import { type KeyedLimiterOptions, SETTINGS } from './options.js';

/**
 * @param of the function, as messages call it
 * @param first the names of the options in its first argument
 * @throws SpillwayError `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 */
export function checkSettings(
  settings: KeyedLimiterOptions<Store>,
  of: string,
  first: object,
): void {
  checkOptions(settings, `the second argument of ${of}`, SETTINGS, ['its first argument', first]);
  checkClientOptions(settings);
}
