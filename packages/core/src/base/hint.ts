import { checkCallback } from './checks.js';
import { type Duration, toMicroseconds } from './duration.js';

/** Options of limiters that can only estimate when to retry. */
export interface HintOptions {
  /**
   * The `Retry-After` of rejections: a random time between one and two times this value; from 1 s on in whole seconds,
   * rounded up. Default `'1s'`.
   */
  readonly retryAfter?: Duration | undefined;
  /** Returns a random number from 0 up to 1; for tests. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

export function hints(options: HintOptions): () => number {
  const random = randomOf(options);
  const ms = toMicroseconds(options.retryAfter ?? '1s', 'retryAfter') / 1000;
  // The header `Retry-After` has whole seconds, so fractions of a second would be lost.
  const unit = ms < 1_000 ? 1 : 1_000;
  const least = Math.ceil(ms / unit);
  const choices = Math.max(2, Math.floor((2 * ms) / unit) - least + 1);
  return () => unit * (least + Math.min(choices - 1, Math.floor(random() * choices)));
}

/** @throws SpillwayError `SPW_OPTION_INVALID` */
export function randomOf({ random }: HintOptions): () => number {
  checkCallback('random', random);
  // `Math.random` is looked up at each call, because tests may replace it.
  return random ?? (() => Math.random());
}
