import { disregard } from './host.js';

/** Each code has a heading in docs/errors.md. */
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
  | 'SPW_SHAPER_RESERVE'
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

/** Codes of errors that may be created for every request or job, so creating them must be cheap. */
const MADE_OFTEN = /SHAPER|ANSWER|STORE_(ERROR|TIMEOUT|UNAVAILABLE)/;

const PAGE = 'https://github.com/spillway/spillway/blob/main/docs/errors.md';

type ProblemHeading = 'blocked' | 'running' | 'mismatch' | 'key-invalid' | 'not-kept';

export function helpFor(heading: SpillwayErrorCode | ProblemHeading): string {
  return `${PAGE}#${heading.toLowerCase()}`;
}

/**
 * The error for wrong use of Spillway, or for a store that can't answer. Rejections are returned as decisions, not
 * thrown. The exception is `schedule` of a shaper: it throws them, because it returns the result of the job.
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
  /** Stable across releases: compare this, not the message. */
  readonly code: SpillwayErrorCode;
  /** For a store's error: the kind of failure, such as `readonly` or `oom`. */
  declare readonly kind?: string;
  /** For `SPW_SHAPER_WAIT`: how long the job would have waited, in milliseconds. */
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
    // An own property, so Node prints it with an uncaught error. Errors that must be cheap don't get it.
    if (!MADE_OFTEN.test(code)) {
      Object.defineProperty(this, 'help', { value: this.help, enumerable: true });
    }
  }

  get help(): string {
    return helpFor(this.code);
  }
}

/** Whether `error` is a {@link SpillwayError}, including one created by another copy of the package. */
export function isSpillwayError(error: unknown): error is SpillwayError {
  return typeof error === 'object' && error !== null && BRAND in error;
}

/** Whether an error says nothing about the store: nothing was sent, or only the content of the call was wrong. */
export function isOfTheCall(error: unknown): boolean {
  return isSpillwayError(error) && !/TIMEOUT|UNAVAILABLE/.test(error.code);
}

/**
 * Creates the error for a wrong value, with the message `<option> must be <what>, got <value>`. The message shows at
 * most 60 characters of the value, so never pass a secret.
 *
 * @param code default `SPW_OPTION_INVALID`
 * @param hint what to write instead, appended to the message
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
  hint = '',
): SpillwayError {
  return new SpillwayError(code, `${option} must be ${what}, got ${show(value)}${hint}`);
}

export function planHint(value: unknown): string {
  return typeof value === 'function' ? ': for limits that differ between callers use plan' : '';
}

export function seeHelp(error: unknown): string {
  return isSpillwayError(error) ? ` See ${helpFor(error.code)}` : '';
}

export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(show(thrown));
}

/** Never throws, whatever was thrown. */
export function messageOf(thrown: unknown): string {
  try {
    const message: unknown = thrown instanceof Error && thrown.message;
    return typeof message === 'string' ? message : show(thrown);
  } catch {
    return 'an error that cannot be shown';
  }
}

/**
 * Describes a value that is not used. It may be the promise of an async function that was called where a value is
 * expected, and this promise may reject.
 */
export function show(value: unknown): string {
  let text: string;
  try {
    disregard(value);
    // A string may be long, and at most 60 characters are shown. String() of a function may have several lines.
    text =
      typeof value === 'string'
        ? JSON.stringify(value.slice(0, 60))
        : String(value).replace(/\s+/g, ' ');
  } catch {
    text = typeof value;
  }
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
