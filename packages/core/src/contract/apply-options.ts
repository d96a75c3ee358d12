/** What a call of a store may be told beside its steps. */

/** Limits on one call. */
export interface ApplyOptions {
  /**
   * After this instant nobody waits for the answer, and a store need not send the call. In microseconds, by the
   * process's own clock (`systemClock`).
   */
  readonly deadlineUs?: number | undefined;
  /**
   * True for a call that no request waits for, such as a renewal. Its deadline is `deadlineUs` alone, and the breaker
   * ignores its failure.
   */
  readonly background?: boolean | undefined;
}
