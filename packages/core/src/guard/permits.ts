/** The permits of requests in progress: held, renewed so that they do not expire, and given back once. */

import { GIVE_BACK_US, hasFailed, MOST_STEPS, releaseOf } from '../algorithms/upkeep/sending.js';
import { afterIdly, isLater } from '../base/host.js';
import type { Answer } from '../contract/ask.js';
import type { BreakerEvent } from '../contract/observer.js';
import type { Step } from '../contract/store.js';
import type { LateValue, Upkeep, UpkeepOf } from '../contract/upkeep.js';
import type { StoreClient } from '../stores/store-client.js';

/** How long {@link Permits.close} waits for the store. */
const CLOSE_US = 5_000_000;

/** A permit is named by the step that took it. So is a claim, which is held and renewed in the same way. */
export class Permits {
  /** By the length of their leases: as many as limiters have. */
  private readonly permits = new Map<number, Upkeep<Step>>();
  private readonly claims = new Map<number, Upkeep<Step>>();
  private readonly underWay = new Set<Promise<unknown>>();
  private readonly client: StoreClient;

  constructor(client: StoreClient) {
    this.client = client;
  }

  hold(step: Step): void {
    this.cycleOf(step).hold(step);
  }

  /** Calls back if a renewal finds that another owner has the claim of a step that is held. */
  whenLost(step: Step, lost: () => void): void {
    this.cycleOf(step).whenLost(step, lost);
  }

  /** Writes `value` again with the step that ends its claim, until it was written, or that is not sent again. */
  writeLater(last: Step, value: LateValue): void {
    this.cycleOf(last).writeLater(last, value);
  }

  /** From now on a claim is not renewed, and nothing is sent. */
  abandon(step: Step): void {
    this.cyclesOf(step).get(lengthOf(step))?.release(step);
  }

  /** The step that gives a permit back, or ends a claim; from now on it is not renewed. */
  release(step: Step, last: Step = releaseOf(step)): Step {
    this.cyclesOf(step).get(lengthOf(step))?.release(step, last);
    return last;
  }

  /**
   * Gives permits and refunds back in one call. Permits that do not reach the store are given back again later. No
   * response waits for the promise, which never rejects; undefined if the store has answered.
   */
  giveBack(steps: readonly Step[]): Promise<void> | undefined {
    if (steps.length === 0) return undefined;
    const noted = this.client.giveBack(
      steps,
      (answers) => this.noteLost(steps, answers),
      GIVE_BACK_US,
    );
    return isLater(noted) ? this.track(noted) : undefined;
  }

  /** {@link close} waits for `call`, which must not reject. */
  track<T>(call: Promise<T>): Promise<T> {
    this.underWay.add(call);
    void call.then(() => this.underWay.delete(call));
    return call;
  }

  /** To be called with each request. */
  keepUp(): void {
    if (this.permits.size > 0) for (const cycle of this.permits.values()) cycle.keepUp();
    if (this.claims.size > 0) for (const cycle of this.claims.values()) cycle.keepUp();
  }

  /** Told when the breaker opens and closes: what an outage kept from the store is made up for when it ends. */
  onBreaker({ state }: BreakerEvent): void {
    if (state === 'open') return;
    for (const cycle of [...this.permits.values(), ...this.claims.values()]) cycle.catchUp();
  }

  /** Permits held now. */
  get size(): number {
    let size = 0;
    for (const cycle of this.permits.values()) size += cycle.size;
    return size;
  }

  /**
   * Gives all permits back, and leaves claims to their leases, for handlers may still run; done when the store has
   * answered, at the latest after 5 s.
   */
  async close(): Promise<void> {
    for (const cycle of this.claims.values()) void this.track(cycle.writeNow());
    const releases = [
      ...[...this.permits.values()].flatMap((cycle) => cycle.end(true)),
      ...[...this.claims.values()].flatMap((cycle) => cycle.end(false)),
    ];
    this.permits.clear();
    this.claims.clear();
    const { clock } = this.client;
    const endUs = clock.nowUs() + CLOSE_US;
    for (let from = 0; from < releases.length; from += MOST_STEPS) {
      const leftUs = endUs - clock.nowUs();
      const some = releases.slice(from, from + MOST_STEPS);
      await Promise.all(
        some.map((release) => this.client.giveBack([release], (given) => given, leftUs)),
      );
    }
    await this.settled(endUs - clock.nowUs());
  }

  /** Waits for what is under way. */
  private async settled(forUs: number): Promise<void> {
    if (this.underWay.size === 0) return;
    let cancel = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      cancel = afterIdly(forUs / 1000, resolve);
    });
    await Promise.race([Promise.all(this.underWay), late]);
    cancel();
  }

  private noteLost(releases: readonly Step[], answers: readonly Answer[]): void {
    for (const [i, step] of releases.entries()) {
      if (!step.lease && !step.claim) continue;
      if (hasFailed(answers[i])) this.cycleOf(step).noteLost(step);
      else if (step.op === 'done') this.cyclesOf(step).get(lengthOf(step))?.noteDone(step);
    }
  }

  private cycleOf(step: Step): Upkeep<Step> {
    const cycles = this.cyclesOf(step);
    const leaseUs = lengthOf(step);
    let cycle = cycles.get(leaseUs);
    if (!cycle) {
      // Only what has leases is held, and their rules bring it.
      const upkeepOf = step.rule.logic.upkeep as UpkeepOf<Step>;
      cycle = upkeepOf(this.client, leaseUs, (call) => this.track(call));
      cycles.set(leaseUs, cycle);
    }
    return cycle;
  }

  private cyclesOf({ rule }: Step): Map<number, Upkeep<Step>> {
    return rule.machine === 'claims' ? this.claims : this.permits;
  }
}

function lengthOf({ rule }: Step): number {
  return rule.machine === 'leases' || rule.machine === 'claims' ? rule.leaseUs : Infinity;
}
