/** What a check says. */

/** `problem`: limits fail, or do not hold. `unknown`: it cannot be seen from here, or may not be read. */
export type Verdict = 'ok' | 'warning' | 'problem' | 'unknown';

export interface Finding {
  readonly check: string;
  readonly verdict: Verdict;
  /** What was found, in one sentence without its full stop. */
  readonly found: string;
  /** What to do, if there is something to do. */
  readonly todo?: string;
}
