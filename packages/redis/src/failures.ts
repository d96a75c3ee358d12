/** The errors that a call ends with. Their messages hold no keys, addresses or passwords: those may be in the cause. */

import { isSpillwayError, SpillwayError } from '@spillway/core';

/** Redis, or the way to it, failed a call: whether it was charged is not known. */
export function failedCall(cause: unknown): SpillwayError {
  if (isSpillwayError(cause)) return cause;
  const text = messageOf(cause);
  // Redis's own errors begin with a code; the rest may name anything.
  const code =
    /^[A-Z]+(?= |$)/.exec(text)?.[0] ?? (cause instanceof Error ? cause.name : 'unknown');
  return new SpillwayError('SPW_STORE_ERROR', `the call to Redis failed: ${code}`, { cause });
}

/** The client is not connected: nothing was sent. */
export function unavailable(state: string): SpillwayError {
  return new SpillwayError('SPW_STORE_UNAVAILABLE', `the Redis client is not ready but ${state}`);
}

/** Nobody waits any more: nothing was charged. */
export function tooLate(): SpillwayError {
  return new SpillwayError('SPW_STORE_TIMEOUT', 'the deadline passed before Redis could decide');
}

/** Whether Redis does not know the script yet: then nothing has been run. */
export function isUnknownScript(cause: unknown): boolean {
  return messageOf(cause).startsWith('NOSCRIPT');
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : '';
}
