/** The leases of a memory store, with a count of all that are kept. */

import {
  expire,
  type LeasesState,
  type LeasesView,
  noLeases,
  stepLeases,
} from '../algorithms/leases/step.js';
import type { LeasesAnswer } from '../contract/answer.js';
import type { LeasesRule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import { type Expiring, KeyedStates } from './keyed-states.js';

const NOBODY: LeasesView = { used: 0, critical: 0 };

export class LeaseShelf {
  private readonly states = new KeyedStates<LeasesState & Expiring>();
  private kept = 0;

  /** Leases kept, expired ones included. */
  get size(): number {
    return this.kept;
  }

  /** Whether the count of the step's limiter that is kept under `key` holds any permit. */
  has({ limiter, rule }: Step, key: string): boolean {
    return this.states.get(limiter, rule.code, key) !== undefined;
  }

  /** Whether it holds the permit that the step names. */
  holds({ limiter, rule, lease }: Step, key: string, nowUs: number): boolean {
    const held = lease && this.states.get(limiter, rule.code, key)?.held.get(lease.id);
    return held !== undefined && held.expiresUs > nowUs;
  }

  /** How many permits are held in the count that the step's limiter keeps under `key`. */
  view({ limiter, rule }: Step, key: string, nowUs: number): LeasesView {
    const state = this.states.get(limiter, rule.code, key);
    if (!state) return NOBODY;
    this.kept -= state.held.size;
    expire(state, nowUs);
    this.kept += state.held.size;
    return { used: state.held.size, critical: state.critical };
  }

  /** Applies `step` to the count that its limiter keeps under `key`. The answer also counts the permits in `beside`. */
  step(
    { limiter, op, cost, lease }: Step,
    rule: LeasesRule,
    key: string,
    nowUs: number,
    charge: boolean,
    beside: LeasesView = NOBODY,
  ): LeasesAnswer {
    const known = this.states.get(limiter, rule.code, key);
    const state = known ?? { ...noLeases(), expiresUs: 0 };
    const before = state.held.size;
    const allowed = stepLeases(rule, state, op, cost, lease, nowUs, charge, beside);
    const { size } = state.held;
    state.expiresUs = state.lastUs;
    this.kept += size - before;
    if (size === 0) this.states.delete(limiter, rule.code, key);
    else if (!known) this.states.set(limiter, rule.code, key, state);
    const critical = state.critical + beside.critical;
    return { allowed, nowUs, used: size + beside.used, critical };
  }

  /** Looks at the next few counts and drops those whose leases have all expired. */
  reclaim(nowUs: number): void {
    this.states.reclaim(nowUs, ({ held }) => {
      this.kept -= held.size;
    });
  }
}
