/** What the server's clock will say when a deadline of this process passes, learned from its replies. */

/** Samples older than one to two of these are forgotten: clocks drift, and are set. */
const MEMORY_US = 10_000_000;

/**
 * The offset is the largest of (server's time at the decision) - (time at which the reply was read here): less than the
 * true one by the time that the fastest reply took. So a call that is decided in time by it is also answered in time.
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

/** More than any cluster has nodes: addresses that are no more are forgotten with all others. */
const MOST_NODES = 1_000;

/** What the clocks of several servers will say: each has its own. */
export class ServerTimes {
  private readonly nodes = new Map<string, ServerTime>();

  /** See {@link ServerTime.renew}; of all nodes. */
  renew(): void {
    for (const time of this.nodes.values()) time.renew();
  }

  of(node: string): ServerTime {
    let time = this.nodes.get(node);
    if (!time) {
      if (this.nodes.size >= MOST_NODES) this.nodes.clear();
      time = new ServerTime();
      this.nodes.set(node, time);
    }
    return time;
  }
}
