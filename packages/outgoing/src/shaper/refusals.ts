/** What ends without a start: errors for jobs, a value for reservations. */

import { SpillwayError } from '@spillway/core';
import type { Unreserved } from './contract.js';

export function closed(name: string): SpillwayError {
  return new SpillwayError('SPW_SHAPER_CLOSED', `shaper "${name}" was closed`);
}

export function full(name: string, maxQueue: number): SpillwayError {
  return new SpillwayError(
    'SPW_SHAPER_FULL',
    `${maxQueue} jobs wait for shaper "${name}" in this process, as many as maxQueue says`,
  );
}

export function waitTooLong(name: string, wouldWaitMs: number): SpillwayError {
  return new SpillwayError(
    'SPW_SHAPER_WAIT',
    `the wait for shaper "${name}" would be ${wouldWaitMs} ms, longer than maxWait`,
    { wouldWaitMs },
  );
}

/** @param waitMs as long as this at least: what it has waited, and what is left of a pause */
export function waitedTooLong(name: string, waitMs: number): SpillwayError {
  return new SpillwayError(
    'SPW_SHAPER_WAIT',
    `the job was accepted by shaper "${name}" but could not start within maxWait: the key was paused, or slots were lost`,
    { wouldWaitMs: waitMs },
  );
}

export function blocked(name: string, endsInMs: number): SpillwayError {
  const ends = Number.isFinite(endsInMs)
    ? `for ${Math.ceil(endsInMs)} ms more`
    : 'until further notice';
  return new SpillwayError(
    'SPW_SHAPER_BLOCKED',
    `the key is blocked for shaper "${name}" by an operator, ${ends}`,
    { wouldWaitMs: endsInMs },
  );
}

export function noAnswer(name: string, cause: Error): SpillwayError {
  return new SpillwayError(
    'SPW_STORE_UNAVAILABLE',
    `the store of shaper "${name}" did not answer`,
    { cause },
  );
}

export function unreserved(
  key: string,
  reason: Unreserved['reason'],
  wouldWaitMs: number,
): Unreserved {
  return { allowed: false, key, reason, wouldWaitMs };
}
