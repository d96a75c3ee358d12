/** How load is told to a shedder. */

/** One measurement of load. */
export interface Reading {
  /** 0 is idle, 1 is at the mark; it may be more. */
  readonly value: number;
  /** How long ago it was taken, in milliseconds. */
  readonly ageMs: number;
  /**
   * How long a time it speaks of, in milliseconds. A measurement that came late speaks of all the time it was late, and
   * counts in full. Default: since the measurement before, if that was not long ago.
   */
  readonly spanMs?: number;
}

/**
 * A source of load, whatever it measures. One without data answers undefined: shedders then hold, and never shed for
 * it.
 *
 * @example
 * ```ts
 * import { type Signal, workerShedder } from '@spillway/core';
 *
 * const pool = { busy: 3, size: 10 };
 * const poolSignal: Signal = { name: 'pool', read: () => ({ value: pool.busy / pool.size, ageMs: 0 }) };
 * workerShedder({ name: 'pool', signal: poolSignal, brake: false });
 * ```
 */
export interface Signal {
  /** What it measures; a decision says which signal made it. */
  readonly name: string;
  /** The newest measurement, or undefined if there is none. */
  read(): Reading | undefined;
  /**
   * Calls back after each new measurement, so that load is followed when no requests come. Without it, requests ask.
   */
  watch?(listener: () => void): void;
}

/** A reading that can be reckoned with, else undefined: whatever a signal does, the request is answered. */
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
