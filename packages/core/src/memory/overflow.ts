/**
 * What a full memory store does with new keys: they share counts, so that they are limited too early, never too late.
 */

import { SpillwayError } from '../base/errors.js';
import type { Answer } from '../contract/ask.js';
import type { Rule } from '../contract/rule.js';
import type { Shelf } from '../contract/shelf.js';
import type { Step } from '../contract/store.js';
import { Shelves } from './shelves.js';

/** How many counts new keys share when the store is full, for each code. */
export const OVERFLOW_COUNTS = 1024;

/** The shared counts of one store, made when it is full for the first time. */
export class Overflow {
  /** How many decisions used one. */
  uses = 0;
  /** A key without a count of its own may have been charged there, until they are at rest. */
  private counts: Shelves | undefined;
  private untilUs = 0;

  /** Entries held now. */
  get size(): number {
    return this.counts?.size ?? 0;
  }

  /** Drops entries that are not needed. */
  reclaim(nowUs: number): void {
    this.counts?.reclaim(nowUs);
  }

  /** The shared counts, if there is no room, or if one of them still counts. */
  countsAt(nowUs: number, full: boolean): Shelves | undefined {
    if (full) this.counts ??= new Shelves();
    else if (this.counts && (nowUs >= this.untilUs || this.counts.size === 0)) {
      this.counts = undefined;
    }
    return this.counts;
  }

  /**
   * The answer to a step, once it was done on the shared count of its key or, with `isShared` false, beside it.
   * `restsUs` is when the count that answered is at rest.
   */
  noted({ op, rule }: Step, answer: Answer, isShared: boolean, restsUs: number): Answer {
    if (op === 'reset' || (op === 'put' && rule.logic.merges)) {
      return { ...answer, allowed: op === 'reset' };
    }
    if (!isShared || op === 'look' || op === 'put') return answer;
    this.uses += 1;
    this.untilUs = Math.max(this.untilUs, restsUs);
    return answer;
  }
}

/** The step as one that neither charges nor gives back. */
export function asLook(step: Step): Step {
  return step.op === 'put' || step.op === 'reset' ? step : { ...step, op: 'look' };
}

/**
 * The step on a count that keys share. All limiters have the same shared counts: otherwise a limiter that is made for
 * each request would add counts each time.
 */
export function onShared(step: Step, place: string): Step {
  return { ...step, limiter: '', key: place };
}

/**
 * A shared count keeps what was charged there: what one key would give back or reset, another may have charged. Only
 * what a step names, such as a permit, is sure to be its own.
 */
export function keepingShared(step: Step): Step {
  const { op, rule } = step;
  const gives = op === 'reset' || (op === 'put' && rule.logic.merges);
  return gives ? { ...step, op: 'look' } : step;
}

/** Whether the step may begin a count. */
export function needsRoom({ op }: Step): boolean {
  return op !== 'look' && op !== 'put' && op !== 'reset';
}

/**
 * The answer to a step of a key that can share no count, where there is no room for its own. It is refused: a claim
 * that is not kept is no claim.
 */
export function noRoom(step: Step, shelf: Shelf<Rule>, nowUs: number): Answer {
  const failure = new SpillwayError(
    'SPW_STORE_ERROR',
    'the memory store is full: raise maxEntries',
    {
      kind: 'full',
    },
  );
  const allowed = step.onStoreError === 'allow';
  const ask: Step = { ...step, op: 'look' };
  const looked = shelf.step({ ask, nowUs, charge: false, mayGrow: false });
  return { ...looked, allowed, failure };
}
