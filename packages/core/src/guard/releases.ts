/** What a guard gives back: refunds, and the permits of requests in progress, whose rules bring their upkeep. */

import { GIVE_BACK_US } from '../algorithms/upkeep/lost-releases.js';
import { afterIdly, isLater } from '../base/host.js';
import type { Step } from '../contract/store.js';
import type { Upkeep, UpkeepOf } from '../contract/upkeep.js';
import type { StoreClient } from '../stores/store-client.js';

/** How long {@link Releases.close} waits for the store. */
const CLOSE_US = 5_000_000;

export class Releases {
  /** Undefined until a step takes a permit or a claim. */
  permits: Upkeep<Step> | undefined;
  private readonly underWay = new Set<Promise<unknown>>();
  private readonly client: StoreClient;

  constructor(client: StoreClient) {
    this.client = client;
  }

  /** The upkeep of a step that takes a permit or a claim, or ends one. */
  permitsOf({ rule }: Step): Upkeep<Step> {
    this.permits ??= (rule.logic.upkeep as UpkeepOf<Step>)(this.client, (call) => this.track(call));
    return this.permits;
  }

  /**
   * Gives permits and refunds back in one call. Permits that do not reach the store are given back again later. No
   * response waits for the promise, which never rejects; undefined if the store has answered.
   */
  giveBack(steps: readonly Step[]): Promise<void> | undefined {
    if (steps.length === 0) return undefined;
    const held = steps.find(({ lease, claim }) => lease || claim);
    const noted = this.client.link.giveBack(
      steps,
      (answers) => held && this.permitsOf(held).noteAnswers(steps, answers),
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

  /** Gives all permits back, and waits for what is on its way; done after 5 s at the latest. */
  async close(): Promise<void> {
    const { clock } = this.client;
    const endUs = clock.nowUs() + CLOSE_US;
    await this.permits?.close(endUs);
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
}
