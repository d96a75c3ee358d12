/** The leases of a memory store, with a count of all that are kept. */

import { type LeasesState, type LeasesView, noLeases, stepLeases } from '../machines/leases.js';
import type { LeasesRule } from '../rule.js';
import type { LeasesAnswer, Step } from '../store.js';
import { type Expiring, KeyedStates } from './keyed-states.js';

export class LeaseShelf {
  private readonly states = new KeyedStates<LeasesState & Expiring>();
  private readonly view: LeasesView = { used: 0, critical: 0 };
  private kept = 0;

  /** Leases kept, expired ones included. */
  get size(): number {
    return this.kept;
  }

  has(limiter: string, key: string): boolean {
    return this.states.get(limiter, key) !== undefined;
  }

  /** Does `step` to the count of its limiter that is kept under `key`. */
  step(
    { limiter, op, cost, lease }: Step,
    rule: LeasesRule,
    key: string,
    nowUs: number,
    charge: boolean,
  ): LeasesAnswer {
    const known = this.states.get(limiter, key);
    const state = known ?? { ...noLeases(), expiresUs: 0 };
    const before = state.held.size;
    const allowed = stepLeases(rule, state, op, cost, lease, nowUs, charge, this.view);
    state.expiresUs = state.lastUs;
    this.kept += state.held.size - before;
    if (state.held.size === 0) this.states.delete(limiter, key);
    else if (!known) this.states.set(limiter, key, state);
    return { allowed, nowUs, used: this.view.used, critical: this.view.critical };
  }

  /** Drops counts of which all leases have expired, among the next few. */
  reclaim(nowUs: number): void {
    this.states.reclaim(nowUs, ({ held }) => {
      this.kept -= held.size;
    });
  }
}
