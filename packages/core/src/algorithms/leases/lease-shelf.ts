import type { Ask, LeasesAnswer } from '../../contract/ask.js';
import type { LeasesRule } from '../../contract/rule.js';
import type { Shelf, ShelfStep } from '../../contract/shelf.js';
import { type Expiring, KeyedStates } from '../shelves/keyed-states.js';
import { expire, type LeasesState, noLeases, stepLeases } from './lease-step.js';

type StoredLeases = LeasesState & Expiring;

const NOBODY = { used: 0, critical: 0 };

export class LeaseShelf implements Shelf<LeasesRule, StoredLeases> {
  readonly grows = false;
  private readonly states = new KeyedStates<StoredLeases>();
  private kept = 0;

  get size(): number {
    return this.kept;
  }

  /** Finds the permits of a key, and removes the expired ones. */
  find({ limiter, rule, key }: Ask<LeasesRule>, nowUs: number): StoredLeases | undefined {
    const state = this.states.get(limiter, rule.code, key);
    if (state) {
      const before = state.held.size;
      expire(state, nowUs);
      this.kept += state.held.size - before;
    }
    return state;
  }

  holds({ held }: StoredLeases, { lease }: Ask<LeasesRule>): boolean {
    return lease !== undefined && held.has(lease.id);
  }

  step({ ask, nowUs, charge, count, other }: ShelfStep<LeasesRule, StoredLeases>): LeasesAnswer {
    const { limiter, key, rule } = ask;
    const beside = other ? { used: other.held.size, critical: other.critical } : NOBODY;
    const state = count ?? { ...noLeases(), expiresUs: 0 };
    const before = state.held.size;
    const allowed = stepLeases(ask, state, nowUs, charge, beside);
    const { size } = state.held;
    state.expiresUs = state.maxEndUs;
    this.kept += size - before;
    if (size === 0) this.states.delete(limiter, rule.code, key);
    else if (!count) this.states.set(limiter, rule.code, key, state);
    const critical = state.critical + beside.critical;
    return { allowed, nowUs, used: size + beside.used, critical };
  }

  expiresAtUs({ leaseUs }: LeasesRule, { nowUs }: LeasesAnswer): number {
    return nowUs + leaseUs;
  }

  reclaim(nowUs: number): void {
    this.states.reclaim(nowUs, ({ held }) => {
      this.kept -= held.size;
    });
  }
}
