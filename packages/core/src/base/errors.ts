/** The one error class of Spillway: a stable code, a sentence that names option and value, and where to read on. */

/** Every code. Each has its heading in docs/errors.md. */
export type SpillwayErrorCode =
  | 'SPW_ADDRESS_REQUIRED'
  | 'SPW_ADDRESS_UNKNOWN'
  | 'SPW_ALGORITHM_INVALID'
  | 'SPW_ALTERNATIVES_INVALID'
  | 'SPW_ANSWER_MISSING'
  | 'SPW_BURST_INVALID'
  | 'SPW_CAPTURE_MISSING'
  | 'SPW_CIDR_INVALID'
  | 'SPW_COST_INVALID'
  | 'SPW_COUNTED_TWICE'
  | 'SPW_FORWARDED_UNTRUSTED'
  | 'SPW_GROUP_INVALID'
  | 'SPW_GROUP_TOO_LARGE'
  | 'SPW_GUARD_UNUSED'
  | 'SPW_INTERCEPTOR_MISSING'
  | 'SPW_KEY_CONSTANT'
  | 'SPW_KEY_INVALID'
  | 'SPW_KEY_MISREAD'
  | 'SPW_KEY_RAW_ADDRESS'
  | 'SPW_LIMIT_INVALID'
  | 'SPW_LIMITER_INVALID'
  | 'SPW_MADE_IN_HANDLER'
  | 'SPW_NAME_CONFLICT'
  | 'SPW_NAME_INVALID'
  | 'SPW_NAME_REQUIRED'
  | 'SPW_OPTION_INVALID'
  | 'SPW_OPTION_UNKNOWN'
  | 'SPW_REGISTERED_TWICE'
  | 'SPW_SCOPE_INVALID'
  | 'SPW_SETTINGS_LOST'
  | 'SPW_SHADOW_IN_PRODUCTION'
  | 'SPW_SHAPER_BLOCKED'
  | 'SPW_SHAPER_CLOSED'
  | 'SPW_SHAPER_FULL'
  | 'SPW_SHAPER_WAIT'
  | 'SPW_STORE_ERROR'
  | 'SPW_STORE_INVALID'
  | 'SPW_STORE_MISSING'
  | 'SPW_STORE_TIMEOUT'
  | 'SPW_STORE_UNAVAILABLE'
  | 'SPW_TRUST_PROXY_INVALID'
  | 'SPW_TRUST_PROXY_UNSAFE'
  | 'SPW_VALUE_INVALID'
  | 'SPW_WINDOW_INVALID'
  | 'SPW_WINDOW_SHORT';

const BRAND = Symbol.for('spillway.error');

/** Codes that requests and jobs end with: made often, so that nothing is made of them beforehand. */
const MADE_OFTEN = /SHAPER|ANSWER|STORE_(ERROR|TIMEOUT|UNAVAILABLE)/;

const PAGE = 'https://github.com/spillway/spillway/blob/main/docs/errors.md';

/** The headings of docs/errors.md that are about refusals. */
type ProblemHeading = 'blocked' | 'running' | 'mismatch' | 'key-invalid' | 'not-kept';

/** The address of a heading of docs/errors.md. */
export function helpFor(heading: SpillwayErrorCode | ProblemHeading): string {
  return `${PAGE}#${heading.toLowerCase()}`;
}

/**
 * A mistake in how Spillway is used, or a store that cannot answer. A refusal is an error only where a shaper's
 * `schedule` rejects with it, because it settles otherwise as the work does.
 *
 * @example
 * ```ts run
 * import { isSpillwayError, rateLimit } from '@spillway/core';
 *
 * try {
 *   rateLimit({ limit: 100, window: '0s' });
 * } catch (error) {
 *   if (!isSpillwayError(error)) throw error;
 *   error.code; // 'SPW_WINDOW_INVALID'
 *   error.help; // 'https://github.com/spillway/spillway/blob/main/docs/errors.md#spw_window_invalid'
 * }
 * ```
 */
export class SpillwayError extends Error {
  /** Stable across releases; what to test for. */
  readonly code: SpillwayErrorCode;
  /** Of an error that a store answered with: which, in a word of few values such as `readonly` or `oom`. */
  declare readonly kind?: string;
  /** Of `SPW_SHAPER_WAIT`: how long the wait for a start would have been, in milliseconds. */
  declare readonly wouldWaitMs?: number;

  constructor(
    code: SpillwayErrorCode,
    message: string,
    options?: { cause?: unknown; kind?: string; wouldWaitMs?: number },
  ) {
    super(`${message} (${code})`, options);
    this.name = 'SpillwayError';
    this.code = code;
    if (options?.kind !== undefined) this.kind = options.kind;
    if (options?.wouldWaitMs !== undefined) this.wouldWaitMs = options.wouldWaitMs;
    Object.defineProperty(this, BRAND, { value: true });
    // An own property is printed with the error when nobody catches it.
    if (!MADE_OFTEN.test(code)) {
      Object.defineProperty(this, 'help', { value: this.help, enumerable: true });
    }
  }

  /** Where the code is explained: what happened, why it matters, what to write, how to silence it. */
  get help(): string {
    return helpFor(this.code);
  }
}

/** Whether `error` is a {@link SpillwayError}, also one made by another copy of the package. */
export function isSpillwayError(error: unknown): error is SpillwayError {
  return typeof error === 'object' && error !== null && BRAND in error;
}

/**
 * The error for a wrong value, in the one form of such messages: `<option> must be <what>, got <value>`. It shows at
 * most 60 characters of the value; never give it a secret.
 *
 * @param code default `SPW_OPTION_INVALID`
 * @example
 * ```ts run
 * import { mustBe } from '@spillway/core/adapter';
 *
 * const error = mustBe('rejection', 'answer or throw', 'maybe');
 * error.message; // 'rejection must be answer or throw, got "maybe" (SPW_OPTION_INVALID)'
 * ```
 */
export function mustBe(
  option: string,
  what: string,
  value: unknown,
  code: SpillwayErrorCode = 'SPW_OPTION_INVALID',
): SpillwayError {
  return new SpillwayError(code, `${option} must be ${what}, got ${show(value)}`);
}

/** The end of a line that tells of an error: where to read on, if the error is one of ours. */
export function seeHelp(error: unknown): string {
  return isSpillwayError(error) ? ` See ${helpFor(error.code)}` : '';
}

/** What was thrown, as an error: anything can be thrown. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(show(thrown));
}

/** What a thrown value says of itself. Never throws, whatever was thrown. */
export function messageOf(thrown: unknown): string {
  try {
    const message: unknown = thrown instanceof Error ? thrown.message : undefined;
    return typeof message === 'string' ? message : show(thrown);
  } catch {
    return 'an error that cannot be shown';
  }
}

/** How a wrong value is shown in a message: short, one line, strings quoted. */
export function show(value: unknown): string {
  let text: string;
  try {
    // A function shows its source.
    text = typeof value === 'string' ? JSON.stringify(value) : String(value).replace(/\s+/g, ' ');
  } catch {
    text = typeof value;
  }
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
