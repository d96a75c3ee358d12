/** What a shedder reads load from. */

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
 * The signal's reading, or undefined if it throws or returns numbers that are not valid: the request is answered all
 * the same.
 */
export function readSafely(signal: Signal): Reading | undefined {
  try {
    const reading = signal.read();
    if (!reading || !isAmount(reading.value) || !isAmount(reading.ageMs)) return undefined;
    return reading.spanMs === undefined || isAmount(reading.spanMs) ? reading : undefined;
  } catch {
    return undefined;
  }
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY;
}
