/** A decision in the form in which two limiters can be compared. */

/** What a limiter decided about a request. The more is known, the better is the likely cause of a divergence. */
export interface Verdict {
  readonly allowed: boolean;
  /** Units left after the request. */
  readonly remaining?: number | undefined;
  /** Units used after the request. */
  readonly used?: number | undefined;
  /** Units per window. */
  readonly limit?: number | undefined;
  /** What was counted, such as the client's address or an account. */
  readonly key?: string | undefined;
  readonly cost?: number | undefined;
  /** Milliseconds until the window ends, or the key is as if unused. */
  readonly resetMs?: number | undefined;
}
