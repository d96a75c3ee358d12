/** The shaper queues of a memory store. */

import type { Ask, QueueAnswer } from '../../contract/ask.js';
import type { QueueRule } from '../../contract/rule.js';
import type { Shelf, ShelfStep } from '../../contract/shelf.js';
import { type Expiring, KeyedStates } from '../shelves/keyed-states.js';
import { noQueue, type QueueState, restOf, stepQueue } from './queue-step.js';

type StoredQueue = QueueState & Expiring;

const UNUSED: Readonly<QueueState> = /* @__PURE__ */ noQueue();

export class QueueShelf implements Shelf<QueueRule, StoredQueue> {
  readonly grows = false;
  private readonly states = new KeyedStates<StoredQueue>();
  /** A working copy for steps, because a look or a rejection must not change the stored state. Reused for all steps. */
  private readonly working = noQueue();

  get size(): number {
    return this.states.size;
  }

  find({ limiter, rule, key }: Ask<QueueRule>): StoredQueue | undefined {
    return this.states.get(limiter, rule.code, key);
  }

  stepStored(ask: Ask<QueueRule>, nowUs: number, charge: boolean): QueueAnswer | undefined {
    const count = this.find(ask);
    return count && this.step({ ask, nowUs, charge, mayGrow: true, count });
  }

  step({ ask, nowUs, charge, count, other }: ShelfStep<QueueRule, StoredQueue>): QueueAnswer {
    const state = this.working;
    copy(count ?? other ?? UNUSED, state);
    state.dirty = false;
    const answer = stepQueue(ask, state, nowUs, charge);
    if (state.dirty) this.storeQueue(ask, count, state, nowUs);
    return answer;
  }

  expiresAtUs(_: QueueRule, { tatUs, pausedUntilUs }: QueueAnswer): number {
    return Math.max(tatUs + 1, pausedUntilUs);
  }

  reclaim(nowUs: number): void {
    this.states.reclaim(nowUs, () => undefined);
  }

  private storeQueue(
    { limiter, rule, key }: Ask<QueueRule>,
    stored: StoredQueue | undefined,
    state: QueueState,
    nowUs: number,
  ): void {
    const expiresUs = restOf(state);
    if (expiresUs <= nowUs) this.states.delete(limiter, rule.code, key);
    else if (stored) {
      copy(state, stored);
      stored.expiresUs = expiresUs;
    } else {
      const { us, num, den, spanUs, pauseUs } = state;
      const fresh = { dirty: false, us, num, den, spanUs, pauseUs, expiresUs };
      this.states.set(limiter, rule.code, key, fresh);
    }
  }
}

/** Property by property: a spread or Object.assign takes several times as long. */
function copy(from: Readonly<QueueState>, to: QueueState): void {
  to.us = from.us;
  to.num = from.num;
  to.den = from.den;
  to.spanUs = from.spanUs;
  to.pauseUs = from.pauseUs;
}
