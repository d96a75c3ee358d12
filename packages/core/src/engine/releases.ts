import { RELEASE_TIMEOUT_US } from '../algorithms/upkeep/lost-releases.js';
import { isLater } from '../base/host.js';
import { within } from '../base/within.js';
import type { Answer } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import type { Upkeep, UpkeepOf } from '../contract/upkeep.js';
import type { StoreClient } from '../stores/store-client.js';

const CLOSE_US = 5_000_000;

export class Releases {
  permits: Upkeep<Step> | undefined;
  private readonly underWay = new Set<Promise<unknown>>();
  /** Called first by {@link drain}, to resend settlements that did not reach the store. */
  onDrain: (() => void) | undefined;
  readonly client: StoreClient;
  private readonly stopListening: () => void;

  /**
   * @param stopListening stops the calls of `catchUp`, because the breaker outlives guards. What a handler releases
   * after `drain` and does not reach the store is then resent by timers alone
   */
  constructor(client: StoreClient, stopListening: () => void = () => undefined) {
    this.client = client;
    this.stopListening = stopListening;
  }

  permitsOf({ rule }: Step): Upkeep<Step> {
    this.permits ??= (rule.logic.upkeep as UpkeepOf<Step>)(this.client, (call) => this.track(call));
    return this.permits;
  }

  /**
   * Sends releases and refunds to the store in one call. Releases that don't reach the store are resent later. Returns
   * undefined if there is nothing to wait for; the promise never rejects.
   */
  giveBack(steps: readonly Step[]): Promise<void> | undefined {
    if (steps.length === 0) return undefined;
    const held = steps.find(({ lease, claim }) => lease || claim);
    const noted = this.client.link.giveBack(
      steps,
      (answers) => {
        for (const [i, step] of steps.entries()) step.answered?.(answers[i] as Answer);
        return held && this.permitsOf(held).noteAnswers(steps, answers);
      },
      RELEASE_TIMEOUT_US,
    );
    return isLater(noted) ? this.track(noted) : undefined;
  }

  /** Makes {@link drain} wait for `call`, which must not reject. */
  track<T>(call: Promise<T>): Promise<T> {
    this.underWay.add(call);
    void call.then(() => this.underWay.delete(call));
    return call;
  }

  async drain(): Promise<void> {
    const { clock } = this.client;
    const endUs = clock.nowUs() + CLOSE_US;
    this.onDrain?.();
    await this.permits?.close(endUs);
    await within((endUs - clock.nowUs()) / 1000, Promise.all(this.underWay));
    this.stopListening();
  }
}
