/** Shared counts for new keys in a full memory store. These keys may be limited too early, but never too late. */

import { SpillwayError } from '../base/errors.js';
import type { Answer } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import { Shelves } from './shelves.js';

/** Shared counts of each kind: of each algorithm and `rule.code`, and of each calendar. */
export const OVERFLOW_COUNTS = 1024;

export class Overflow {
  uses = 0;
  /** When a sweep last left the store full. */
  fullAtUs = 0;
  /** Kept until all must have expired: any key without its own count may have been charged on one of them. */
  private counts: Shelves | undefined;
  private untilUs = 0;

  get size(): number {
    return this.counts?.size ?? 0;
  }

  reclaim(nowUs: number): void {
    this.counts?.reclaim(nowUs);
  }

  /** The shared counts, if the store is full or one of them has not expired. */
  countsAt(nowUs: number, full: boolean): Shelves | undefined {
    if (full) this.counts ??= new Shelves();
    else if (this.counts && (nowUs >= this.untilUs || this.counts.size === 0)) {
      this.counts = undefined;
    }
    return this.counts;
  }

  /**
   * Completes the answer to a step that may have used a shared count, and counts such uses. Shared units can't be given
   * back, so a `put` of units answers false. A `reset` always answers true.
   *
   * @param isShared whether the step was applied to a shared count
   * @param restsUs when that count expires
   */
  noted(step: Step, answer: Answer, isShared: boolean, restsUs: number): Answer {
    if (keepingShared(step) !== step) return { ...answer, allowed: step.op === 'reset' };
    if (!isShared || !needsRoom(step)) return answer;
    this.uses += 1;
    this.untilUs = Math.max(this.untilUs, restsUs);
    return answer;
  }
}

/** A `put` or `reset` on a shared count becomes a `look`: another key may have charged. Permits have ids. */
export function keepingShared(step: Step): Step {
  const { op, rule } = step;
  const gives = op === 'reset' || (op === 'put' && !rule.logic.hasIds);
  return gives ? { ...step, op: 'look' } : step;
}

export function needsRoom({ op }: Step): boolean {
  return op !== 'look' && op !== 'put' && op !== 'reset';
}

/** Rejects a claim, because one that is not stored protects nothing. `onStoreError: 'allow'` admits it. */
export function noRoom(looked: Answer, { onStoreError }: Step): Answer {
  const full = 'the memory store is full: raise maxEntries';
  const failure = new SpillwayError('SPW_STORE_ERROR', full, { kind: 'full' });
  return { ...looked, allowed: onStoreError === 'allow', failure };
}
