/** The result of a check. */

/**
 * `problem`: limits fail or are not enforced. `unknown`: the fact can't be checked, or the user lacks the permission to
 * read it.
 */
export type Verdict = 'ok' | 'warning' | 'problem' | 'unknown';

export interface Finding {
  readonly check: string;
  readonly verdict: Verdict;
  /** What the check found: one sentence without a full stop. */
  readonly found: string;
  readonly todo?: string;
}
