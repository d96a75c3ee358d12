import type { Instant, Slot, SlotAnswer, SlotClient } from './slots.js';

/** How long to wait after a failure before sending a pause to the store again. */
const RESEND_US = 100_000;

export class KeyPause {
  private askedUs = -Infinity;
  private latencyUs = 0;
  private pausedUntil: Instant | undefined;
  /** A check found no pause for starts up to this instant, so these starts need no second check. */
  private checkedUs = -Infinity;
  /**
   * The end of the pause that this process began. -Infinity if there is none, or once the store has reported a pause at
   * least as long.
   */
  private ownUs = -Infinity;
  private sendUntilUs = -Infinity;
  /**
   * When to resend the pause that the store failed to save; Infinity if there is none, the store has it, or a call is
   * pending.
   */
  private resendUs = Infinity;
  private pendingCalls = 0;
  private readonly key: string;
  private readonly slots: SlotClient;

  constructor(key: string, slots: SlotClient) {
    this.key = key;
    this.slots = slots;
  }

  learnPause({ askedUs, receivedUs, failure, pausedUntil }: SlotAnswer): void {
    if (!failure && this.resendUs !== Infinity) this.resendUs = -Infinity; // resend at once, because the store is back
    if (askedUs < this.askedUs) return;
    this.askedUs = askedUs;
    this.latencyUs = receivedUs - askedUs;
    // The fallback reports no pause if there is none, or if it had no room to store one.
    if (!failure || pausedUntil) this.pausedUntil = pausedUntil;
    if (!failure && pausedUntil && pausedUntil.localUs >= this.ownUs) this.ownUs = -Infinity;
  }

  isPaused({ at }: Slot): boolean {
    const { pausedUntil, ownUs } = this;
    return at.localUs < ownUs || (pausedUntil !== undefined && at.isBefore(pausedUntil));
  }

  endUs(nowUs: number): number {
    return Math.max(nowUs, this.ownUs, this.pausedUntil?.localUs ?? nowUs);
  }

  /** Before this instant, the store may grant slots inside a pause that it does not know about. */
  get unknownToStoreUs(): number {
    return this.ownUs;
  }

  passCheck(startUs: number): void {
    this.checkedUs = Math.max(this.checkedUs, startUs);
  }

  isChecked(startUs: number): boolean {
    return startUs <= this.checkedUs || this.slots.checkTime.checkUs(startUs) <= this.askedUs;
  }

  /** Whether the latency of the store explains a delay this long. If not, this process was stalled. */
  explainsDelay(lateUs: number): boolean {
    return lateUs <= this.latencyUs;
  }

  /** A longer active pause is not shortened. */
  async beginPause(holdUs: number): Promise<SlotAnswer> {
    const untilUs = this.slots.nowUs() + holdUs;
    this.ownUs = Math.max(this.ownUs, untilUs);
    this.sendUntilUs = Math.max(this.sendUntilUs, untilUs);
    return this.sendPause(holdUs);
  }

  async resend(): Promise<SlotAnswer | undefined> {
    const leftUs = this.sendUntilUs - this.slots.nowUs();
    return this.resendUs !== Infinity && leftUs > 0 ? this.sendPause(leftUs) : undefined;
  }

  get resendDueUs(): number {
    return this.resendUs < this.sendUntilUs ? this.resendUs : Infinity;
  }

  get unsentUntilUs(): number {
    return this.resendUs === Infinity ? -Infinity : this.sendUntilUs;
  }

  isSent(nowUs: number): boolean {
    return this.pendingCalls === 0 && this.unsentUntilUs <= nowUs;
  }

  /** Call this when this process's clock was set back. Otherwise later answers would seem to be older ones. */
  forgetAnswers(): void {
    this.askedUs = -Infinity;
    this.checkedUs = -Infinity;
  }

  forget(): void {
    this.sendUntilUs = -Infinity;
    this.ownUs = -Infinity;
    this.pausedUntil = undefined;
  }

  private async sendPause(holdUs: number): Promise<SlotAnswer> {
    this.resendUs = Infinity;
    this.pendingCalls += 1;
    const answer = await this.slots.pause(this.key, holdUs, (heldAnswer) => heldAnswer);
    this.pendingCalls -= 1;
    if (answer.failure) this.resendUs = answer.receivedUs + RESEND_US;
    return answer;
  }
}
