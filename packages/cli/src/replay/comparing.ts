/** Whom another policy hits that the first one lets pass. */

import type { Comparison, PolicyReport } from './report.js';
import { shownKey } from './shown-key.js';

/** What became of a request: see `PolicyRun.latest`. */
interface Verdict {
  readonly caller: string | undefined;
  readonly isRejected: boolean;
}

export class Comparing {
  /** Of each caller that either policy rejects: how often, by the first policy and by the other. */
  private readonly hits = new Map<string, { first: number; other: number }>();

  /** Callers are distinguished by the keys of the other policy. */
  note(first: Verdict, other: Verdict): void {
    const { caller } = other;
    if (caller === undefined || !(first.isRejected || other.isRejected)) return;
    const hit = this.hits.get(caller) ?? { first: 0, other: 0 };
    if (first.isRejected) hit.first += 1;
    if (other.isRejected) hit.other += 1;
    this.hits.set(caller, hit);
  }

  report(policy: PolicyReport, top: number): Comparison {
    const hits = [...this.hits];
    const newly = hits.filter(([, { first }]) => first === 0);
    newly.sort(([, a], [, b]) => b.other - a.other);
    return {
      policy,
      newlyHit: newly.length,
      noLongerHit: hits.filter(([, { other }]) => other === 0).length,
      top: newly
        .slice(0, top)
        .map(([caller, { other }]) => ({ caller: shownKey(caller), rejected: other })),
    };
  }
}
