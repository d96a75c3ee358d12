/** Reports of things that failed although the request was answered. */

/** A mistake in a user's callback, or a store that failed. The request was answered all the same. */
export interface Fault {
  readonly limiter: string;
  /**
   * What failed: the callback of an option, an observer, the signal of a shedder, a limiter of your own (`step`,
   * `decide`, `finish`), the store, the adapter.
   */
  readonly source:
    | 'key'
    | 'cost'
    | 'plan'
    | 'capacity'
    | 'priority'
    | 'signal'
    | 'mode'
    | 'control'
    | 'skip'
    | 'refundIf'
    | 'scope'
    | 'fingerprint'
    | 'keepIf'
    | 'decide'
    | 'observer'
    | 'store'
    | 'step'
    | 'finish'
    | 'adapter';
  /** The error that was thrown, or one that says what the callback returned. */
  readonly error: unknown;
}
