import { CallerTable, firstOf } from './caller-table.js';
import type { Verdict } from './policy-run.js';
import type { Comparison, PolicyReport } from './report.js';
import { shownKey } from './shown-key.js';

const [FIRST, OTHER] = [0, 1] as const;

export class Comparing {
  private readonly hits = new CallerTable();

  /** Callers are identified by the key of the second policy, or of the first if the second skips the request. */
  note(first: Verdict, other: Verdict): void {
    const caller = other.caller ?? first.caller;
    if (caller === undefined || !(first.isRejected || other.isRejected)) return;
    const id = this.hits.count(caller, 0);
    if (first.isRejected) this.hits.reject(id, FIRST);
    if (other.isRejected) this.hits.reject(id, OTHER);
  }

  report(policy: PolicyReport, top: number): Comparison {
    const { hits } = this;
    const isNew = (id: number): boolean => hits.rejectedOf(id, FIRST) === 0;
    let newlyHit = 0;
    let noLongerHit = 0;
    for (let id = 0; id < hits.size; id += 1) {
      if (isNew(id)) newlyHit += 1;
      if (hits.rejectedOf(id, OTHER) === 0) noLongerHit += 1;
    }
    const first = firstOf(hits.size, Math.min(top, newlyHit), (a, b) =>
      isNew(a) === isNew(b)
        ? hits.rejectedOf(b, OTHER) - hits.rejectedOf(a, OTHER)
        : Number(isNew(b)) - Number(isNew(a)),
    );
    return {
      policy,
      newlyHit,
      noLongerHit,
      top: first.map((id) => ({
        caller: shownKey(hits.nameOf(id)),
        rejected: hits.rejectedOf(id, OTHER),
      })),
    };
  }
}
