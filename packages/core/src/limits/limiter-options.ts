/** Checks of the options that limiters have in common. */

import { checkKey, checkLimit, oneOf, shareAboveZero, shareFromZero } from '../base/checks.js';
import { mustBe } from '../base/errors.js';
import { MODES, type Mode, ON_STORE_ERROR, type OnStoreError } from '../contract/mode.js';
import type { KeyOption, Per, PerLater } from '../contract/request.js';

/**
 * The limit that counts where no function says otherwise.
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`; `SPW_OPTION_INVALID` for a default that could never count
 */
export function declaredLimit<Raw>(
  option: 'limit' | 'capacity',
  limit: PerLater<Raw, number>,
  defaultLimit: number | undefined,
): number {
  const name = option === 'limit' ? 'defaultLimit' : 'defaultCapacity';
  if (typeof limit === 'function') {
    return checkLimit(name, defaultLimit, ` when ${option} is a function`);
  }
  if (defaultLimit !== undefined) {
    throw mustBe(name, `left out unless ${option} is a function`, defaultLimit);
  }
  return checkLimit(option, limit, ' or a function');
}

/** @throws SpillwayError `SPW_KEY_INVALID` */
export function checkKeyOption<Raw>(key: KeyOption<Raw> | undefined): void {
  if (key !== undefined && typeof key !== 'function') checkKey(key, ', or a function');
}

/** @throws SpillwayError `SPW_OPTION_INVALID` */
export function checkMode<Raw>(mode: Per<Raw, Mode> | undefined): Per<Raw, Mode> {
  if (typeof mode === 'function') return mode;
  return oneOf('mode', mode, MODES) ?? 'enforce';
}

/** @throws SpillwayError `SPW_OPTION_INVALID` */
export function checkShare(share: number | undefined): number {
  return shareFromZero('share', share ?? 1);
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
  oneOf('onStoreError', onStoreError, ON_STORE_ERROR);
  if (localShare !== undefined) shareAboveZero('localShare', localShare);
}
