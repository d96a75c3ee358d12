/** Keeps the leases of requests in progress from expiring, and gives back what is left at the end. */

import { afterIdly } from '../host.js';
import type { Answer, Step, Store } from '../store.js';

/** Renewed so often within its length, a lease survives one renewal that is lost or late. */
const RENEWALS = 3;

/** Leases of one length, and the one timer for all of them. */
interface Cycle {
  readonly held: Set<Step>;
  /** Releases that did not reach the store, and how often more to send them: then their leases have expired. */
  readonly lost: Map<Step, number>;
  cancel: (() => void) | undefined;
}

/** A lease is named by the step that took it. */
export class LeaseKeeper {
  private readonly cycles = new Map<number, Cycle>();

  /** The store must answer for itself: nobody looks at what it says. */
  constructor(private readonly store: Store) {}

  hold(step: Step): void {
    const cycle = this.cycleOf(step);
    cycle.held.add(step);
    if (!cycle.cancel) this.schedule(cycle, lengthOf(step));
  }

  /** Sends releases that the store did not answer again, with the next renewals. */
  noteLost(releases: readonly Step[], answers: readonly Answer[]): void {
    for (const [i, step] of releases.entries()) {
      if (!step.lease || !answers[i]?.failure) continue;
      const cycle = this.cycleOf(step);
      cycle.lost.set(step, RENEWALS);
      if (!cycle.cancel) this.schedule(cycle, lengthOf(step));
    }
  }

  /** The step that gives a lease back. The timer runs on: the next request is near. */
  release(step: Step): Step {
    this.cycles.get(lengthOf(step))?.held.delete(step);
    return { ...step, op: 'put' };
  }

  /** Leases held now. */
  get size(): number {
    let size = 0;
    for (const { held } of this.cycles.values()) size += held.size;
    return size;
  }

  /** Gives all leases back; done when the store has answered. */
  async close(): Promise<void> {
    const held = [...this.cycles.values()].flatMap((cycle) => [...cycle.held]);
    for (const { cancel } of this.cycles.values()) cancel?.();
    this.cycles.clear();
    await Promise.all(held.map((step) => this.store.apply([{ ...step, op: 'put' }])));
  }

  private cycleOf(step: Step): Cycle {
    const leaseUs = lengthOf(step);
    let cycle = this.cycles.get(leaseUs);
    if (!cycle) {
      cycle = { held: new Set(), lost: new Map(), cancel: undefined };
      this.cycles.set(leaseUs, cycle);
    }
    return cycle;
  }

  private schedule(cycle: Cycle, leaseUs: number): void {
    cycle.cancel = afterIdly(leaseUs / 1000 / RENEWALS, () => {
      cycle.cancel = undefined;
      if (cycle.held.size === 0 && cycle.lost.size === 0) return;
      // Each by itself, so that none fails for another; a store that is far away sends them together.
      for (const step of cycle.held) void this.store.apply([{ ...step, op: 'record' }]);
      for (const [release, times] of cycle.lost) void this.resend(cycle, release, times);
      this.schedule(cycle, leaseUs);
    });
  }

  private async resend({ lost }: Cycle, release: Step, times: number): Promise<void> {
    if (times > 1) lost.set(release, times - 1);
    else lost.delete(release);
    const [answer] = await this.store.apply([release]);
    if (!answer?.failure) lost.delete(release);
  }
}

function lengthOf({ rule }: Step): number {
  return rule.machine === 'leases' ? rule.leaseUs : Infinity;
}
