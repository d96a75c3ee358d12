/** Options that may be functions of the request: read so that no mistake in one refuses, or frees, a request. */

import {
  checkKey,
  checkLimit,
  isKey,
  isLimit,
  oneOf,
  shareAboveZero,
  shareFromZero,
} from '../base/checks.js';
import { Junk } from '../base/junk.js';
import type { Fault } from '../contract/fault.js';
import type { StepContext } from '../contract/limiter.js';
import { MODES, type Mode, ON_STORE_ERROR, type OnStoreError } from '../contract/mode.js';
import type { LimitRequest, Per } from '../contract/request.js';

/** Counts of keys that users choose never meet those of client addresses. */
const ADDRESS_MARK = '@';

/** An address that cannot be known is one count for all, not one for each spelling. */
export const UNKNOWN_ADDRESS = '@unknown';

/** What the callbacks of one limiter answer for one request. */
export interface CallbackContext<Raw> {
  readonly limiter: string;
  readonly request: LimitRequest<Raw>;
  readonly context: StepContext;
}

/** The value of an option for a request; undefined, and a fault, if its function throws. */
export function read<Raw, Value>(
  asking: CallbackContext<Raw>,
  source: Fault['source'],
  option: Per<Raw, Value> | undefined,
): Value | undefined {
  if (typeof option !== 'function') return option;
  try {
    return (option as (request: LimitRequest<Raw>) => Value)(asking.request);
  } catch (error) {
    asking.context.fault({ limiter: asking.limiter, source, error });
    return undefined;
  }
}

/** Tells of a value that a callback should not have returned. */
export function junk<Raw>(
  { limiter, context }: CallbackContext<Raw>,
  source: Fault['source'],
  value: unknown,
): void {
  context.fault({ limiter, source, error: new Junk(`${source} of limiter "${limiter}"`, value) });
}

/** What a request is counted under: what `key` says, or else the client's address. */
export function keyOf<Raw>(
  asking: CallbackContext<Raw>,
  key: Per<Raw, string | undefined> | undefined,
): string {
  if (key !== undefined) {
    const own = read(asking, 'key', key);
    if (isKey(own)) {
      return own.startsWith(ADDRESS_MARK) ? ADDRESS_MARK + own : own;
    }
    if (own !== undefined && own !== null && own !== '') junk(asking, 'key', own);
  }
  // An address that cannot be known is one bucket for all, not one for each spelling.
  const { clientIp } = asking.request;
  return isKey(clientIp) ? ADDRESS_MARK + clientIp : UNKNOWN_ADDRESS;
}

/** A limit from an option, 0 where nobody is to pass; undefined where its function gives none. */
export function limitOf<Raw>(
  asking: CallbackContext<Raw>,
  source: 'limit' | 'capacity',
  limit: Per<Raw, number>,
): number | undefined {
  const own = read(asking, source, limit);
  if (isLimit(own) || own === 0) return own;
  if (own !== undefined) junk(asking, source, own);
  return undefined;
}

/**
 * The limit that counts where no function says otherwise.
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`
 */
export function declaredLimit<Raw>(
  option: 'limit' | 'capacity',
  limit: Per<Raw, number>,
  defaultLimit: number | undefined,
): number {
  const isFunction = typeof limit === 'function';
  if (!isFunction) return checkLimit(option, limit, ' or a function');
  const name = option === 'limit' ? 'defaultLimit' : 'defaultCapacity';
  return checkLimit(name, defaultLimit, ` when ${option} is a function`);
}

/** @throws SpillwayError `SPW_KEY_INVALID` */
export function checkKeyOption<Raw>(key: Per<Raw, string | undefined> | undefined): void {
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
