/** What the server's clock will say when a deadline of this process passes, learned from its replies. */

/** Samples older than one to two of these are forgotten: clocks drift, and are set. */
const MEMORY_US = 10_000_000;

/**
 * The offset is the largest of (server's time at the decision) - (time at which the reply was read here): less than
 * the true one by the time that the fastest reply took. So a call that is decided in time by it is also answered in time.
 */
export class ServerTime {
  private latest = -Infinity;
  private before = -Infinity;
  private sinceUs = 0;
  private isNew = false;

  /** The next reply may be another server's: what was known serves until it has come, and no longer. */
  renew(): void {
    this.isNew = true;
  }

  learn(serverUs: number, receivedUs: number): void {
    if (this.isNew) {
      this.isNew = false;
      this.latest = -Infinity;
      this.before = -Infinity;
      this.sinceUs = receivedUs;
    }
    if (receivedUs - this.sinceUs > MEMORY_US) {
      this.before = this.latest;
      this.latest = -Infinity;
      this.sinceUs = receivedUs;
    }
    this.latest = Math.max(this.latest, serverUs - receivedUs);
  }

  /** The instant on the server's clock; 0 while it is not known, or there is no deadline. */
  at(deadlineUs: number): number {
    const instant = deadlineUs + Math.max(this.latest, this.before);
    return Number.isFinite(instant) ? Math.max(1, Math.floor(instant)) : 0;
  }
}
