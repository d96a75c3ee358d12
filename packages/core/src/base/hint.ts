/** When to come again, where nobody can know: a hint, spread so that not all come back at once. */

import { checkCallback } from './checks.js';
import { type Duration, toMicroseconds } from './duration.js';

/** Options of limiters whose refusals can only guess when to come back. */
export interface HintOptions {
  /**
   * The hint of when to come back; each refusal says a random time from this to twice this, in whole seconds from one
   * second on, so that clients do not all come back at once. Default `'1s'`.
   */
  readonly retryAfter?: Duration | undefined;
  /** Returns a random number from 0 up to 1; for tests. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/**
 * Makes hints, in milliseconds.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function hints(options: HintOptions): () => number {
  const random = randomOf(options);
  const ms = toMicroseconds(options.retryAfter ?? '1s', 'retryAfter') / 1000;
  // `Retry-After` has whole seconds: of times between two of them, all clients would be told the same.
  const unit = ms < 1_000 ? 1 : 1_000;
  const least = Math.ceil(ms / unit);
  const choices = Math.max(2, Math.floor((2 * ms) / unit) - least + 1);
  return () => unit * (least + Math.min(choices - 1, Math.floor(random() * choices)));
}

/** @throws SpillwayError `SPW_OPTION_INVALID` */
export function randomOf({ random }: HintOptions): () => number {
  checkCallback('random', random);
  // Looked up at each call, so that a test may replace it.
  return random ?? (() => Math.random());
}
