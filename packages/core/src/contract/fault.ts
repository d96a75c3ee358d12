/** What guards tell of things that failed while the request was answered all the same. */

/** A mistake in a user's callback, or a store that failed: the request was answered all the same. */
export interface Fault {
  readonly limiter: string;
  /**
   * What went wrong: an option's callback, an observer, a limiter of your own (`step`, `decide`, `finish`), the store,
   * the adapter.
   */
  readonly source:
    | 'key'
    | 'cost'
    | 'limit'
    | 'capacity'
    | 'priority'
    | 'mode'
    | 'control'
    | 'skip'
    | 'refundIf'
    | 'decide'
    | 'observer'
    | 'store'
    | 'step'
    | 'finish'
    | 'adapter';
  /** The error thrown, or one that says what was returned. */
  readonly error: unknown;
}
