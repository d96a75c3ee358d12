/** The errors of a call of an object. Their messages contain no keys; `cause` may. */

import { isSpillwayError, SpillwayError } from '@spillway/core';

/** What the platform says of an error of a call. */
interface PlatformError {
  /** The object gets more requests than it can do. */
  readonly overloaded?: unknown;
  /** The platform failed, not the object. */
  readonly retryable?: unknown;
  /** The code in the object threw, such as for a storage that is full. */
  readonly remote?: unknown;
}

/** A call failed. Nobody knows whether it was charged. */
export function failedCall(cause: unknown): SpillwayError {
  if (isSpillwayError(cause)) return cause;
  const kind = kindOf(asPlatformError(cause));
  const message = `the call of the Durable Object failed: ${kind}`;
  return new SpillwayError('SPW_STORE_UNAVAILABLE', message, { cause, kind });
}

function kindOf({ overloaded, remote }: PlatformError): string {
  if (overloaded === true) return 'overloaded';
  return remote === true ? 'object' : 'connection';
}

/** Whether the platform says that the same call may work now. To repeat it at an overloaded object would do harm. */
export function isRetryable(cause: unknown): boolean {
  const { retryable, overloaded } = asPlatformError(cause);
  return retryable === true && overloaded !== true;
}

function asPlatformError(cause: unknown): PlatformError {
  return typeof cause === 'object' && cause !== null ? cause : {};
}

/** Nobody waits for the answer any more, and the call was not made. */
export function tooLate(): SpillwayError {
  return new SpillwayError('SPW_STORE_TIMEOUT', 'the deadline passed before the object was asked');
}

/** What came back is no answer. Nobody knows whether anything was charged. */
export function noReply(cause?: unknown): SpillwayError {
  return new SpillwayError(
    'SPW_STORE_ERROR',
    'what came back is no answer of a RateLimitObject: does the binding name that class?',
    { kind: 'reply', cause },
  );
}

/** The object is of another release than the Worker, and does not know what it is asked. Nothing was charged. */
export function unknownCall(what: string): SpillwayError {
  return new SpillwayError(
    'SPW_STORE_ERROR',
    `the object does not know ${what}: its release is older than that of the Worker`,
    { kind: 'release' },
  );
}
