/** How much time a reading stands for. */

import type { Reading } from './signal.js';

/** What a reading adds to what was known up to `sinceUs`. */
interface Coverage {
  /** When it was taken. */
  readonly atUs: number;
  /** The time that it counts for. */
  readonly elapsedUs: number;
  /** Whether so long a time before it is unknown that what was known has no meaning any more. */
  readonly afterSilence: boolean;
}

/**
 * A reading counts for all the time since the one before, except when more than `silenceUs` of it is not covered by
 * what it
 * speaks of: then for its own span alone. Undefined if it is no newer than what is known.
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
