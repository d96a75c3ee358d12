/**
 * Resends settlements that did not reach the store. Settlements and permit releases that wait to be resent share one
 * memory limit.
 */

import { LostReleases, MAX_STEPS_PER_TURN } from '../algorithms/upkeep/lost-releases.js';
import { afterIdly } from '../base/host.js';
import type { Settling } from '../contract/limiter-turn.js';
import type { Step } from '../contract/store.js';

const EVERY_US = 1_000_000;

/** After this time, most token buckets would no longer count the units; the count of a calendar stays wrong. */
const KEPT_US = 3_600_000_000;

export class Resends {
  private readonly lost: LostReleases;
  private readonly onGivenUp = new WeakMap<Step, () => void>();
  private readonly releases: Settling['releases'];
  private dueUs = 0;

  constructor(releases: Settling['releases']) {
    this.releases = releases;
    this.lost = new LostReleases(releases.client.releaseRoom, (step) =>
      this.onGivenUp.get(step)?.(),
    );
    // Also resend at shutdown, because the process may end before the timer fires.
    const others = releases.onDrain;
    releases.onDrain = () => {
      others?.();
      this.resend();
    };
  }

  /** When a settlement that fails now for the first time is given up. */
  get endUs(): number {
    return this.nowUs + KEPT_US;
  }

  addSettlement(step: Step, untilUs: number, givenUp: () => void): void {
    this.onGivenUp.set(step, givenUp);
    this.lost.addRelease(step, untilUs);
    this.schedule();
  }

  delete(step: Step): void {
    this.lost.delete(step);
  }

  /** Sends overdue steps. Called for each settlement: some platforms stop a timer with its request. */
  keepUp(): void {
    if (this.dueUs > 0 && this.nowUs > this.dueUs + EVERY_US) this.resend();
  }

  private get nowUs(): number {
    return this.releases.client.clock.nowUs();
  }

  private schedule(): void {
    if (this.dueUs > 0 || this.lost.size === 0) return;
    this.dueUs = this.nowUs + EVERY_US;
    afterIdly(EVERY_US / 1000, () => this.resend());
  }

  private resend(): void {
    this.dueUs = 0;
    this.lost.beginRound(this.nowUs);
    // Each step is sent on its own, so that a failed one doesn't affect the others. A remote store batches them.
    for (const step of this.lost.next(MAX_STEPS_PER_TURN)) void this.releases.giveBack([step]);
    this.schedule();
  }
}
