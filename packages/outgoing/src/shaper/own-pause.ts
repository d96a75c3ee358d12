/** A pause that this process began: told to the store, again and again while it lasts, until the store has heard it. */

import type { Heard, Slots } from './slots.js';

/** A store that did not answer is told again so much later. */
const AGAIN_US = 100_000;

export class OwnPause {
  /** When it ends, by our clock. */
  private untilUs = -Infinity;
  /** When to tell the store again; Infinity if it knows, or is being told. */
  private againUs = Infinity;
  /** Calls that the store has not answered. */
  private asked = 0;
  private readonly key: string;
  private readonly slots: Slots;

  constructor(key: string, slots: Slots) {
    this.key = key;
    this.slots = slots;
  }

  /** When {@link tellAgain} has something to do; Infinity if never. */
  get dueUs(): number {
    return this.againUs < this.untilUs ? this.againUs : Infinity;
  }

  /** Whether the store has heard of it, or need not. */
  isOver(nowUs: number): boolean {
    return this.asked === 0 && (this.againUs === Infinity || this.untilUs <= nowUs);
  }

  /** When it ends, if the store has not heard of it. */
  get endUs(): number {
    return this.againUs === Infinity ? -Infinity : this.untilUs;
  }

  /** Tells the store. Longer pauses of before last as long as they did. */
  async begin(holdUs: number): Promise<Heard> {
    this.untilUs = Math.max(this.untilUs, this.slots.nowUs() + holdUs);
    return this.tell(holdUs);
  }

  /** Tells the store what it has not heard. Undefined if there is nothing to tell. */
  async tellAgain(): Promise<Heard | undefined> {
    const leftUs = this.untilUs - this.slots.nowUs();
    return this.againUs !== Infinity && leftUs > 0 ? this.tell(leftUs) : undefined;
  }

  /** The store answers again. */
  storeIsBack(): void {
    if (this.againUs !== Infinity) this.againUs = -Infinity;
  }

  /** No more is told. */
  end(): void {
    this.untilUs = -Infinity;
  }

  private async tell(holdUs: number): Promise<Heard> {
    this.againUs = Infinity;
    this.asked += 1;
    const heard = await this.slots.hold(this.key, holdUs, (told) => told);
    this.asked -= 1;
    if (heard.failure) this.againUs = heard.heardUs + AGAIN_US;
    return heard;
  }
}
