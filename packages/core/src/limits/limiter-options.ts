/** Checks of the options that limiters have in common. */

import { checkKey, checkWord, isLimit, limitInvalid } from '../base/checks.js';
import { SpillwayError, show } from '../base/errors.js';
import type { Mode, OnStoreError } from '../contract/mode.js';
import type { Per, PerLater } from '../contract/request.js';

/**
 * The limit that counts where no function says otherwise.
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`
 */
export function declaredLimit<Raw>(
  option: 'limit' | 'capacity',
  limit: PerLater<Raw, number>,
  defaultLimit: number | undefined,
): number {
  const isFunction = typeof limit === 'function';
  const declared = isFunction ? defaultLimit : limit;
  if (isLimit(declared)) return declared;
  const name = option === 'limit' ? 'defaultLimit' : 'defaultCapacity';
  throw limitInvalid(
    isFunction
      ? `${name} must be an integer from 1 to 1,000,000,000 when ${option} is a function`
      : `${option} must be an integer from 1 to 1,000,000,000 or a function`,
    declared,
  );
}

/** @throws SpillwayError `SPW_KEY_INVALID` */
export function checkKeyOption<Raw>(key: PerLater<Raw, string | undefined> | undefined): void {
  if (key !== undefined && typeof key !== 'function') checkKey(key, ', or a function');
}

/** @throws SpillwayError `SPW_OPTION_INVALID` */
export function checkMode<Raw>(mode: Per<Raw, Mode> | undefined): Per<Raw, Mode> {
  if (typeof mode === 'function') return mode;
  return checkWord<Mode>('mode', mode, ['enforce', 'shadow', 'off']) ?? 'enforce';
}

/** @throws SpillwayError `SPW_OPTION_INVALID` */
export function checkShare(share: number | undefined): number {
  if (share === undefined) return 1;
  if (typeof share === 'number' && share >= 0 && share <= 1) return share;
  throw new SpillwayError('SPW_OPTION_INVALID', `share must be from 0 to 1, got ${show(share)}`);
}

/** What a stored limiter does when its store cannot answer. */
export interface StoreErrorOptions {
  /** What to do when the store cannot answer. Default: the guard's, which is `local`. */
  readonly onStoreError?: OnStoreError | undefined;
  /** With `onStoreError: 'local'`: this process's share of the limit, above 0 up to 1. Default 1. */
  readonly localShare?: number | undefined;
}

/** @throws SpillwayError `SPW_OPTION_INVALID` */
export function checkStoreError({ onStoreError, localShare }: StoreErrorOptions): void {
  checkWord('onStoreError', onStoreError, ['allow', 'deny', 'local']);
  if (localShare !== undefined && !(localShare > 0 && localShare <= 1)) {
    throw new SpillwayError(
      'SPW_OPTION_INVALID',
      `localShare must be above 0 and at most 1, got ${show(localShare)}`,
    );
  }
}
