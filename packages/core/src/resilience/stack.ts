/** The decorators that stand between a guard and its store, in their one order. */

import { type Duration, parseDuration } from '../duration.js';
import { SpillwayError, show } from '../errors.js';
import type { OnStoreError } from '../limit/limiter.js';
import { checkWord } from '../limit/options.js';
import type { Store } from '../store.js';
import { withDeadline } from './deadline.js';
import { withFallback } from './fallback.js';

export interface ResilienceOptions {
  /** How long to wait for the store: 1 ms to 60 s. Default 50 ms. */
  readonly storeTimeout?: Duration;
  /**
   * What to do when the store cannot answer: `allow` (default) lets requests pass, `deny` answers 503, `local` counts in
   * this process.
   */
  readonly onStoreError?: OnStoreError;
}

/**
 * A store that always answers: fallback(deadline(store)).
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function resilient(store: Store, options: ResilienceOptions): Store {
  const { storeTimeout = '50ms', onStoreError } = options;
  checkWord('onStoreError', onStoreError, ['allow', 'deny', 'local']);
  const timeoutUs = parseDuration(storeTimeout);
  if (!(timeoutUs >= 1_000 && timeoutUs <= 60_000_000)) {
    throw new SpillwayError(
      'SPW_OPTION_INVALID',
      `storeTimeout must be from 1ms to 60s, got ${show(storeTimeout)}`,
    );
  }
  return withFallback(withDeadline(store, timeoutUs));
}
