/** Keeps the leases of requests in progress from expiring, and gives back what is left at the end. */

import { afterIdly } from '../base/host.js';
import type { BreakerEvent } from '../contract/observer.js';
import type { Answer, Step } from '../contract/store.js';
import type { StoreClient } from '../stores/store-client.js';
import { hasFailed, LeaseCycle, MOST_STEPS, releaseOf } from './lease-cycle.js';

/** How long {@link Permits.close} waits for the store. */
const CLOSE_US = 5_000_000;

/** A lease is named by the step that took it. */
export class Permits {
  /** By length: as many as limiters have. */
  private readonly cycles = new Map<number, LeaseCycle>();
  private readonly underWay = new Set<Promise<unknown>>();
  private readonly client: StoreClient;

  constructor(client: StoreClient) {
    this.client = client;
  }

  hold(step: Step): void {
    this.cycleOf(step).hold(step);
  }

  /** The step that gives a lease back. */
  release(step: Step): Step {
    this.cycles.get(lengthOf(step))?.release(step);
    return releaseOf(step);
  }

  /** To be called with each request. */
  keepUp(): void {
    if (this.cycles.size === 0) return;
    for (const cycle of this.cycles.values()) cycle.keepUp();
  }

  /** Keeps the releases that the store did not answer, to send them again. */
  noteLost(releases: readonly Step[], answers: readonly Answer[]): void {
    for (const [i, step] of releases.entries()) {
      if (step.lease && hasFailed(answers[i])) this.cycleOf(step).noteLost(step);
    }
  }

  /** Told when the breaker opens and closes: what an outage kept from the store is made up for when it ends. */
  onBreaker({ state }: BreakerEvent): void {
    if (state === 'open') return;
    for (const cycle of this.cycles.values()) cycle.catchUp();
  }

  /** Leases held now. */
  get size(): number {
    let size = 0;
    for (const cycle of this.cycles.values()) size += cycle.size;
    return size;
  }

  /** Gives all leases back; done when the store has answered, at the latest after 5 s. */
  async close(): Promise<void> {
    const releases = [...this.cycles.values()].flatMap((cycle) => cycle.end());
    this.cycles.clear();
    const { clock } = this.client;
    const endUs = clock.nowUs() + CLOSE_US;
    for (let from = 0; from < releases.length; from += MOST_STEPS) {
      const some = releases.slice(from, from + MOST_STEPS);
      await Promise.all(
        some.map((release) => this.client.giveBack([release], endUs - clock.nowUs())),
      );
    }
    await this.settled(endUs);
  }

  /** Waits for what is under way. */
  private async settled(endUs: number): Promise<void> {
    if (this.underWay.size === 0) return;
    let cancel = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      cancel = afterIdly((endUs - this.client.clock.nowUs()) / 1000, resolve);
    });
    await Promise.race([Promise.all(this.underWay), late]);
    cancel();
  }

  private cycleOf(step: Step): LeaseCycle {
    const leaseUs = lengthOf(step);
    let cycle = this.cycles.get(leaseUs);
    if (!cycle) {
      cycle = new LeaseCycle(this.client, leaseUs, this.underWay);
      this.cycles.set(leaseUs, cycle);
    }
    return cycle;
  }
}

function lengthOf({ rule }: Step): number {
  return rule.machine === 'leases' ? rule.leaseUs : Infinity;
}
