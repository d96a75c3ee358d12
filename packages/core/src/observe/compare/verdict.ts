/**
 * A limiter's decision about a request. The more properties are set, the better a comparison can tell why two limiters
 * differ.
 */
export interface Verdict {
  readonly allowed: boolean;
  /** Units left after the request. */
  readonly remaining?: number | undefined;
  /** Units used after the request. */
  readonly used?: number | undefined;
  /** Units per window. */
  readonly limit?: number | undefined;
  /** The key that was counted, such as the client's address or an account. */
  readonly key?: string | undefined;
  readonly cost?: number | undefined;
  /** Milliseconds until the window ends, or until the bucket is full again. */
  readonly resetMs?: number | undefined;
}
