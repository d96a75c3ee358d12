import type { Ask, LockAnswer } from '../../contract/ask.js';
import type { LockRule } from '../../contract/rule.js';
import type { Shelf, ShelfStep } from '../../contract/shelf.js';
import { type Expiring, KeyedStates } from '../shelves/keyed-states.js';
import { type LockState, lockExpiresUs, stepLock, unusedLock } from './lock-step.js';

type StoredLock = LockState & Expiring;

const UNUSED: LockState = /* @__PURE__ */ unusedLock();

export class LockShelf implements Shelf<LockRule, StoredLock> {
  readonly grows = false;
  private readonly states = new KeyedStates<StoredLock>();
  /** A copy of the key's state, which a step changes. It is stored only if it is dirty. */
  private readonly working = unusedLock();

  get size(): number {
    return this.states.size;
  }

  find({ limiter, rule, key }: Ask<LockRule>): StoredLock | undefined {
    return this.states.get(limiter, rule.code, key);
  }

  stepStored(ask: Ask<LockRule>, nowUs: number, charge: boolean): LockAnswer | undefined {
    const count = this.find(ask);
    return count && this.step({ ask, nowUs, charge, mayGrow: true, count });
  }

  step(step: ShelfStep<LockRule, StoredLock>): LockAnswer {
    const { nowUs, charge, mayGrow, count, other } = step;
    // A shared count is never locked. Otherwise a flood of new keys would lock out all new keys for a long time.
    const ask = mayGrow ? step.ask : { ...step.ask, binding: false, holdUs: 0 };
    const { working: state } = this;
    copy(count ?? other ?? UNUSED, state);
    state.dirty = false;
    const allowed = stepLock(ask, state, nowUs, charge);
    // Another key may have started the shared window. Ending it later may be too strict, but is never too lax.
    const isShared = !mayGrow || (other !== undefined && !count);
    if (isShared && state.dirty) {
      state.endUs = Math.max(state.endUs, nowUs + ask.rule.windowUs);
    }
    if (state.dirty) this.keep(ask, count, state);
    const { endUs, current, untilUs } = state;
    return { allowed, nowUs, endUs, current, untilUs };
  }

  expiresAtUs({ forgetUs }: LockRule, { endUs, untilUs }: LockAnswer): number {
    return Math.max(endUs, untilUs + forgetUs);
  }

  reclaim(nowUs: number): void {
    this.states.reclaim(nowUs, () => undefined);
  }

  private keep(
    { op, limiter, rule, key }: Ask<LockRule>,
    stored: StoredLock | undefined,
    state: LockState,
  ): void {
    if (op === 'reset') {
      this.states.delete(limiter, rule.code, key);
      return;
    }
    const expiresUs = lockExpiresUs(rule, state);
    if (stored) {
      copy(state, stored);
      stored.expiresUs = expiresUs;
      return;
    }
    const { endUs, current, level, endedUs, untilUs } = state;
    // Written property by property: with a spread of `state`, each key would take 480 bytes instead of 180.
    const added = { dirty: false, endUs, current, level, endedUs, untilUs, expiresUs };
    this.states.set(limiter, rule.code, key, added);
  }
}

function copy(from: LockState, to: LockState): void {
  to.endUs = from.endUs;
  to.current = from.current;
  to.level = from.level;
  to.endedUs = from.endedUs;
  to.untilUs = from.untilUs;
}
