/** Calculates how much time a reading stands for. */

import type { Reading } from './signal.js';

/** The time that a reading stands for. */
interface Coverage {
  /** When the reading was taken. */
  readonly atUs: number;
  /** How much time it counts for. */
  readonly elapsedUs: number;
  /** Whether the silence before this reading was so long that the old state no longer counts. */
  readonly afterSilence: boolean;
}

/**
 * A reading counts for all the time since the reading before it. Exception: if its own span leaves more than
 * `silenceUs` of that time unknown, it counts for its own span only. Undefined if the reading is not newer than the one
 * before.
 */
export function coverageOf(
  reading: Reading,
  sinceUs: number,
  nowUs: number,
  periodUs: number,
  silenceUs: number,
): Coverage | undefined {
  const atUs = nowUs - Math.round(reading.ageMs * 1000);
  const elapsedUs = atUs - sinceUs;
  if (elapsedUs <= 0) return undefined;
  const spanUs = Math.round((reading.spanMs ?? periodUs / 1000) * 1000);
  const afterSilence = elapsedUs - spanUs > silenceUs;
  return { atUs, elapsedUs: afterSilence ? spanUs : elapsedUs, afterSilence };
}
