/** What a shedder reads load from. */

import { Junk } from '../base/junk.js';

/** One measurement of load. */
export interface Reading {
  /** 0 is idle, 1 is at the mark, and it may be more. */
  readonly value: number;
  /** How long ago it was taken, in milliseconds. */
  readonly ageMs: number;
  /**
   * The time that the reading is about, in milliseconds. A reading that came late is about all the time since the one
   * before, and counts for all of it. Default: the time since the reading before, if that is not long ago.
   */
  readonly spanMs?: number;
}

/**
 * A source of load. It returns undefined while it has no data: shedders then keep what they do, and never shed more.
 *
 * @example
 * ```ts
 * import { type Signal, workerShedder } from '@spillway/core';
 *
 * const pool = { asked: 3, size: 10 }; // connections in use, and requests that wait for one
 * const signal: Signal = { name: 'pool', read: () => ({ value: pool.asked / pool.size, ageMs: 0 }) };
 * workerShedder({ name: 'pool', ladder: false, brake: { signal } });
 * ```
 */
export interface Signal {
  /** What it measures; a refusal carries this name. */
  readonly name: string;
  /** The newest reading, or undefined if there is none. */
  read(): Reading | undefined;
  /**
   * Calls `listener` after each new reading, so that a shedder follows the load when no requests come. Without it,
   * shedders read the signal at requests. May return a function that ends the calls: shedders that are no longer used
   * then leave nothing behind.
   */
  watch?(listener: () => void): void;
}

/**
 * The signal's reading, or undefined if there is none. Calls `fault` if it throws or returns something else.
 */
export function readSafely(signal: Signal, fault?: (error: unknown) => void): Reading | undefined {
  try {
    const reading: unknown = signal.read();
    if (reading === undefined || isReading(reading)) return reading;
    fault?.(new Junk(`signal "${signal.name}"`, reading));
  } catch (error) {
    fault?.(error);
  }
  return undefined;
}

function isReading(given: unknown): given is Reading {
  if (typeof given !== 'object' || given === null) return false;
  const { value, ageMs, spanMs } = given as Partial<Reading>;
  return isAmount(value) && isAmount(ageMs) && (spanMs === undefined || isAmount(spanMs));
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY;
}
