/** Learns the offset of the server's clock from its replies, to translate deadlines into the server's time. */

import type { Clock } from '@spillway/core';
import { systemClock } from '@spillway/core/store';

/**
 * Because clocks drift and are adjusted, a reply is forgotten after one to two of these periods, if newer replies
 * arrive.
 */
const MEMORY_US = 10_000_000;

/**
 * The offset is the maximum of (server's time at the decision) - (our time when the reply was read). It is below the
 * true offset by the latency of the fastest reply. So a call that is decided before its translated deadline also gets
 * its reply in time.
 */
export class ServerTime implements Clock {
  private latest = -Infinity;
  private before = -Infinity;
  /**
   * The offset of the last reply. Unlike the maximum over earlier replies, it is right at once when the server's clock
   * is set back.
   */
  private last = 0;
  private sinceUs = 0;
  private isNew = false;

  /** Call it when the next reply may come from another server. The old offset is used until that reply arrives. */
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
    this.last = serverUs - receivedUs;
    this.latest = Math.max(this.latest, this.last);
  }

  /** The deadline by the server's clock; 0 if the offset is unknown or there is no deadline. */
  at(deadlineUs: number): number {
    const instant = deadlineUs + Math.max(this.latest, this.before);
    return Number.isFinite(instant) ? Math.max(1, Math.floor(instant)) : 0;
  }

  /** The server's time, estimated from its last reply; this process's time before the first reply. */
  nowUs(): number {
    return systemClock.nowUs() + this.last;
  }
}

/**
 * More nodes than any cluster has. When this number is reached, all nodes are dropped, so that old addresses do not
 * accumulate.
 */
const MOST_NODES = 1_000;

export class ServerTimes {
  private readonly nodes = new Map<string, ServerTime>();

  /** Calls {@link ServerTime.renew} for all nodes. */
  renew(): void {
    for (const time of this.nodes.values()) time.renew();
  }

  timeFor(node: string): ServerTime {
    let time = this.nodes.get(node);
    if (!time) {
      if (this.nodes.size >= MOST_NODES) this.nodes.clear();
      time = new ServerTime();
      this.nodes.set(node, time);
    }
    return time;
  }
}
