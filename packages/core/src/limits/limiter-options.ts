import { checkKey, oneOf, shareAboveZero, shareFromZero } from '../base/checks.js';
import { MODES, type Mode, ON_STORE_ERROR, type OnStoreError } from '../contract/decision.js';
import type { KeyOption, Per } from '../contract/request.js';

export function checkKeyOption<Raw>(key: KeyOption<Raw> | undefined): void {
  if (key !== undefined && typeof key !== 'function') checkKey(key, ', or a function');
}

export function checkMode<Raw>(mode: Per<Raw, Mode> | undefined): Per<Raw, Mode> {
  if (typeof mode === 'function') return mode;
  return oneOf('mode', mode, MODES) ?? 'enforce';
}

export function checkShare(share: number | undefined): number {
  return shareFromZero('share', share ?? 1);
}

/** Options for when the store cannot answer. */
export interface StoreErrorOptions {
  /** What to do when the store cannot answer. Default: the guard's setting. */
  readonly onStoreError?: OnStoreError | undefined;
  /** This process's share of the limit with `onStoreError: 'local'`, above 0 up to 1. Default 1. */
  readonly localShare?: number | undefined;
}

export function checkStoreError({ onStoreError, localShare }: StoreErrorOptions): void {
  oneOf('onStoreError', onStoreError, ON_STORE_ERROR);
  if (localShare !== undefined) shareAboveZero('localShare', localShare);
}
