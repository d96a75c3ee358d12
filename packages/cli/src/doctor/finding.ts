/** `problem`: limits fail or are not enforced. `unknown`: the fact can't be read. */
export type Verdict = 'ok' | 'warning' | 'problem' | 'unknown';

export interface Finding {
  readonly check: string;
  readonly verdict: Verdict;
  /** What the check found, as one sentence without a full stop. */
  readonly found: string;
  readonly todo?: string;
}
