/** Messages of these errors contain no keys, but their `cause` may. */

import { isSpillwayError, SpillwayError } from '@spillway/core';

interface PlatformError {
  /** The object gets more requests than it can handle. */
  readonly overloaded?: unknown;
  /** The platform failed, not the object. */
  readonly retryable?: unknown;
  /** The code in the object threw, for example because its storage is full. */
  readonly remote?: unknown;
}

/** The error of a failed call. The object may still have charged the steps of the call. */
export function failedCall(cause: unknown): SpillwayError {
  if (isSpillwayError(cause)) return cause;
  const kind = kindOf(asPlatformError(cause));
  const message = `the call to the Durable Object failed: ${kind}`;
  return new SpillwayError('SPW_STORE_UNAVAILABLE', message, { cause, kind });
}

function kindOf({ overloaded, remote }: PlatformError): string {
  if (overloaded === true) return 'overloaded';
  return remote === true ? 'object' : 'connection';
}

/** Whether the platform recommends a retry, and the object is not overloaded. Retries would harm such an object. */
export function isRetryable(cause: unknown): boolean {
  const { retryable, overloaded } = asPlatformError(cause);
  return retryable === true && overloaded !== true;
}

function asPlatformError(cause: unknown): PlatformError {
  return Object(cause); // never null
}

export function tooLate(): SpillwayError {
  return new SpillwayError('SPW_STORE_TIMEOUT', 'the deadline passed before the object was called');
}

/** The error for a reply that is not from a `RateLimitObject`. The steps of the call may have been charged. */
export function noReply(cause?: unknown): SpillwayError {
  return new SpillwayError(
    'SPW_STORE_ERROR',
    'the reply does not come from a RateLimitObject: does the binding name that class?',
    { kind: 'reply', cause },
  );
}

/** The error if the object runs an older release than the Worker. Nothing was charged. */
export function unknownCall(what: string): SpillwayError {
  return new SpillwayError(
    'SPW_STORE_ERROR',
    `the object does not know ${what}: its release is older than that of the Worker`,
    { kind: 'release' },
  );
}
