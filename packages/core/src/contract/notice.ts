/** What may be a mistake in how an app is put together. No request fails for it: it is one line in the log, once. */

import type { SpillwayErrorCode } from '../base/errors.js';

/** The codes of such lines: what the option `validate` can silence. */
export type NoticeCode = Extract<
  SpillwayErrorCode,
  | 'SPW_ADDRESS_UNKNOWN'
  | 'SPW_CIDR_INVALID'
  | 'SPW_COUNTED_TWICE'
  | 'SPW_FORWARDED_UNTRUSTED'
  | 'SPW_GUARD_UNUSED'
  | 'SPW_KEY_CONSTANT'
  | 'SPW_KEY_MISREAD'
  | 'SPW_KEY_RAW_ADDRESS'
  | 'SPW_MADE_IN_HANDLER'
  | 'SPW_REGISTERED_TWICE'
  | 'SPW_SHADOW_IN_PRODUCTION'
  | 'SPW_STORE_MISSING'
  | 'SPW_TRUST_PROXY_INVALID'
  | 'SPW_TRUST_PROXY_UNSAFE'
  | 'SPW_WINDOW_SHORT'
>;

/** Which lines to write: all, none, or all but those that are `false` here. */
export type Validate = boolean | { readonly [Code in NoticeCode]?: boolean | undefined };

/** One such line, known since its limiter was made. */
export interface Notice {
  readonly code: NoticeCode;
  /** What is wrong, and what to write; no full stop at its end. */
  readonly message: string;
}
